"""Ridge regression: where weight decay takes a linear problem."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from latebloom.errors import check_number
from latebloom.theory.oracles.base import OracleResult, measured, relative, shaped


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
