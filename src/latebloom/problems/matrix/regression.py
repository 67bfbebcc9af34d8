"""Matrix sensing on measurements that you bring."""

from __future__ import annotations

from typing import Any

import jax

from latebloom.core import fields
from latebloom.errors import InputError
from latebloom.problems.matrix.base import AbstractMatrix, check_truth


class MatrixRegression(AbstractMatrix):
    """Least squares on a matrix, `F(A) = Σ (<X_i, A> - y_i)² / 2`, with sensing matrices X_i of your own.

    `measurements` has shape (N, n1, n2). With a `truth` the run has a generalisation milestone. `form`, `depth`
    and `width` say how the matrix is parametrised (see `Factorisation`).

    >>> import latebloom as lb
    >>> problem = lb.problems.MatrixRegression([[[1.0, 0.0], [0.0, 1.0]]], [2.0], form="symmetric", width=1)
    >>> problem.init()["W"].shape, problem.degree
    ((2, 1), 2)
    """

    example = "matrix_regression[(((1 0) (0 1)) ((0 1) (1 0))),(2 1)]"
    measurements: jax.Array | Any = fields.array(ndim=3, note="X_i, one matrix a measurement")
    targets: jax.Array | Any = fields.array(ndim=1, note="y")
    truth: jax.Array | Any = fields.array(default=None, ndim=2, kw_only=True, note="A*, if it is known")
    shape: tuple[int, int] = fields.derived(static=True)

    def derive(self):
        count, rows, columns = self.measurements.shape
        if len(self.targets) != count:
            raise InputError(
                f"targets has {len(self.targets)} entries and measurements {count} matrices: give one each"
            )
        shape = (rows, columns)
        return self.parametrise(shape) | {"shape": shape, "truth": check_truth(self.truth, shape)}

    @property
    def design(self) -> jax.Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The measurements as one matrix, a row each."""
        return self.measurements.reshape(len(self.measurements), -1)
