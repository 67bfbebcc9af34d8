"""(Sub)gradient descent."""

from __future__ import annotations

import jax

from latebloom.core import fields
from latebloom.methods.base import AbstractMethod


class GradientDescent(AbstractMethod):
    """`w ← w - learning_rate · (∇F(w) + H(w))` with `H` a subgradient of the penalty.

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Eq. 1.

    >>> GradientDescent(0.1)
    GradientDescent(learning_rate=0.1)
    """

    example = "gradient_descent[0.1]"
    learning_rate: float = fields.number(above=0, note="η, the size of a step")

    @property
    def stable_below(self) -> float:
        return 2.0

    def init(self, problem, penalty, params):
        return ()

    def step(self, problem, penalty, params, state):
        slope = total_gradient(problem, penalty, params)
        return jax.tree.map(lambda w, g: w - self.learning_rate * g, params, slope), state


def total_gradient(problem, penalty, params):
    """`∇F + H`."""
    gradient = problem.gradient(params)
    if penalty is None:
        return gradient
    return jax.tree.map(lambda g, h: g + h, gradient, penalty.subgradient(params))
