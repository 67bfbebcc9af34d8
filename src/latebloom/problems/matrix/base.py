"""A matrix that is measured linearly, however it is parametrised."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np

from latebloom.core import fields
from latebloom.core.arrays import Params, check_array
from latebloom.errors import CapabilityError, InputError, check_count
from latebloom.problems.base import AbstractLinear, AbstractProblem
from latebloom.problems.matrix.factorisation import FORMS, INITS, Factorisation


class AbstractMatrix(AbstractLinear):
    """Least squares on an n1 x n2 matrix `A` measured linearly: `F(A) = |X vec(A) - y|² / 2`.

    The design matrix sees the entries row by row (`A.ravel()`). The errors are relative and in the Frobenius norm.
    """

    shape: tuple[int, int] | Any = fields.abstract()
    form: str = fields.choice(FORMS, default="product", static=True, kw_only=True, note="of the parametrisation")
    depth: int | Any = fields.count(
        default=None, static=True, kw_only=True, note="L, layers; None for 1, or 2 with a width"
    )
    width: int | None = fields.count(
        default=None, static=True, kw_only=True, note="columns of the layers; None for the smaller side"
    )
    init_kind: str = fields.choice(INITS, default="gaussian", static=True, kw_only=True, note="how the start is drawn")
    init_scale: float = fields.number(default=1e-6, least=0, kw_only=True, note="the size of the start")
    seed: int = fields.seed(default=0, kw_only=True, note="draws everything")
    factors: Factorisation = fields.derived(static=True)
    start: Params = fields.derived()

    def parametrise(self, shape: tuple[int, int]) -> dict[str, Any]:
        """How a matrix of this shape is parametrised and where training starts: part of every `derive`."""
        factors = Factorisation.of(shape, self.form, depth=self.depth, width=self.width)
        start = factors.start(self.init_kind, self.init_scale, seed=self.seed)
        width = None if factors.linear else factors.width
        return {"factors": factors, "depth": factors.depth, "width": width, "start": start}

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
        return bool(np.isfinite(np.asarray(self.truth)).all())


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


def shape_field(what: str, value: Any) -> tuple[int, int]:
    """`check_shape` as the check of a field."""
    return check_shape(value)


def check_matrix(what: str, value: Any, shape: tuple[int, int]) -> np.ndarray:
    """`value` as a finite matrix of this shape."""
    matrix = check_array(what, value, ndim=2)
    if matrix.shape != shape:
        raise InputError(f"{what} has shape {matrix.shape}: {what} must have shape {shape}, like the measurements")
    return matrix


def check_truth(value: Any, shape: tuple[int, int]) -> np.ndarray:
    """A truth to compare with, NaN if there is none."""
    return np.full(shape, np.nan) if value is None else check_matrix("truth", value, shape)
