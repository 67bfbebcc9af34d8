"""Theorem 3.6: weight decay alone converges geometrically, to a point that cannot generalise."""

from __future__ import annotations

from typing import Any

import numpy as np

from latebloom.errors import check_number
from latebloom.linalg.spectrum import Spectrum
from latebloom.problems.base import known_truth, require_linear
from latebloom.theory.closed_form import L2Iteration


def rate_thm36(problem: Any, learning_rate: float, weight_decay: float) -> float:
    """The contraction factor `ρ_2 = |I - α(XᵀX + βI)|_{2→2}` of descent with weight decay.

    For N < n it is `1 - αβ` as soon as the row space contracts faster, which is what makes the end late.

    >>> from latebloom.problems import LinearRegression
    >>> rate_thm36(LinearRegression([[1.0, 0.0]], [1.0]), learning_rate=0.5, weight_decay=0.02)
    0.99

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem 3.6.
    """
    return L2Iteration(problem, learning_rate, weight_decay).rate


def distance_bound_thm36(problem: Any, learning_rate: float, weight_decay: float, *, steps: Any) -> np.ndarray:
    """The upper bound `ρ_2^t |a_0 - â|` on the distance `|a_t - â|` to the ridge solution after t steps.

    The paper counts its start as step 1 and writes `ρ_2^(t-1) |a_1 - â|`; here the start is step 0.

    >>> from latebloom.problems import LinearRegression
    >>> problem = LinearRegression([[1.0, 0.0]], [1.01], init=[1.0, 2.0])
    >>> distance_bound_thm36(problem, 0.5, 0.01, steps=[0, 200]).round(4)
    array([2.    , 0.7339])

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem 3.6 and Lemma C.52.
    """
    weight_decay = check_number("weight_decay", weight_decay, above=0)
    iteration = L2Iteration(problem, learning_rate, weight_decay)
    steps = np.asarray(steps, dtype=np.float64)
    return iteration.rate**steps * np.linalg.norm(iteration.at(0) - iteration.limit)


def error_floor_thm36(problem: Any) -> float:
    """The lower bound `|P_ker a*|` on `|â - a*|` for the ridge solution â of any weight decay.

    `â` lies in the row space of X, so no part of the truth in the kernel is ever found. It is
    attained in the limit of no noise and no weight decay. The absolute distance; divide by `|a*|` for `test_error`.

    >>> from latebloom.problems import LinearRegression
    >>> error_floor_thm36(LinearRegression([[1.0, 0.0]], [1.0], truth=[1.0, 3.0]))
    3.0

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem 3.6, second half.
    """
    problem = require_linear(problem, "error_floor_thm36")
    truth = known_truth(problem, "error_floor_thm36")
    return float(np.linalg.norm(Spectrum.of(np.asarray(problem.design)).null_part(truth.ravel())))
