"""The share of right answers, as a count over a count."""

from __future__ import annotations

import jax.numpy as jnp

from latebloom.errors import CapabilityError
from latebloom.probes.base import AbstractProbe
from latebloom.problems.classifier import require_labelled, share
from latebloom.problems.networks.embedding_mlp import EmbeddingMLP


class TrainAccuracy(AbstractProbe):
    """The share of training rows whose largest score is at the right class."""

    tried_on = "'modular_net[modulus=7,width=24]'"

    def check(self, problem, penalty):
        require_labelled(problem, "TrainAccuracy")

    def measure(self, problem, penalty, params):
        return problem.accuracy(params, "train")


class TestAccuracy(AbstractProbe):
    """The share of test rows whose largest score is at the right class."""

    tried_on = "'modular_net[modulus=7,width=24]'"
    __test__ = False  # the name is the field's, pytest must not collect it

    def check(self, problem, penalty):
        require_labelled(problem, "TestAccuracy")

    def measure(self, problem, penalty, params):
        return problem.accuracy(params, "test")


class UnmirroredAccuracy(AbstractProbe):
    """The share of right answers on the test pairs (a, b) whose mirror (b, a) is not in the training set either.

    A network that is symmetric in a and b knows the others already.
    """

    tried_on = "'embedding_mlp[modulus=7,width=8]'"

    def check(self, problem, penalty):
        if not isinstance(problem, EmbeddingMLP):
            raise CapabilityError(
                f"UnmirroredAccuracy is about ordered pairs of residues and {type(problem).__name__} has none: "
                "use TestAccuracy, or EmbeddingMLP"
            )
        if not problem.unmirrored.any():
            raise CapabilityError(
                "UnmirroredAccuracy has nothing to count: every test pair has its mirror in the training set; "
                "use TestAccuracy, or a smaller train_share"
            )

    def measure(self, problem, penalty, params):
        right = jnp.argmax(problem.scores(params, "test"), axis=1) == problem.labels("test")
        return share(jnp.sum(right & problem.unmirrored), jnp.sum(problem.unmirrored))
