"""The unsquared l2 norm, tensor by tensor: it can switch a whole tensor off."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.penalties.base import AbstractPenalty, over_leaves


class L2Norm(AbstractPenalty):
    """`strength · Σ_tensors |w|_2`; subgradient `strength · w/|w|` (zero at zero), prox is block shrinkage.

    >>> import jax.numpy as jnp
    >>> L2Norm(1.0).prox(jnp.array([3.0, 4.0]), 1.0).tolist()
    [2.4000000000000004, 3.2]
    """

    example = "l2_norm[1e-3]"
    strength: float = fields.number(least=0, note="β, what the norms are multiplied by")

    def value(self, params):
        return self.strength * over_leaves(_norm, params)

    def subgradient(self, params):
        return jax.tree.map(lambda w: self.strength * _unit(w), params)

    def prox(self, params, step_size):
        return jax.tree.map(lambda w: jnp.maximum(_norm(w) - step_size * self.strength, 0) * _unit(w), params)

    @property
    def strengths(self):
        return (self.strength,)


def _norm(w: jax.Array) -> jax.Array:
    """|w|, scaled by its largest entry: squares of 1e-200 and 1e200 are beyond all numbers."""
    largest = jnp.max(jnp.abs(w))
    scale = jnp.where(largest > 0, largest, 1.0)
    return scale * jnp.linalg.norm((w / scale).ravel())


def _unit(w: jax.Array) -> jax.Array:
    norm = _norm(w)
    return jnp.where(norm > 0, w / jnp.where(norm > 0, norm, 1.0), 0.0)
