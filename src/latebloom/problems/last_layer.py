"""Problems whose parameters come in two parts, linear in the second: the last layer is a regression."""

from __future__ import annotations

from abc import abstractmethod

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.core.arrays import Params
from latebloom.errors import CapabilityError
from latebloom.problems.base import AbstractLeastSquares, AbstractProblem, relative_norm

FIRST, SECOND = "first", "second"


class AbstractLinearInSecond(AbstractLeastSquares):
    """`F(θ1, θ2) = (weight / 2) |H(θ1) θ2 - Y|²`, with parameters `{"first": θ1, "second": θ2}`.

    A weight of 2 is the sum of squares. `train_error` is `|H θ2 - Y| / |Y|`.
    """

    weight: float = fields.abstract()
    targets: jax.Array = fields.abstract()  # Y, a row a sample

    @abstractmethod
    def features(self, first: Params) -> jax.Array:
        """`H`: a row a training sample, a column a hidden unit."""

    def misfit(self, params: Params) -> jax.Array:
        """`H θ2 - Y`."""
        return self.features(params[FIRST]) @ params[SECOND] - self.targets

    def residuals(self, params: Params) -> jax.Array:
        return jnp.sqrt(self.weight) * self.misfit(params).ravel()

    def train_error(self, params: Params) -> jax.Array:
        return relative_norm(self.misfit(params), self.targets)


def require_linear_in_second(problem: AbstractProblem, who: str) -> AbstractLinearInSecond:
    """The problem, if it is linear in the second of its two parts."""
    if not isinstance(problem, AbstractLinearInSecond):
        raise CapabilityError(
            f"{who} needs a problem that is linear in its second part, with features(first) and targets; "
            f"{problem!r} is not: use ModularNet, or derive from AbstractLinearInSecond"
        )
    return problem
