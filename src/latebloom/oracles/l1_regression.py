"""The Lasso: where l1-regularised iterations end at a finite strength."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from latebloom.errors import check_number
from latebloom.oracles.lasso_path import follow_lasso_path
from latebloom.oracles.result import OracleResult, measured, relative

OPTIMAL = 1e-9


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
        solution, method = _polish(design, targets, strength, end), "Lasso path (least-angle regression)"
        if _gap(design, targets, strength, solution) > OPTIMAL:
            solution, method = _descend(design, targets, strength, solution), "coordinate descent"
    return _answer(design, targets, strength, solution=solution, method=method, began=began)


def _objective(design: np.ndarray, targets: np.ndarray, strength: float, solution: np.ndarray) -> float:
    residual = targets - design @ solution
    return float(residual @ residual / 2 + strength * np.abs(solution).sum())


def _gap(design: np.ndarray, targets: np.ndarray, strength: float, solution: np.ndarray) -> float:
    residual = targets - design @ solution
    shrink = min(1.0, strength / max(np.abs(design.T @ residual).max(), np.finfo(float).tiny))
    dual = shrink * residual
    slack = np.sum(strength * np.abs(solution) - solution * (design.T @ dual))
    gap = np.sum((residual - dual) ** 2) / 2 + max(float(slack), 0.0)
    return relative(float(gap), _objective(design, targets, strength, solution))


def _polish(design: np.ndarray, targets: np.ndarray, strength: float, solution: np.ndarray) -> np.ndarray:
    """Solves `X_Sᵀ(X_S z - y) + strength sign(z) = 0` on the support, if that lowers the gap.

    `z = X_S⁺ y - strength (X_SᵀX_S)⁻¹ sign`, both by orthogonal factorisations of X_S, not of its square.
    """
    support = np.flatnonzero(solution)
    part, signs = design[:, support], np.sign(solution[support])
    polished = np.zeros_like(solution)
    fit = np.linalg.lstsq(part, targets, rcond=None)[0]
    pull = np.linalg.lstsq(part, np.linalg.lstsq(part.T, signs, rcond=None)[0], rcond=None)[0]
    polished[support] = fit - strength * pull
    better = _gap(design, targets, strength, polished) <= _gap(design, targets, strength, solution)
    return polished if better else solution


def _descend(design: np.ndarray, targets: np.ndarray, strength: float, start: np.ndarray) -> np.ndarray:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Lasso

    model = Lasso(alpha=strength / len(targets), fit_intercept=False, tol=1e-14, max_iter=20_000, warm_start=True)
    model.coef_ = start.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the certificate judges the point itself
        model.fit(design, targets)
    found = _polish(design, targets, strength, np.asarray(model.coef_))
    return min((start, found), key=lambda point: _gap(design, targets, strength, point))


def _answer(
    design: np.ndarray, targets: np.ndarray, strength: float, *, solution: np.ndarray, method: str, began: float
) -> OracleResult:
    gap = _gap(design, targets, strength, solution)
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
