"""Matrix completion on entries that you bring."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import jax
import numpy as np

from latebloom.core import fields
from latebloom.core.arrays import check_array
from latebloom.errors import InputError
from latebloom.problems.matrix.base import check_truth, shape_field
from latebloom.problems.matrix.entries import AbstractEntries, warn_unobserved


class ObservedEntries(AbstractEntries):
    """Fills in a matrix of which you know some entries: `F(A) = Σ_observed (A_ij - y_ij)² / 2`.

    `entries` is a list of (row, column) pairs, or a Boolean mask of the matrix's shape; `observed` the values there, in
    the order of the pairs (of the mask: row by row). With a `truth` the run has a generalisation milestone.
    `weight` is that of the squares in the loss, over 2.
    `form`, `depth` and `width` say how the matrix is parametrised (see `Factorisation`).

    >>> import latebloom as lb
    >>> problem = lb.problems.ObservedEntries((2, 2), [(0, 0), (0, 1), (1, 0)], [1.0, 2.0, 3.0])
    >>> problem.values.tolist(), problem.has_test
    ([[1.0, 2.0], [3.0, 0.0]], False)
    """

    example = "observed_entries[(2 2),((0 0) (0 1) (1 0)),(1 2 2),truth=((1 2) (2 4))]"
    shape: tuple[int, int] | Any = fields.own(shape_field, kind="shape", static=True, note="rows and columns")
    # Given as positions and values, kept as two matrices: so the order in which entries are given plays no part.
    mask: jax.Array | Any = fields.own(alias="entries", note="pairs (row, column) from 0, or a Boolean mask")
    values: jax.Array | Any = fields.own(alias="observed", kind="array", note="y, the values there")
    _: KW_ONLY
    truth: jax.Array | Any = fields.array(default=None, ndim=2, note="A*, if it is known")
    weight: float = fields.number(default=1.0, above=0, note="of the squares in the loss, over 2")
    left: jax.Array | None = fields.derived()
    right: jax.Array | None = fields.derived()

    def parameters(self) -> dict[str, Any]:
        """With the entries row by row, in whatever order they were given."""
        rows, columns = self.entries.T
        return super().parameters() | {"entries": self.entries, "observed": np.asarray(self.values)[rows, columns]}

    def derive(self):
        rows, columns = _positions(self.mask, self.shape)
        values = check_array("observed", self.values, ndim=1)
        if len(values) != len(rows):
            raise InputError(f"observed has {len(values)} values and entries {len(rows)} positions: give one each")
        mask, table = np.zeros(self.shape, dtype=bool), np.zeros(self.shape)
        mask[rows, columns], table[rows, columns] = True, values
        warn_unobserved(mask)
        truth = check_truth(self.truth, self.shape)
        arrays = {"mask": np.asarray(mask, dtype=float), "values": table, "truth": truth}
        return self.parametrise(self.shape) | arrays | {"left": None, "right": None}


def _positions(entries: Any, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the observed entries, each entry once and inside the matrix."""
    try:
        given = np.asarray(entries)
    except ValueError:  # rows of different lengths
        given = np.zeros((1, 0))
    if given.dtype == bool and given.shape != shape:
        raise InputError(f"entries is a mask of shape {given.shape}: give one of the matrix's shape, {shape}")
    if (given.size == 0 and given.shape != (1, 0)) or (given.dtype == bool and not given.any()):
        raise InputError("entries is empty, nothing is observed: give at least one (row, column)")
    pairs = np.argwhere(given) if given.dtype == bool else given
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iuf" or (pairs != np.floor(pairs)).any():
        raise InputError("entries must be pairs (row, column) of whole numbers, or a Boolean mask")
    outside = ((pairs < 0) | (pairs >= np.array(shape))).any(axis=1)
    if outside.any():
        row, column = (int(side) for side in pairs[outside][0])
        raise InputError(f"entry {(row, column)} is outside a matrix of shape {shape}: rows and columns count from 0")
    unique, counts = np.unique(pairs.astype(np.int64), axis=0, return_counts=True)
    if len(unique) < len(pairs):
        row, column = (int(side) for side in unique[counts > 1][0])
        times = int(counts[counts > 1][0])
        raise InputError(f"entry {(row, column)} is given {times} times: observe each entry once, e.g. their average")
    return pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
