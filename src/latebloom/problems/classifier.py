"""Problems with a right answer for every row: how many the model gets right, and networks trained on them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.arrays import Params
from latebloom.errors import CapabilityError
from latebloom.problems.base import AbstractProblem
from latebloom.problems.losses import Loss, cross_entropy
from latebloom.problems.rows import AbstractRows

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


class AbstractRowClassifier(AbstractLabelled, AbstractRows):
    """`F(w) = mean ℓ(f(x_i; w), y_i)`; `train_error` and `test_error` are shares of wrong answers.

    A network says what `inputs` and `labels` are, and computes scores by `forward`; the loss is cross-entropy unless
    it has another `per_sample`, whose `targets` may be more than the label.
    """

    @abstractmethod
    def inputs(self, part: str) -> jax.Array:
        """A row a sample of `part` ("train" or "test")."""

    @abstractmethod
    def forward(self, params: Any, inputs: jax.Array) -> jax.Array:
        """The scores of inputs: a row a sample, a column a class."""

    @property
    def per_sample(self) -> Loss:
        """The loss of one sample."""
        return cross_entropy

    def targets(self, labels: jax.Array) -> jax.Array:
        """What the loss compares scores with."""
        return labels

    @property
    def rows(self) -> int:
        return len(self.labels("train"))

    def scores(self, params: Any, part: str) -> jax.Array:
        return self.forward(params, self.inputs(part))

    def mean_loss(self, params: Any, part: str) -> jax.Array:
        """The mean of the loss over all rows of `part`."""
        return self.per_sample.mean(self.scores(params, part), self.targets(self.labels(part)))

    def loss(self, params: Any) -> jax.Array:
        return self.mean_loss(params, "train")

    def test_loss(self, params: Any) -> jax.Array:
        return self.mean_loss(params, "test")

    def loss_on(self, params: Any, rows: jax.Array) -> jax.Array:
        scores = self.forward(params, self.inputs("train")[rows])
        return self.per_sample.mean(scores, self.targets(self.labels("train")[rows]))

    def gradient(self, params: Any) -> Any:
        return self.gradient_at(params, self.inputs("train"), self.labels("train"))

    def gradient_on(self, params: Any, rows: jax.Array) -> Any:
        return self.gradient_at(params, self.inputs("train")[rows], self.labels("train")[rows])

    def gradient_at(self, params: Any, inputs: jax.Array, labels: jax.Array) -> Any:
        """The gradient of the mean of the loss over these rows."""
        scores, pull_back = jax.vjp(lambda w: self.forward(w, inputs), params)
        return pull_back(self.slopes(scores, labels))[0]

    def slopes(self, scores: jax.Array, labels: jax.Array) -> jax.Array:
        """The derivative of the mean of the loss in the scores."""
        targets = self.targets(labels)
        return self.per_sample.slope(scores, targets) / targets.size

    @property
    def trivial(self) -> tuple[float, str]:
        counts = np.bincount(np.asarray(self.labels("train")))
        return 1 - float(counts.max()) / self.rows, "that of one answer for all rows"

    def train_error(self, params: Any) -> jax.Array:
        return self.wrong(params, "train")

    def test_error(self, params: Any) -> jax.Array:
        return self.wrong(params, "test")
