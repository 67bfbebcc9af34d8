"""Matrix sensing on measurements that you bring."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from latebloom.core.arrays import check_array
from latebloom.core.record import DERIVED
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

    measurements: jax.Array
    targets: jax.Array
    truth: jax.Array
    shape: tuple[int, int] = eqx.field(static=True, metadata=DERIVED)

    def __init__(
        self,
        measurements: Any,
        targets: Any,
        *,
        truth: Any = None,
        form: str = "product",
        depth: int | None = None,
        width: int | None = None,
        init_kind: str = "gaussian",
        init_scale: float = 1e-6,
        seed: int = 0,
    ):
        measurements = check_array("measurements", measurements, ndim=3)
        targets = check_array("targets", targets, ndim=1)
        if len(targets) != len(measurements):
            raise InputError(
                f"targets has {len(targets)} entries and measurements {len(measurements)} matrices: give one each"
            )
        rows, columns = measurements.shape[1:]
        self.shape = (rows, columns)
        self._parametrise(form, depth, width, init_kind, init_scale, seed)
        self.measurements, self.targets = jnp.asarray(measurements), jnp.asarray(targets)
        self.truth = jnp.asarray(check_truth(truth, self.shape))

    @property
    def design(self) -> jax.Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The measurements as one matrix, a row each."""
        return self.measurements.reshape(len(self.measurements), -1)
