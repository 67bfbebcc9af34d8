"""Least squares and ridge regression: where descent on a linear problem ends, without and with weight decay."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from latebloom.core.arrays import check_array
from latebloom.errors import InputError, check_number
from latebloom.oracles.result import OracleResult, measured, relative, shaped


def least_squares(problem: Any, start: Any = None) -> OracleResult:
    """The minimiser of `|X a - y|² / 2` that is closest to `start` (zero by default).

    `a = start + X⁺ (y - X start)`: gradient descent moves in the row space of X only, so this
    is where unregularised descent from `start` ends, and where memorisation ends under a small
    penalty. From zero it is `â = (XᵀX)⁺ Xᵀ y`.

    >>> from latebloom.problems import LinearRegression
    >>> least_squares(LinearRegression([[1.0, 1.0]], [2.0]), start=[3.0, 1.0]).solution.round(12)
    array([2., 0.])

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Section 3.1 and Eq. 68.
    """
    began = time.perf_counter()
    design, targets = measured(problem, "least_squares")
    start = _start(start, design.shape[1])
    solution = start + np.linalg.lstsq(design, targets - design @ start, rcond=None)[0]
    residual = design @ solution - targets
    scale = np.linalg.norm(design, 2) * max(np.linalg.norm(targets), np.linalg.norm(design @ start))
    return OracleResult(
        solution=shaped(problem, solution),
        value=float(residual @ residual / 2),
        gap=relative(float(np.linalg.norm(design.T @ residual)), float(scale)),
        certificate="KKT residual |Xᵀ(Xa - y)| / (|X| max(|y|, |X start|))",
        method="singular value decomposition",
        seconds=time.perf_counter() - began,
        solved=True,
        message="the least-squares solution closest to the start",
    )


def min_norm(problem: Any) -> OracleResult:
    """The least-squares solution of minimum l2 norm, `(XᵀX)⁺ Xᵀ y`: `least_squares` from zero, by definition.

    >>> from latebloom.problems import LinearRegression
    >>> min_norm(LinearRegression([[3.0, 4.0]], [25.0])).solution
    array([3., 4.])

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Section 3.1.
    """
    return least_squares(problem)


def _start(start: Any, size: int) -> np.ndarray:
    if start is None:
        return np.zeros(size)
    start = check_array("start", start)
    if start.size != size:
        raise InputError(
            f"start has {start.size} entries and design {size} columns: give one a column, "
            "e.g. problem.end_to_end(problem.init())"
        )
    return start.ravel()


def ridge(problem: Any, weight_decay: float) -> OracleResult:
    """The minimiser of `|X a - y|² / 2 + (weight_decay / 2) |a|²`.

    `a = (XᵀX + β I)⁻¹ Xᵀ y = V diag(σ / (σ² + β)) Uᵀ y`; gradient descent with weight decay
    ends here from any start.

    >>> from latebloom.problems import LinearRegression
    >>> ridge(LinearRegression([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0]), weight_decay=1.0).solution
    array([0.5, 1. ])

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem 3.6.
    """
    began = time.perf_counter()
    weight_decay = check_number("weight_decay", weight_decay, above=0)
    design, targets = measured(problem, "ridge")
    u, sigma, vt = np.linalg.svd(design, full_matrices=False)
    solution = vt.T @ (sigma / (sigma**2 + weight_decay) * (u.T @ targets))
    residual = design @ solution - targets
    gradient = design.T @ residual + weight_decay * solution
    return OracleResult(
        solution=shaped(problem, solution),
        value=float(residual @ residual + weight_decay * solution @ solution) / 2,
        gap=relative(float(np.linalg.norm(gradient)), float(sigma[0] * np.linalg.norm(targets))),
        certificate="KKT residual |Xᵀ(Xa - y) + weight_decay a| / (|X| |y|)",
        method="singular value decomposition",
        seconds=time.perf_counter() - began,
        solved=True,
        message="the ridge solution, which is unique",
    )
