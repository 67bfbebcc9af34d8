"""Coherence: how alike the columns of one matrix, or of two, are."""

from __future__ import annotations

from typing import Any

import numpy as np

from latebloom.core.arrays import check_array
from latebloom.errors import InputError, check_count


def coherence(first: Any, second: Any) -> float:
    """The largest absolute cosine between a column of `first` and a column of `second`.

    `μ(A, B) = max_ij |<A_i, B_j>| / (|A_i| |B_j|)`: 1 if the two share a direction.

    >>> import numpy as np
    >>> round(coherence(np.eye(4), np.full((4, 1), 0.5)), 12)
    0.5

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Definition G.2.
    """
    first, second = _unit_columns("first", first), _unit_columns("second", second)
    if len(first) != len(second):
        raise InputError(
            f"first has {len(first)} rows and second {len(second)}: columns must live in one space, e.g. (M.T, basis)"
        )
    return float(np.abs(first.T @ second).max())


def mutual_coherence(matrix: Any) -> float:
    """The largest absolute cosine between two different columns, `μ(A) = max_{i≠j} |<A_i, A_j>| / (|A_i| |A_j|)`.

    At least `sqrt((n - m) / (m (n - 1)))` for an m x n matrix (Welch). The printed definition
    lets i run over the rows in one place and drops the absolute value in another; this is the first form,
    over columns.

    >>> round(mutual_coherence([[1.0, 0.0, 0.6], [0.0, 1.0, -0.8]]), 12)
    0.8

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Definition G.2.
    """
    return float(_cosines(matrix).max())


def one_coherence(matrix: Any, sparsity: int) -> float:
    """The largest sum of `sparsity` absolute cosines between one column and others; at most `sparsity μ(A)`.

    `μ_1(A, s) = max_i max_{|J| <= s, i not in J} Σ_{j in J} |<A_i, A_j>| / (|A_i| |A_j|)`.

    >>> round(one_coherence([[1.0, 0.0, 0.6], [0.0, 1.0, -0.8]], 2), 12)
    1.4

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Definition G.2.
    """
    cosines = _cosines(matrix)
    sparsity = check_count("sparsity", sparsity, most=len(cosines) - 1)
    return float(np.sort(cosines, axis=1)[:, -sparsity:].sum(axis=1).max())


def _cosines(matrix: Any) -> np.ndarray:
    columns = _unit_columns("matrix", matrix)
    if columns.shape[1] < 2:
        raise InputError("matrix has 1 column: coherence compares columns, give at least 2")
    cosines = np.abs(columns.T @ columns)
    np.fill_diagonal(cosines, 0.0)
    return cosines


def _unit_columns(what: str, matrix: Any) -> np.ndarray:
    matrix = check_array(what, matrix, ndim=2)
    lengths = np.linalg.norm(matrix, axis=0)
    if not lengths.all():
        column = int(np.flatnonzero(lengths == 0)[0])
        raise InputError(f"{what} has a zero column, number {column}: it has no direction, remove it")
    return matrix / lengths
