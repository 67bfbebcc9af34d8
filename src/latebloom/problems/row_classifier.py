"""Networks that score every class for every row of their inputs, trained by the mean of a loss over rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax
import numpy as np

from latebloom.problems.labelled import AbstractLabelled
from latebloom.problems.losses import Loss, cross_entropy
from latebloom.problems.rows import AbstractRows


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
