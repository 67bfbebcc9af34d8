"""What a completed matrix says where nothing was observed."""

from __future__ import annotations

import jax.numpy as jnp

from latebloom.errors import CapabilityError
from latebloom.probes.base import AbstractProbe
from latebloom.problems.matrix.entries import AbstractEntries


class FillIn(AbstractProbe):
    """The largest unobserved entry in absolute value, over the largest observed one: zero if all are filled with 0.

    In the symmetric forms an entry counts as observed if its mirror image is.

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Corollary 3.11.
    """

    tried_on = "matrix_completion"

    def check(self, problem, penalty):
        if not isinstance(problem, AbstractEntries):
            raise CapabilityError(
                f"FillIn needs a problem with observed entries; {type(problem).__name__} has none: leave the probe out"
            )

    def measure(self, problem, penalty, params):
        mirror = problem.mask if problem.form == "product" else problem.mask.T
        unseen = (problem.mask == 0) & (mirror == 0)
        matrix = problem.turn(problem.end_to_end(params))
        return jnp.max(jnp.abs(jnp.where(unseen, matrix, 0.0))) / jnp.max(jnp.abs(problem.values))
