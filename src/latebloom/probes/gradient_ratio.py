"""Which of the two forces drives the step."""

from __future__ import annotations

import jax.numpy as jnp

from latebloom.errors import CapabilityError
from latebloom.probes.base import AbstractProbe, total_norm


class GradientRatio(AbstractProbe):
    """`|∇F| / |H|` with `H` the penalty's subgradient, strength included: above 1 the loss drives, below 1 the penalty.

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Figure 3.
    """

    tried_on = "sparse_recovery --penalty 'l1[1e-5]'"

    def check(self, problem, penalty):
        if penalty is None:
            raise CapabilityError("GradientRatio compares with a penalty and there is none: pass penalty=… or leave it")

    def measure(self, problem, penalty, params):
        assert penalty is not None
        pull = total_norm(penalty.subgradient(params))
        return total_norm(problem.gradient(params)) / jnp.where(pull > 0, pull, jnp.nan)
