"""Least squares: where descent ends when nothing regularises it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from latebloom.errors import InputError
from latebloom.problems.base import check_array
from latebloom.theory.oracles.base import OracleResult, measured, relative, shaped


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
