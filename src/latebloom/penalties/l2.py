"""The squared l2 penalty: weight decay."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.penalties.base import AbstractPenalty, over_leaves


class L2(AbstractPenalty):
    """`strength/2 · |w|²`, so that its gradient is `strength · w` (coupled weight decay).

    A paper that writes `λ|w|²` is entered with strength `2λ`.

    >>> import jax.numpy as jnp
    >>> L2(0.5).subgradient(jnp.array([2.0])).tolist()
    [1.0]
    """

    example = "l2[1e-3]"
    strength: float = fields.number(least=0, note="λ, the weight decay")

    def value(self, params):
        return 0.5 * self.strength * over_leaves(lambda w: jnp.sum(w**2), params)

    def subgradient(self, params):
        return jax.tree.map(lambda w: self.strength * w, params)

    def prox(self, params, step_size):
        return jax.tree.map(lambda w: w / (1 + step_size * self.strength), params)

    @property
    def strengths(self):
        return (self.strength,)

    @property
    def smooth(self) -> bool:
        return True
