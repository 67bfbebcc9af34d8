"""Basis pursuit and the Lasso, where a vanishing and a finite l1 penalty end, and the path from one to the other."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.errors import check_number
from latebloom.linalg.spectrum import Spectrum
from latebloom.oracles.result import OracleResult, measured, relative

CERTIFICATE = "relative duality gap (|a|_1 - yᵀν) / |a|_1 with |Xᵀν|_inf <= 1"
CONSISTENT = 1e-9  # |X a - y| / |y| of the least-squares solution, above which nothing interpolates
OPTIMAL = 1e-9  # a gap above which another method is tried
LARGEST_PROGRAM = 2000  # a dense linear program of that size takes half a minute, the path a second
# The path stops 1.2e-7 above its end whatever the scale of the data, so the data are made large;
# past 1e8 rounding wins again. At 1e6, 229 of 229 draws (n = 100 ... 3000) ended at the optimum.
SCALE = 1e6


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
        return _pursuit_answer(
            _Candidate(np.zeros(design.shape[1]), 0.0, "the targets are zero"), design, targets, began
        )
    rows, values, back, distance = _orthonormal_rows(design, targets)
    if distance > CONSISTENT:
        return _refuse(design.shape[1], distance, began)
    best = _by_path(design, targets, rows, values, back)
    if best.gap > OPTIMAL and design.shape[1] <= LARGEST_PROGRAM:
        best = min(best, _by_linear_program(design, targets, rows, values, back), key=lambda found: found.gap)
    return _pursuit_answer(best, design, targets, began)


def lasso(problem: Any, strength: float) -> OracleResult:
    """The minimiser of `|X a - y|² / 2 + strength |a|_1`.

    Subgradient and proximal iterations end here (the first up to its step), at a distance of
    order `strength` from basis pursuit. Found along the Lasso path and solved again on its
    support, by coordinate descent if the certificate refuses that. With `r = y - X a` and
    `θ = r min(1, strength / |Xᵀr|_inf)`, a feasible dual point, the duality gap is
    `|r - θ|² / 2 + strength |a|_1 - aᵀXᵀθ`, a sum of two non-negative terms.

    >>> from latebloom.problems import LinearRegression
    >>> lasso(LinearRegression([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.5]), strength=1.0).solution
    array([2., 0.])

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Section 3.1, the objective f.
    """
    began = time.perf_counter()
    strength = check_number("strength", strength, above=0)
    design, targets = measured(problem, "lasso")
    solution, method = np.zeros(design.shape[1]), "zero: the strength is at least |Xᵀy|_inf"
    if strength < np.abs(design.T @ targets).max():
        end = follow_lasso_path(design, targets, strength)[0]
        solution, method = _polish_lasso(design, targets, strength, end), "Lasso path (least-angle regression)"
        if _lasso_gap(design, targets, strength, solution) > OPTIMAL:
            solution, method = _descend(design, targets, strength, solution), "coordinate descent"
    return _lasso_answer(design, targets, strength, solution=solution, method=method, began=began)


def follow_lasso_path(
    design: np.ndarray, targets: np.ndarray, strength: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The minimiser of `|X a - y|² / 2 + strength |a|_1`, and the last corner (strength, minimiser) before it.

    The minimiser is piecewise linear in the strength; least-angle regression visits its corners.
    Below the last corner before zero the residual is proportional to the strength, so its
    direction there is the dual solution of basis pursuit.

    >>> import numpy as np
    >>> follow_lasso_path(np.eye(2), np.array([3.0, 1.0]), 0.5)[0].round(6)
    array([2.5, 0.5])

    Source: Efron, Hastie, Johnstone, Tibshirani, "Least angle regression", 2004.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lars_path

    rows = len(targets)
    scale = SCALE / np.linalg.norm(targets)
    with warnings.catch_warnings():
        # Early ends and degenerate corners are judged by the caller's certificate, at the returned point.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        strengths, _, corners = lars_path(
            design,
            scale * targets,
            method="lasso",
            # scikit-learn's loss is |X a - y|² / (2 rows)
            alpha_min=scale * strength / rows,  # type: ignore[arg-type]
            max_iter=20 * max(design.shape),
        )
    corner = max(len(strengths) - 2, 0)
    return corners[:, -1] / scale, strengths[corner : corner + 1] * rows / scale, corners[:, corner] / scale


@dataclass(frozen=True, eq=False)
class _Candidate:
    solution: np.ndarray
    gap: float
    method: str


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
    return _polish_pursuit(design, targets, end, dual, "Lasso path to strength zero (least-angle regression)")


def _by_linear_program(
    design: np.ndarray, targets: np.ndarray, rows: np.ndarray, values: np.ndarray, back: np.ndarray
) -> _Candidate:
    from scipy.optimize import linprog

    size, scale = design.shape[1], np.abs(values).max()
    program = linprog(np.ones(2 * size), A_eq=np.hstack([rows, -rows]), b_eq=values / scale, method="highs-ds")
    if program.x is None:
        return _Candidate(np.full(size, np.nan), np.inf, "linear program (HiGHS)")
    end = scale * (program.x[:size] - program.x[size:])
    return _polish_pursuit(design, targets, end, back @ program.eqlin.marginals, "linear program (HiGHS)")


def _polish_pursuit(
    design: np.ndarray, targets: np.ndarray, solution: np.ndarray, dual: np.ndarray, method: str
) -> _Candidate:
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
    gap = min(_pursuit_gap(design, targets, solution, candidate) for candidate in (dual, smallest))
    return _Candidate(solution, gap, method)


def _solve(matrix: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Least squares with one step of refinement: supports of N columns can be ill-conditioned."""
    solution = np.linalg.lstsq(matrix, values, rcond=None)[0]
    return solution + np.linalg.lstsq(matrix, values - matrix @ solution, rcond=None)[0]


def _pursuit_gap(design: np.ndarray, targets: np.ndarray, solution: np.ndarray, dual: np.ndarray) -> float:
    if not np.isfinite(dual).all():
        return np.inf
    norm = np.abs(solution).sum()
    feasible = dual / max(1.0, np.abs(design.T @ dual).max())
    return relative(abs(float(norm - targets @ feasible)), float(norm))  # rounding may make it negative


def _misfit(design: np.ndarray, targets: np.ndarray, solution: np.ndarray) -> float:
    return relative(float(np.linalg.norm(design @ solution - targets)), float(np.linalg.norm(targets)))


def _pursuit_answer(found: _Candidate, design: np.ndarray, targets: np.ndarray, began: float) -> OracleResult:
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


def _objective(design: np.ndarray, targets: np.ndarray, strength: float, solution: np.ndarray) -> float:
    residual = targets - design @ solution
    return float(residual @ residual / 2 + strength * np.abs(solution).sum())


def _lasso_gap(design: np.ndarray, targets: np.ndarray, strength: float, solution: np.ndarray) -> float:
    residual = targets - design @ solution
    shrink = min(1.0, strength / max(np.abs(design.T @ residual).max(), np.finfo(float).tiny))
    dual = shrink * residual
    slack = np.sum(strength * np.abs(solution) - solution * (design.T @ dual))
    gap = np.sum((residual - dual) ** 2) / 2 + max(float(slack), 0.0)
    return relative(float(gap), _objective(design, targets, strength, solution))


def _polish_lasso(design: np.ndarray, targets: np.ndarray, strength: float, solution: np.ndarray) -> np.ndarray:
    """Solves `X_Sᵀ(X_S z - y) + strength sign(z) = 0` on the support, if that lowers the gap.

    `z = X_S⁺ y - strength (X_SᵀX_S)⁻¹ sign`, both by orthogonal factorisations of X_S, not of its square.
    """
    support = np.flatnonzero(solution)
    part, signs = design[:, support], np.sign(solution[support])
    polished = np.zeros_like(solution)
    fit = np.linalg.lstsq(part, targets, rcond=None)[0]
    pull = np.linalg.lstsq(part, np.linalg.lstsq(part.T, signs, rcond=None)[0], rcond=None)[0]
    polished[support] = fit - strength * pull
    better = _lasso_gap(design, targets, strength, polished) <= _lasso_gap(design, targets, strength, solution)
    return polished if better else solution


def _descend(design: np.ndarray, targets: np.ndarray, strength: float, start: np.ndarray) -> np.ndarray:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Lasso

    model = Lasso(alpha=strength / len(targets), fit_intercept=False, tol=1e-14, max_iter=20_000, warm_start=True)
    model.coef_ = start.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the certificate judges the point itself
        model.fit(design, targets)
    found = _polish_lasso(design, targets, strength, np.asarray(model.coef_))
    return min((start, found), key=lambda point: _lasso_gap(design, targets, strength, point))


def _lasso_answer(
    design: np.ndarray, targets: np.ndarray, strength: float, *, solution: np.ndarray, method: str, began: float
) -> OracleResult:
    gap = _lasso_gap(design, targets, strength, solution)
    solved = gap <= 1e-6
    return OracleResult(
        solution=solution,
        value=_objective(design, targets, strength, solution),
        gap=gap,
        certificate="relative duality gap of |Xa - y|²/2 + strength |a|_1",
        method=method,
        seconds=time.perf_counter() - began,
        solved=solved,
        message="the Lasso solution" if solved else f"no optimum was certified (gap {gap:.1e}): raise the strength",
    )
