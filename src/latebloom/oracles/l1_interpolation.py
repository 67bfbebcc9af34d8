"""Basis pursuit: the interpolator of minimum l1 norm, where a vanishing l1 penalty ends."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.linalg.spectrum import Spectrum
from latebloom.oracles.lasso_path import follow_lasso_path
from latebloom.oracles.result import OracleResult, measured, relative

CERTIFICATE = "relative duality gap (|a|_1 - yᵀν) / |a|_1 with |Xᵀν|_inf <= 1"
CONSISTENT = 1e-9  # |X a - y| / |y| of the least-squares solution, above which nothing interpolates
OPTIMAL = 1e-9
LARGEST_PROGRAM = 2000  # a dense linear program of that size takes half a minute, the path a second


@dataclass(frozen=True, eq=False)
class _Candidate:
    solution: np.ndarray
    gap: float
    method: str


def basis_pursuit(problem: Any) -> OracleResult:
    """The minimiser of `|a|_1` subject to `X a = y`.

    Solved by following the Lasso path to strength zero; if the certificate refuses the answer,
    by a linear program in `a = p - q` (HiGHS). Either answer is solved once more on its support,
    so that it interpolates to rounding. The certificate is weak duality at that point:
    `|a|_1 >= max yᵀν` over `|Xᵀν|_inf <= 1`, with equality at the optimum.

    If the targets are not in the range of X, nothing interpolates: `solved` is false and the solution is NaN.

    >>> from latebloom.problems import LinearRegression
    >>> basis_pursuit(LinearRegression([[1.0, 2.0]], [2.0])).solution
    array([0., 1.])

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Appendix G.1.1 (P1 with no noise).
    """
    began = time.perf_counter()
    design, targets = measured(problem, "basis_pursuit")
    if not targets.any():
        return _answer(_Candidate(np.zeros(design.shape[1]), 0.0, "the targets are zero"), design, targets, began)
    rows, values, back, distance = _orthonormal_rows(design, targets)
    if distance > CONSISTENT:
        return _refuse(design.shape[1], distance, began)
    best = _by_path(design, targets, rows, values, back)
    if best.gap > OPTIMAL and design.shape[1] <= LARGEST_PROGRAM:
        best = min(best, _by_linear_program(design, targets, rows, values, back), key=lambda found: found.gap)
    return _answer(best, design, targets, began)


def _orthonormal_rows(design: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """`V, b, B, d`: the same constraints as `V a = b` with orthonormal V, `ν = B ν_V`, and the distance of y to them.

    Redundant measurements disappear, and the solvers' absolute tolerances mean the same on any data.
    """
    spectrum = Spectrum.of(design)
    u, sigma = spectrum.left, spectrum.sigma
    values = (u.T @ targets) / sigma
    distance = np.linalg.norm(targets - u @ (u.T @ targets)) / np.linalg.norm(targets)
    return spectrum.right.T, values, u / sigma, float(distance)


def _by_path(
    design: np.ndarray, targets: np.ndarray, rows: np.ndarray, values: np.ndarray, back: np.ndarray
) -> _Candidate:
    end, strength, corner = follow_lasso_path(rows, values, 0.0)
    dual = back @ ((values - rows @ corner) / np.maximum(strength, np.finfo(float).tiny))
    return _polish(design, targets, end, dual, "Lasso path to strength zero (least-angle regression)")


def _by_linear_program(
    design: np.ndarray, targets: np.ndarray, rows: np.ndarray, values: np.ndarray, back: np.ndarray
) -> _Candidate:
    from scipy.optimize import linprog

    size, scale = design.shape[1], np.abs(values).max()
    program = linprog(np.ones(2 * size), A_eq=np.hstack([rows, -rows]), b_eq=values / scale, method="highs-ds")
    if program.x is None:
        return _Candidate(np.full(size, np.nan), np.inf, "linear program (HiGHS)")
    end = scale * (program.x[:size] - program.x[size:])
    return _polish(design, targets, end, back @ program.eqlin.marginals, "linear program (HiGHS)")


def _polish(design: np.ndarray, targets: np.ndarray, solution: np.ndarray, dual: np.ndarray, method: str) -> _Candidate:
    """The solver's point solved again on its support, with the better of the two dual points at hand."""
    # Entries below 1e-9 are mostly rounding; on one draw in a hundred one of them is needed.
    for threshold in (1e-9, 0.0):
        support = np.flatnonzero(np.abs(solution) > threshold * np.abs(solution).max())
        polished = np.zeros_like(solution)
        polished[support] = _solve(design[:, support], targets)
        if _misfit(design, targets, polished) <= _misfit(design, targets, solution):
            solution = polished
            break
    support = np.flatnonzero(solution)
    smallest = _solve(design[:, support].T, np.sign(solution[support]))
    gap = min(_gap(design, targets, solution, candidate) for candidate in (dual, smallest))
    return _Candidate(solution, gap, method)


def _solve(matrix: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Least squares with one step of refinement: supports of N columns can be ill-conditioned."""
    solution = np.linalg.lstsq(matrix, values, rcond=None)[0]
    return solution + np.linalg.lstsq(matrix, values - matrix @ solution, rcond=None)[0]


def _gap(design: np.ndarray, targets: np.ndarray, solution: np.ndarray, dual: np.ndarray) -> float:
    if not np.isfinite(dual).all():
        return np.inf
    norm = np.abs(solution).sum()
    feasible = dual / max(1.0, np.abs(design.T @ dual).max())
    return relative(abs(float(norm - targets @ feasible)), float(norm))  # rounding may make it negative


def _misfit(design: np.ndarray, targets: np.ndarray, solution: np.ndarray) -> float:
    return relative(float(np.linalg.norm(design @ solution - targets)), float(np.linalg.norm(targets)))


def _answer(found: _Candidate, design: np.ndarray, targets: np.ndarray, began: float) -> OracleResult:
    misfit = _misfit(design, targets, found.solution)
    solved = bool(found.gap <= 1e-6 and misfit <= CONSISTENT)
    message = (
        "a minimum l1-norm interpolator"
        if solved
        else (f"no optimum was certified: gap {found.gap:.1e}, |Xa - y|/|y| {misfit:.1e}; use lasso(problem, strength)")
    )
    return OracleResult(
        solution=found.solution,
        value=float(np.abs(found.solution).sum()),
        gap=found.gap,
        certificate=CERTIFICATE,
        method=found.method,
        seconds=time.perf_counter() - began,
        solved=solved,
        message=message,
        infeasibility=misfit,
    )


def _refuse(size: int, distance: float, began: float) -> OracleResult:
    return OracleResult(
        solution=np.full(size, np.nan),
        value=float("nan"),
        gap=float("inf"),
        certificate=CERTIFICATE,
        method="none",
        seconds=time.perf_counter() - began,
        solved=False,
        message=(
            f"no vector interpolates: the targets are at relative distance {distance:.1e} from the range of the "
            "design; use lasso(problem, strength) or least_squares(problem)"
        ),
        infeasibility=distance,
    )
