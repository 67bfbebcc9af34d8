"""A matrix that is measured linearly, however it is parametrised."""

from __future__ import annotations

import re
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.arrays import Params, check_array
from latebloom.core.record import DERIVED
from latebloom.core.seeds import check_seed
from latebloom.errors import CapabilityError, InputError, check_count, check_number
from latebloom.problems.base import AbstractLinear, AbstractProblem
from latebloom.problems.matrix.factorisation import Factorisation


class AbstractMatrix(AbstractLinear):
    """Least squares on an n1 x n2 matrix `A` measured linearly: `F(A) = |X vec(A) - y|² / 2`.

    The design matrix sees the entries row by row (`A.ravel()`). The errors are relative and in the Frobenius norm.
    """

    shape: eqx.AbstractVar[tuple[int, int]]
    form: str = eqx.field(static=True)
    depth: int = eqx.field(static=True)
    width: int | None = eqx.field(static=True)
    init_kind: str = eqx.field(static=True)
    init_scale: float
    seed: int
    factors: Factorisation = eqx.field(static=True, metadata=DERIVED)
    start: Params = eqx.field(metadata=DERIVED)

    def _parametrise(
        self, form: str, depth: int | None, width: int | None, init_kind: str, init_scale: float, seed: int
    ) -> None:
        """Sets how the matrix is parametrised and where training starts; `shape` is known."""
        self.factors = Factorisation.of(self.shape, form, depth=depth, width=width)
        self.form, self.depth = self.factors.form, self.factors.depth
        self.width = None if self.factors.linear else self.factors.width
        self.init_kind, self.seed = init_kind, check_seed(seed)
        self.init_scale = check_number("init_scale", init_scale, least=0)
        self.start = jax.tree.map(jnp.asarray, self.factors.start(init_kind, self.init_scale, seed=self.seed))

    def init(self) -> Params:
        return self.start

    def end_to_end(self, params: Params) -> jax.Array:
        return self.factors.matrix(params)

    def matrix_gradient(self, matrix: jax.Array) -> jax.Array:
        """The gradient of the loss in the matrix."""
        residuals = self.design @ matrix.ravel() - self.targets
        return (residuals @ self.design).reshape(self.shape)

    def gradient(self, params: Params) -> Params:
        return self.factors.pull_back(params, self.matrix_gradient(self.end_to_end(params)))

    @property
    def degree(self) -> int:
        return self.factors.depth

    @property
    def linear(self) -> bool:
        return self.factors.linear

    @property
    def has_test(self) -> bool:
        return bool(jnp.isfinite(self.truth).all())


def require_matrix(problem: AbstractProblem, who: str) -> AbstractMatrix:
    """The problem, if it measures a matrix."""
    if not isinstance(problem, AbstractMatrix):
        raise CapabilityError(
            f"{who} needs a problem that measures a matrix; {type(problem).__name__} has none: "
            "use MatrixCompletion or MatrixSensing"
        )
    return problem


def check_shape(value: Any) -> tuple[int, int]:
    """The shape of a matrix: `(10, 20)`, `"10x20"`, or 10 for a square one.

    >>> check_shape("10x20"), check_shape(3)
    ((10, 20), (3, 3))
    """
    given: Any = value
    if isinstance(value, str):  # as typed, or as a record prints it: (10 20)
        match = re.fullmatch(r"\(?(\d+)(?:[x, ]+(\d+))?\)?", value.strip())
        given = [int(side or match[1]) for side in match.groups()] if match else ()
    try:
        sides: Any = [given] * 2 if np.ndim(given) == 0 else given
        rows, columns = (check_count("shape", side) for side in sides)
    except (InputError, ValueError, TypeError):
        raise InputError(f"shape={value!r} is not a shape: give rows and columns, e.g. (10, 20) or 10x20") from None
    return rows, columns


def check_matrix(what: str, value: Any, shape: tuple[int, int]) -> np.ndarray:
    """`value` as a finite matrix of this shape."""
    matrix = check_array(what, value, ndim=2)
    if matrix.shape != shape:
        raise InputError(f"{what} has shape {matrix.shape}: {what} must have shape {shape}, like the measurements")
    return matrix


def check_truth(value: Any, shape: tuple[int, int]) -> np.ndarray:
    """A truth to compare with, NaN if there is none."""
    return np.full(shape, np.nan) if value is None else check_matrix("truth", value, shape)
