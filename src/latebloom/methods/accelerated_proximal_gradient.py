"""Accelerated proximal gradient descent (FISTA)."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.methods.base import AbstractMethod, require_prox
from latebloom.methods.proximal_gradient import proximal_step


class AcceleratedProximalGradient(AbstractMethod):
    """`w⁺ = prox step at z`, `z ← w⁺ + (t-1)/t⁺ · (w⁺ - w)`, `t⁺ = (1 + √(1+4t²))/2`.

    Source: Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm", 2009.
    """

    example = "accelerated_proximal_gradient[0.1]"
    learning_rate: float = fields.number(above=0, note="η, the size of a step")

    def check(self, problem, penalty):
        require_prox(penalty, "AcceleratedProximalGradient")

    def init(self, problem, penalty, params):
        return params, jnp.ones(())

    def step(self, problem, penalty, params, state):
        lookahead, t = state
        new = proximal_step(self.learning_rate, problem, penalty, lookahead)
        t_new = (1 + jnp.sqrt(1 + 4 * t**2)) / 2
        ahead = (t - 1) / t_new
        lookahead = jax.tree.map(lambda w, old: w + ahead.astype(w.dtype) * (w - old), new, params)
        return new, (lookahead, t_new)
