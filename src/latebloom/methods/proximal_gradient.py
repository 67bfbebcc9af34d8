"""Proximal gradient descent (ISTA)."""

from __future__ import annotations

import jax

from latebloom.core import fields
from latebloom.methods.base import AbstractMethod, require_prox


class ProximalGradient(AbstractMethod):
    """`w ← prox_{learning_rate · penalty}(w - learning_rate · ∇F(w))`; with l1, iterative soft-thresholding.

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Appendix D.1.
    """

    example = "proximal_gradient[0.1]"
    learning_rate: float = fields.number(above=0, note="η, the size of a step")

    @property
    def stable_below(self) -> float:
        return 2.0  # of the loss alone: the prox of a convex penalty never lengthens a step

    def check(self, problem, penalty):
        require_prox(penalty, "ProximalGradient")

    def init(self, problem, penalty, params):
        return ()

    def step(self, problem, penalty, params, state):
        return proximal_step(self.learning_rate, problem, penalty, params), state


def proximal_step(learning_rate, problem, penalty, params):
    """One forward-backward step from `params`."""
    forward = jax.tree.map(lambda w, g: w - learning_rate * g, params, problem.gradient(params))
    return forward if penalty is None else penalty.prox(forward, learning_rate)
