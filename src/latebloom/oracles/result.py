"""What an oracle answers: a point, its objective, and a certificate evaluated at that very point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.core.arrays import check_array
from latebloom.errors import CapabilityError, check_number
from latebloom.problems.base import AbstractLinear


@dataclass(frozen=True, eq=False)
class OracleResult:
    """Where theory says a phase ends, with the evidence.

    - `solution`: the array that the design measures, vector or matrix; NaN where there is none (`solved` is false).
    - `value`: the objective at `solution`.
    - `gap`: the certificate at `solution`, relative; zero proves optimality.
    - `certificate`: what `gap` measures. `method`: how the solution was found.
    - `infeasibility`: `|X a - y| / |y|`, for the oracles that constrain it; NaN for the others.

    >>> from latebloom.oracles import min_norm
    >>> from latebloom.problems import LinearRegression
    >>> min_norm(LinearRegression([[1.0, 1.0]], [2.0])).solution
    array([1., 1.])
    """

    solution: np.ndarray
    value: float
    gap: float
    certificate: str
    method: str
    seconds: float
    solved: bool
    message: str
    infeasibility: float = float("nan")


def measured(problem: Any, who: str) -> tuple[np.ndarray, np.ndarray]:
    """The design matrix `X` and the targets `y` of a problem that measures a vector or a matrix linearly.

    Depth plays no part: the oracles speak of the measured array `a`, however it is parametrised.

    >>> from latebloom.problems import LinearRegression
    >>> measured(LinearRegression([[1.0, 2.0]], [3.0]), "this")
    (array([[1., 2.]]), array([3.]))
    """
    if not isinstance(problem, AbstractLinear):
        raise CapabilityError(
            f"{who} needs a problem with a design matrix and targets; {type(problem).__name__} has none: "
            "use SparseRecovery or LinearRegression(design, targets)"
        )
    return np.asarray(problem.design, dtype=np.float64), np.asarray(problem.targets, dtype=np.float64)


def shaped(problem: AbstractLinear, solution: np.ndarray) -> np.ndarray:
    """A solution in the shape of what the problem measures."""
    return solution.reshape(problem.truth.shape)


def recovers(result: OracleResult, truth: Any, *, tolerance: float = 1e-6) -> bool:
    """Whether the oracle's point is the truth: `|a - a*| <= tolerance |a*|`.

    >>> from latebloom.oracles import basis_pursuit, min_norm
    >>> from latebloom.problems import LinearRegression
    >>> problem = LinearRegression([[1.0, 2.0]], [2.0], truth=[0.0, 1.0])
    >>> recovers(basis_pursuit(problem), problem.truth), recovers(min_norm(problem), problem.truth)
    (True, False)
    """
    tolerance = check_number("tolerance", tolerance, above=0)
    truth = check_array("truth", truth)
    return bool(result.solved and np.linalg.norm(result.solution - truth) <= tolerance * np.linalg.norm(truth))


def relative(part: float, whole: float) -> float:
    """`part / whole`, and zero for 0/0: an absolute zero is certified by any scale."""
    return 0.0 if part == 0 else float(part / max(whole, np.finfo(float).tiny))
