"""Problems with a right answer for every row, so that one can count how many the model gets right."""

from __future__ import annotations

from abc import abstractmethod

import jax
import jax.numpy as jnp

from latebloom.errors import CapabilityError
from latebloom.problems.base import AbstractProblem, Params

PARTS = ("train", "test")


def share(count: jax.Array, rows: int | jax.Array) -> jax.Array:
    """`count / rows`, exactly 1 if they are equal; NaN if there is no row.

    A compiled division by a constant is a product with its reciprocal: 3,764 of 3,764 would be 0.9999999999999999.
    """
    return jnp.where((count == rows) & (rows > 0), 1.0, count / rows)


class AbstractLabelled(AbstractProblem):
    """A problem whose model scores every class for every row; the largest score is its answer."""

    @abstractmethod
    def scores(self, params: Params, part: str) -> jax.Array:
        """A row a sample of `part` ("train" or "test"), a column a class."""

    @abstractmethod
    def labels(self, part: str) -> jax.Array:
        """The right class of every row of `part`."""

    @property
    def labelled(self) -> bool:
        """Whether there are labels: a wrapper has them if what it wraps has."""
        return True

    def class_margins(self, params: Params, part: str = "train") -> jax.Array:
        """`f_y - f_j`, a row a sample and a column a wrong class j: a sample is right if its row is positive."""
        scores, labels = self.scores(params, part), self.labels(part)[:, None]
        classes = scores.shape[1]
        others = (labels + 1 + jnp.arange(classes - 1)) % classes
        return jnp.take_along_axis(scores, labels, axis=1) - jnp.take_along_axis(scores, others, axis=1)

    def correct(self, params: Params, part: str) -> jax.Array:
        """How many rows of `part` the model gets right, a whole number."""
        return jnp.sum(jnp.argmax(self.scores(params, part), axis=1) == self.labels(part))

    def accuracy(self, params: Params, part: str) -> jax.Array:
        """The share of rows it gets right: exactly 1 if all."""
        return share(self.correct(params, part), len(self.labels(part)))

    def wrong(self, params: Params, part: str) -> jax.Array:
        """The share of rows it gets wrong, exactly 0 if there is none."""
        rows = len(self.labels(part))
        return share(rows - self.correct(params, part), rows)


def require_labelled(problem: AbstractProblem, who: str) -> AbstractLabelled:
    """The problem, if its rows have right answers."""
    if not (isinstance(problem, AbstractLabelled) and problem.labelled):
        raise CapabilityError(
            f"{who} counts right answers and {type(problem).__name__} has none: leave it out, or use ModularNet"
        )
    return problem
