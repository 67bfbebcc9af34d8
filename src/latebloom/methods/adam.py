"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from latebloom.core import fields
from latebloom.methods.optimiser import AbstractOptimiser


def memory(default: float, note: str) -> Any:
    """The field of a share that is kept from step to step."""
    return fields.number(default=default, least=0, below=1, note=note)


class Adam(AbstractOptimiser):
    """`w ← w - learning_rate · m̂ / (√v̂ + eps)`, with m̂ and v̂ running means of the gradient `∇F + H` and of its square.

    Weight decay through the penalty `L2(λ)` (or `weight_decay=λ` of `train`) is *coupled*: its gradient `λ w` is part
    of what is divided by `√v̂`, as in PyTorch's `Adam(weight_decay=λ)`. For *decoupled* decay see `AdamW`.

    >>> Adam(1e-3).text
    'adam[learning_rate=0.001,b1=0.9,b2=0.999,eps=1e-08]'

    Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2015, Algorithm 1.
    """

    example = "adam[0.001]"
    learning_rate: float = fields.number(above=0, note="η, the size of a step")
    _: KW_ONLY
    b1: float = memory(0.9, "β1, of the mean of gradients")
    b2: float = memory(0.999, "β2, of the mean of their squares")
    eps: float = fields.number(default=1e-8, least=0, note="ε, added to the root")

    def transformation(self):
        import optax

        return optax.adam(self.learning_rate, b1=self.b1, b2=self.b2, eps=self.eps)


class AdamW(AbstractOptimiser):
    """Adam's step, and beside it `w ← w - learning_rate · weight_decay · w`: weight decay that is *decoupled*.

    It is no penalty: it is not divided by `√v̂`, it is in no column `penalty`, and it makes no slow clock. The penalty
    `L2`, and `weight_decay` of `train` and `flow`, are coupled: the gradient term `λ w`. Both can be had together.
    The default is PyTorch's; that of optax is 1e-4.

    >>> AdamW(1e-3, weight_decay=1.0).text
    'adamw[learning_rate=0.001,weight_decay=1,b1=0.9,b2=0.999,eps=1e-08]'

    Source: Loshchilov and Hutter, "Decoupled weight decay regularization", 2019, Algorithm 2, as PyTorch has it.
    """

    example = "adamw[0.001,weight_decay=1.0]"
    learning_rate: float = fields.number(above=0, note="η, the size of a step")
    _: KW_ONLY
    weight_decay: float = fields.number(default=0.01, least=0, note="decoupled: w shrinks by learning_rate · this · w")
    b1: float = memory(0.9, "β1, of the mean of gradients")
    b2: float = memory(0.999, "β2, of the mean of their squares")
    eps: float = fields.number(default=1e-8, least=0, note="ε, added to the root")

    @classmethod
    def name(cls) -> str:
        """As everybody writes it."""
        return "adamw"

    def transformation(self):
        import optax

        return optax.adamw(self.learning_rate, b1=self.b1, b2=self.b2, eps=self.eps, weight_decay=self.weight_decay)
