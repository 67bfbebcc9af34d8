"""Projected subgradient descent on the set of interpolators."""

from __future__ import annotations

import jax.numpy as jnp

from latebloom.errors import CapabilityError
from latebloom.methods.base import AbstractMethod, check_learning_rate
from latebloom.problems import require_linear


class ProjectedSubgradient(AbstractMethod):
    """`a ← Π(a - learning_rate · H(a))` with Π the projection on `{a : X a = y}` (linear problems).

    `Π(a) = a - X⁺(X a - y)`: one step memorises, everything after it is the penalty's work.
    The pseudo-inverse is computed once, by an SVD, and carried as the method's state.

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Appendix D.1.
    """

    learning_rate: float

    def __init__(self, learning_rate: float):
        self.learning_rate = check_learning_rate(learning_rate)

    def check(self, problem, penalty):
        require_linear(problem, "ProjectedSubgradient")
        if penalty is None:
            raise CapabilityError("ProjectedSubgradient descends on the penalty alone and has none: pass penalty=L1(…)")

    def init(self, problem, penalty, params):
        return jnp.linalg.pinv(problem.design).T

    def step(self, problem, penalty, params, state):
        moved = params - self.learning_rate * penalty.subgradient(params)
        return moved - (problem.design @ moved - problem.targets) @ state, state
