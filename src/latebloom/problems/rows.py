"""Problems whose loss is a mean over training rows, so that some of the rows give an estimate of its gradient."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.core.arrays import Params
from latebloom.errors import CapabilityError
from latebloom.problems.base import AbstractProblem


class AbstractRows(AbstractProblem):
    """`F(w) = (1/n) Σ_i ℓ_i(w)` over n training rows: `loss_on` is the same mean over some of them."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """n, the number of training rows."""

    @abstractmethod
    def loss_on(self, params: Params, rows: jax.Array) -> jax.Array:
        """The mean of the loss over these rows, given by their numbers."""

    def gradient_on(self, params: Params, rows: jax.Array) -> Params:
        """The gradient of `loss_on`."""
        return jax.grad(self.loss_on)(params, rows)

    @abstractmethod
    def test_loss(self, params: Params) -> jax.Array:
        """The same mean over the test rows; NaN where there is no test set."""

    def loss(self, params: Params) -> jax.Array:
        return self.loss_on(params, jnp.arange(self.rows))

    def gradient(self, params: Params) -> Params:
        return self.gradient_on(params, jnp.arange(self.rows))


class OnRows(AbstractProblem):
    """`problem` with the loss on some of its training rows; the errors stay those on all of them.

    A minibatch is such a problem for the length of a step.

    >>> import jax.numpy as jnp, latebloom as lb
    >>> problem = lb.problems.EmbeddingMLP(modulus=7, width=8)
    >>> params = problem.init()
    >>> some = OnRows(problem, jnp.arange(5))
    >>> bool(some.loss(params) == problem.loss_on(params, jnp.arange(5)))
    True
    """

    example = "on_rows[teacher_student[dimension=3,width=4,samples=8],(0 1 2)]"
    problem: AbstractRows | Any = fields.own(
        lambda _, problem: require_rows(problem, "OnRows"), kind="record", base=AbstractRows, note="what has the rows"
    )
    chosen: jax.Array | Any = fields.own(
        lambda _, rows: jnp.asarray(rows), kind="array", note="the numbers of the rows, from 0"
    )

    def init(self) -> Params:
        return self.problem.init()

    def loss(self, params: Params) -> jax.Array:
        return self.problem.loss_on(params, self.chosen)

    def gradient(self, params: Params) -> Params:
        return self.problem.gradient_on(params, self.chosen)

    def train_error(self, params: Params) -> jax.Array:
        return self.problem.train_error(params)

    def test_error(self, params: Params) -> jax.Array:
        return self.problem.test_error(params)

    @property
    def has_test(self) -> bool:
        return self.problem.has_test

    @property
    def degree(self) -> int | None:
        return self.problem.degree


def require_rows(problem: AbstractProblem, who: str) -> AbstractRows:
    """The problem, if its loss is a mean over rows."""
    if not isinstance(problem, AbstractRows):
        raise CapabilityError(
            f"{who} needs a problem whose loss is a mean over training rows; {type(problem).__name__} is not: "
            "use the method without minibatches, or a network such as EmbeddingMLP or ModularClassifier"
        )
    return problem
