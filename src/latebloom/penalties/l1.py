"""The l1 penalty: it prefers sparse parameters."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.penalties.base import AbstractPenalty, over_leaves


class L1(AbstractPenalty):
    """`strength · |w|_1`; subgradient `strength · sign(w)`, prox is soft-thresholding.

    >>> import jax.numpy as jnp
    >>> L1(0.5).prox(jnp.array([2.0, -0.3]), 1.0).tolist()
    [1.5, -0.0]
    """

    example = "l1[1e-5]"
    strength: float = fields.number(least=0, note="β, what |w|_1 is multiplied by")

    def value(self, params):
        return self.strength * over_leaves(lambda w: jnp.sum(jnp.abs(w)), params)

    def subgradient(self, params):
        return jax.tree.map(lambda w: self.strength * jnp.sign(w), params)

    def prox(self, params, step_size):
        shift = step_size * self.strength
        return jax.tree.map(lambda w: jnp.sign(w) * jnp.maximum(jnp.abs(w) - shift, 0), params)

    @property
    def strengths(self):
        return (self.strength,)
