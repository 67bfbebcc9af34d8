"""A matrix of which some entries are observed."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.arrays import Params
from latebloom.errors import LatebloomWarning
from latebloom.problems.base import relative_norm
from latebloom.problems.matrix.base import AbstractMatrix


class UnobservedWarning(LatebloomWarning):
    """A row or column of which nothing is observed: no method can recover it."""


class AbstractEntries(AbstractMatrix):
    """Least squares on observed entries: `F(A) = (weight / 2) Σ_observed (A_ij - y_ij)²`.

    A weight of 2 is the sum of squares, 2/N the mean square. It scales time, and strengths against the data.

    `mask` is 1 where an entry is observed, `values` holds what was observed there and 0 elsewhere; both have the
    matrix's shape, so that problems with different entries, or different numbers of them, share one compiled program.
    The residuals are those of all entries, zero where nothing is observed. With measurement bases `left` and `right`
    (orthonormal columns u_i, v_j) the entries are those of `leftᵀ A right`: `u_iᵀ A v_j`.
    """

    mask: jax.Array | Any = fields.abstract()
    values: jax.Array | Any = fields.abstract()
    left: jax.Array | None = fields.abstract()
    right: jax.Array | None = fields.abstract()
    weight: float = fields.abstract()

    def turn(self, matrix: jax.Array) -> jax.Array:
        """The matrix in the measurement bases."""
        return matrix if self.left is None or self.right is None else self.left.T @ matrix @ self.right

    def turn_back(self, matrix: jax.Array) -> jax.Array:
        """The matrix out of the measurement bases."""
        return matrix if self.left is None or self.right is None else self.left @ matrix @ self.right.T

    def misfit(self, matrix: jax.Array) -> jax.Array:
        """`A - y` at the observed entries, zero elsewhere."""
        return self.mask * self.turn(matrix) - self.values

    def residuals(self, params: Params) -> jax.Array:
        return jnp.sqrt(self.weight) * self.misfit(self.end_to_end(params)).ravel()

    def matrix_gradient(self, matrix: jax.Array) -> jax.Array:
        return self.weight * self.turn_back(self.misfit(matrix))

    def live_residuals(self) -> np.ndarray:
        return np.flatnonzero(np.asarray(self.mask) > 0)

    def train_error(self, params: Params) -> jax.Array:
        return relative_norm(self.misfit(self.end_to_end(params)), self.values)

    def prepare_projection(self) -> tuple[()]:
        return ()

    def project(self, array: jax.Array, prepared: Any) -> jax.Array:
        return self.turn_back(jnp.where(self.mask > 0, self.values, self.turn(array)))

    def sharpness(self) -> float:
        return float(self.weight)

    @property
    def label_scale(self) -> float:
        return self.weight**0.5

    @property
    def entries(self) -> np.ndarray:
        """The observed entries, one (row, column) a line, row by row."""
        return np.argwhere(np.asarray(self.mask) > 0)

    @property
    def targets(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The observed values times √weight, in the order of `entries`."""
        return np.sqrt(self.weight) * np.asarray(self.values)[np.asarray(self.mask) > 0]

    @property
    def design(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The measurements as a dense matrix, one row an entry; for theory, the loop never builds it."""
        rows, columns = self.entries.T
        if self.left is None or self.right is None:
            design = np.zeros((len(rows), self.mask.size))
            design[np.arange(len(rows)), rows * self.shape[1] + columns] = np.sqrt(self.weight)
            return design
        left, right = np.asarray(self.left), np.asarray(self.right)
        return np.sqrt(self.weight) * np.einsum("in,jn->nij", left[:, rows], right[:, columns]).reshape(len(rows), -1)


def warn_unobserved(mask: np.ndarray) -> None:
    """Names the rows and columns of which nothing is observed."""
    for axis, what in ((1, "row"), (0, "column")):
        empty = np.flatnonzero(~mask.any(axis=axis))
        if len(empty):
            names = ", ".join(map(str, empty[:5])) + (", …" if len(empty) > 5 else "")
            warnings.warn(
                f"{what}{'s' * (len(empty) > 1)} {names} never observed: nothing can recover "
                f"{'them' if len(empty) > 1 else 'it'}; observe more entries or use another seed",
                UnobservedWarning,
                stacklevel=6,
            )
