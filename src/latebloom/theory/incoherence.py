"""How what is sought lies to what is measured: coherence of columns, and leverage scores of a matrix of low rank.

Leverage scores say which entries carry the matrix, and how often to look at them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.core.arrays import check_array
from latebloom.errors import InputError, check_count, check_number


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


@dataclass(frozen=True, eq=False)
class Leverage:
    """Local coherences `μ_i` (`rows`) and `ν_j` (`columns`), of mean 1 in an orthonormal basis, and `mu1`.

    `mu0` is the largest of them, between 1 and max(n1, n2)/r; `mu1 <= mu0 √r` is the smallest constant with
    `|U Vᵀ|_ij <= mu1 √(r/(n1 n2))` for all i, j. (The paper prints that maximum without the absolute value.)

    >>> scores = leverage_scores(np.ones((2, 3)))
    >>> scores.rows.round(12), round(scores.mu0, 12), round(scores.mu1, 12)
    (array([1., 1.]), 1.0, 1.0)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Definition G.9 and Appendix G.2.2.
    """

    rows: np.ndarray
    columns: np.ndarray
    mu1: float
    rank: int

    @property
    def mu0(self) -> float:
        """The coherence `max(max_i μ_i, max_j ν_j)`."""
        return float(max(self.rows.max(), self.columns.max()))

    @property
    def entries(self) -> np.ndarray:
        """`μ_i + ν_j` for each entry: what local coherence sampling orders the entries by."""
        return self.rows[:, None] + self.columns


def leverage_scores(matrix: Any, rank: int | None = None, *, left: Any = None, right: Any = None) -> Leverage:
    """The local coherences `μ_i = (n1/r) |Uᵀ u_i|²` and `ν_j = (n2/r) |Vᵀ v_j|²` of a matrix `A = U Σ Vᵀ` of rank r.

    r is the numerical rank, as NumPy's `matrix_rank` has it, or the `rank` given: then only the r leading singular
    directions count. `u_i` and `v_j` are the columns of `left` and `right`, by default the standard bases. In other
    orthonormal bases they are the scores of `leftᵀ A right`; for a set that is not an orthonormal basis their mean need
    not be 1, and the sampling theorems do not speak of them.

    >>> scores = leverage_scores([[5.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> scores.rows, scores.columns, scores.mu0
    (array([2., 0.]), array([3., 0., 0.]), 3.0)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Definitions G.9 and G.10, Eqs. 122 to 124.
    """
    matrix = check_array("matrix", matrix, ndim=2)
    u, v = _singular_vectors(matrix, rank)
    u, v = _in_basis("left", left, u), _in_basis("right", right, v)
    (rows, columns), r = matrix.shape, u.shape[1]
    return Leverage(
        rows=rows / r * np.sum(u**2, axis=1),
        columns=columns / r * np.sum(v**2, axis=1),
        mu1=float(np.abs(u @ v.T).max() * math.sqrt(rows * columns / r)),
        rank=r,
    )


def degrees_of_freedom(shape: tuple[int, int], rank: int) -> int:
    """The dimension `r(n1 + n2 - r)` of the matrices of rank r: no fewer measurements can recover them all.

    >>> degrees_of_freedom((10, 10), 2)
    36

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Appendix G.2.1.
    """
    rows, columns = shape
    rank = check_count("rank", rank, least=0, most=min(check_count("shape", rows), check_count("shape", columns)))
    return rank * (rows + columns - rank)


def sampling_probabilities(matrix: Any, constant: float = 1.0, rank: int | None = None) -> np.ndarray:
    """Probabilities to observe each entry with which the matrix is recovered, with high probability.

    `p_ij = max(min(c0 (μ_i + ν_j) r log²(n1 + n2) / m, 1), m^-10)` with `m = min(n1, n2)`. The theorem does not say
    how large c0 (`constant`) must be, and at small sizes the minimum with 1 takes over: for n1 = n2 = 10, r = 2 and
    c0 = 1, `p_ij = 1` as soon as `μ_i + ν_j >= 0.557`, whose mean is 2. Of a matrix of the random orthogonal model,
    92 of the 100 entries are then certain to be observed and 97 expected to be; at n1 = n2 = 200 it is still 61 %.

    >>> sampling_probabilities(np.ones((10, 10))).min()
    np.float64(1.0)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem G.12 (Chen et al., 2014).
    """
    constant = check_number("constant", constant, above=0)
    scores = leverage_scores(matrix, rank)
    rows, columns = len(scores.rows), len(scores.columns)
    smallest = min(rows, columns)
    wanted = constant * scores.entries * scores.rank * math.log(rows + columns) ** 2 / smallest
    return np.maximum(np.minimum(wanted, 1.0), float(smallest) ** -10)


def expected_samples(matrix: Any, constant: float = 1.0, rank: int | None = None) -> float:
    """The number of entries that `sampling_probabilities` observes on average, their sum.

    >>> expected_samples(np.ones((10, 10)))
    100.0

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem G.12.
    """
    return float(sampling_probabilities(matrix, constant, rank).sum())


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


def _singular_vectors(matrix: np.ndarray, rank: int | None) -> tuple[np.ndarray, np.ndarray]:
    u, sigma, vt = np.linalg.svd(matrix, full_matrices=False)
    found = int(np.sum(sigma > max(matrix.shape) * np.finfo(float).eps * sigma[0]))
    if found == 0:
        raise InputError("matrix is zero: it has no singular directions; give a matrix with a non-zero entry")
    # A direction beyond the rank is arbitrary, and so would be its scores.
    rank = found if rank is None else check_count("rank", rank, most=found)
    return u[:, :rank], vt[:rank].T


def _in_basis(what: str, basis: Any, vectors: np.ndarray) -> np.ndarray:
    if basis is None:
        return vectors
    basis = check_array(what, basis, ndim=2)
    if len(basis) != len(vectors):
        raise InputError(
            f"{what} has {len(basis)} rows and the matrix {len(vectors)} {'rows' if what == 'left' else 'columns'}: "
            f"give measurement vectors as columns, e.g. {what}=np.eye({len(vectors)})"
        )
    return basis.T @ vectors
