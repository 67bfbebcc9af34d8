"""How long it takes to generalise: a bound, an estimate of the order, and the slow flow's own answer.

The theorems bound `min |a_t|_1 - |a*|_1` (nuclear norms for matrices) by `(η + (C + C')αβ)/2` once
`t >= t_1 + |a_t1 - a*|² / (αβη)`. Theorem 3.4 prints it with "=" and "if and only if" (Theorem C.40 has "<=" and still
"only if"); what is proved, and true, is "<=" and "if". For 10 x 10 matrices of rank 2, sensed 70 times, at α = 0.1 and
β = 1e-3, an excess of η/2 is reached 3818 steps after t_1 for η = 0.1 and 6248 for η = 0.001, where the formula has
1.9e4 and 1.9e6.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from latebloom.errors import InputError, check_number
from latebloom.flows import SlowPath, l1_path, nuclear_path
from latebloom.oracles.l2 import least_squares
from latebloom.problems.base import AbstractLinear, known_truth, require_linear
from latebloom.theory.prediction import PAPER, Descent, Prediction, is_nuclear


def generalisation_delay(
    problem: Any, learning_rate: float, penalty: Any, *, eta: float, params: Any = None
) -> Prediction:
    """The delay `Δt = |a_{t1} - a*|² / (αβη)` after which `|a|_1 - |a*|_1` is at most `(η + (C + C')αβ)/2`.

    With the penalty NuclearNorm(β) it is the excess of the nuclear norm, and the distance is Frobenius's. `params` is
    the iterate when memorised; by default the least-squares solution closest to the start.
    Sufficient only: the paper's "only if" fails, since the true delay saturates as η falls and this one grows as 1/η.

    >>> import latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0], truth=[2.0, 0.0])
    >>> round(generalisation_delay(problem, 0.1, lb.L1(1e-3), eta=0.5).step, 6)
    40000.0

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorems 3.1 (l1) and 3.4 (nuclear).
    """
    descent = Descent.of(problem, learning_rate, penalty, "generalisation_delay")
    distance = _from_memorised_to_truth(descent.problem, params, "generalisation_delay")
    eta = check_number("eta", eta, above=0)
    step = float(distance @ distance) / (descent.learning_rate * descent.strength * eta)
    return Prediction(
        name="delay",
        step=step,
        time=descent.learning_rate * step,
        formula="|a_t1 - a*|² / (αβη)",
        source=f"{PAPER}, {descent.theorem}",
        notes="an upper bound (sufficient, not necessary) on the delay between memorised and generalised",
    )


def delay_estimate(problem: Any, learning_rate: float, penalty: Any, *, params: Any = None) -> Prediction:
    """The delay `|â - a*|_inf / (αβ)` with L1(β), `|Â - A*|_op / (αβ)` with NuclearNorm(β): an order of magnitude.

    Each coordinate, or each singular value of the difference, moves by αβ a step until it arrives. `params` is the
    iterate when memorised; by default the least-squares solution closest to the start. It scales as the true delay
    does, with a constant that is not exact: the entries are coupled by `X a = y`, and the nuclear norm acts on A and
    not on `A - A*`. For 10 x 10 matrices of rank 2 a relative error of 1e-2 comes 2.3 to 5.6 times as late. The slow
    flow has the constant: `predicted_t2`.

    >>> import latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0], truth=[2.0, 0.0])
    >>> round(delay_estimate(problem, 0.1, lb.L1(1e-3)).step, 6)
    10000.0
    >>> problem = lb.problems.MatrixCompletion()
    >>> round(delay_estimate(problem, 0.1, lb.NuclearNorm(1e-4), params=problem.truth + 0.5).step)
    500000

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", captions of Figures 4 (l1) and 6 (nuclear), and
    Lemma C.42.
    """
    descent = Descent.of(problem, learning_rate, penalty, "delay_estimate")
    away = _from_memorised_to_truth(descent.problem, params, "delay_estimate")
    size = np.abs(away).max() if descent.shape is None else np.linalg.norm(away.reshape(descent.shape), 2)
    step = float(size) / (descent.learning_rate * descent.strength)
    return Prediction(
        name="delay",
        step=step,
        time=descent.learning_rate * step,
        formula="|â - a*|_inf / (αβ)" if descent.shape is None else "|Â - A*|_op / (αβ)",
        source=f"{PAPER}, Figure {4 if descent.shape is None else 6}",
        notes="an order of magnitude: it ignores that the entries are coupled by the data",
    )


def predicted_t2(
    problem: Any, learning_rate: float, penalty: Any, *, threshold: float = 1e-3, path: SlowPath | None = None
) -> Prediction:
    """The step `s / (αβ)`, s the slow time at which the slow flow's recovery error falls to the threshold.

    The slow flow (`flows.l1_path`, `flows.nuclear_path`; `path` if it is at hand) is the limit αβ → 0 of descent with
    the `penalty` L1(β) or NuclearNorm(β) and learning rate α, so one path predicts t2 for all of them. Infinite if it
    ends above the threshold. What the prediction leaves out: the steps until memorisation, the shift of order β
    that a penalty keeps from the data, which delays t2, and steps too long for the path's corners.

    >>> import latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 2.0]], [2.0], truth=[0.0, 1.0])
    >>> round(predicted_t2(problem, 0.1, lb.L1(1e-4), threshold=1e-3).step)
    99776
    >>> run = lb.train(problem, lb.ProjectedSubgradient(0.1), lb.L1(1e-4), steps=110_000, progress=False)
    >>> run.milestones.generalised.step
    99778

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorems 2.1, 3.1 and 3.4.
    """
    problem = require_linear(problem, "predicted_t2")
    learning_rate = check_number("learning_rate", learning_rate, above=0)
    path = _follow(problem, penalty) if path is None else path
    slow_time = path.crossing(known_truth(problem, "predicted_t2"), threshold)
    strength = check_number("strength", float(penalty.strength), above=0)
    step = math.inf if slow_time is None else slow_time / (learning_rate * strength)
    end = "never: it ends above the threshold" if slow_time is None else f"at slow time {slow_time:.6g}"
    return Prediction(
        name="generalised",
        step=step,
        time=learning_rate * step,
        formula="s / (αβ), |a(s) - a*| = threshold |a*| on the slow flow",
        source=f"{PAPER}, Theorems 2.1, 3.1 and 3.4, in the limit αβ → 0",
        notes=f"the slow flow falls to {threshold:g} {end}; {path.outcome.sentence}",
    )


def _follow(problem: Any, penalty: Any) -> SlowPath:
    return nuclear_path(problem) if is_nuclear(penalty, "predicted_t2 without path") else l1_path(problem)


def _from_memorised_to_truth(problem: AbstractLinear, params: Any, who: str) -> np.ndarray:
    """`a_t1 - a*` as a vector; without `params`, from the least-squares solution closest to the start."""
    truth = known_truth(problem, who)
    memorised = least_squares(problem, problem.init()).solution if params is None else np.asarray(params)
    if memorised.shape != truth.shape:
        raise InputError(f"params has shape {memorised.shape}: {who} needs the shape of the truth, {truth.shape}")
    return (memorised - truth).ravel()
