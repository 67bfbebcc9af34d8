"""The l_p quasi-norm, 0 < p < 1: sparser than l1, not convex."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.penalties.base import AbstractPenalty, over_leaves

# From the upper end of a convex branch Newton's iterates fall monotonically to the root;
# 60 reach machine precision from p = 0.01 to 0.99, and the loop stops by itself.
NEWTON_STEPS = 60


class Lp(AbstractPenalty):
    """`strength · Σ |w_i|^p`; subgradient `strength · p |w|^(p-1) sign(w)`, zero at zero.

    The prox keeps `w` at zero up to the threshold `(2-p)/(2(1-p)) · (2c(1-p))^(1/(2-p))`, with
    `c = step_size · strength`, and above it solves `v + c p v^(p-1) = |w|` by Newton's method.

    >>> import jax.numpy as jnp
    >>> Lp(1.0, p=0.5).prox(jnp.array([0.5]), 1.0).tolist()
    [0.0]
    """

    example = "lp[strength=1e-5,p=0.5]"
    strength: float = fields.number(least=0, note="β, what the sum is multiplied by")
    # By name only: Lp(0.5, 1e-4) would be one of strength 0.5 and power 1e-4.
    p: float = fields.number(default=0.5, above=0, below=1, kw_only=True, note="the power")

    def value(self, params):
        return self.strength * over_leaves(lambda w: jnp.sum(jnp.abs(w) ** self.p), params)

    def subgradient(self, params):
        def slope(w):
            size = jnp.where(w == 0, 1.0, jnp.abs(w))
            return self.strength * self.p * size ** (self.p - 1) * jnp.sign(w)

        return jax.tree.map(slope, params)

    def prox(self, params, step_size):
        c, p = step_size * self.strength, self.p
        threshold = (2 - p) / (2 * (1 - p)) * (2 * c * (1 - p)) ** (1 / (2 - p))

        def shrink(w):
            size = jnp.abs(w)
            keep = size > threshold
            safe = jnp.where(keep, size, 1.0 + threshold)

            def newton(_, v):
                return v - (v + c * p * v ** (p - 1) - safe) / (1 - c * p * (1 - p) * v ** (p - 2))

            root = jax.lax.fori_loop(0, NEWTON_STEPS, newton, safe)
            return jnp.where(c > 0, jnp.where(keep, jnp.sign(w) * root, 0.0), w)

        return jax.tree.map(shrink, params)

    @property
    def strengths(self):
        return (self.strength,)
