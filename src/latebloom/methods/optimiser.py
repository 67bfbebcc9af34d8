"""What the methods that optax steps for share."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from latebloom.methods.base import AbstractMethod
from latebloom.methods.gradient_descent import total_gradient

if TYPE_CHECKING:
    import optax


class AbstractOptimiser(AbstractMethod):
    """A transformation of `∇F + H` by optax, with H a subgradient of the penalty; its memory is the method's."""

    @abstractmethod
    def transformation(self) -> optax.GradientTransformation:
        """What turns gradients into updates."""

    def init(self, problem, penalty, params):
        return self.transformation().init(params)

    def step(self, problem, penalty, params, state):
        import optax

        slope = total_gradient(problem, penalty, params)
        updates, state = self.transformation().update(slope, state, params)
        return optax.apply_updates(params, updates), state
