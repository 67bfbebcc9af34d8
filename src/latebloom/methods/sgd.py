"""Gradient steps with momentum, under the name that frameworks have for them."""

from __future__ import annotations

from dataclasses import KW_ONLY

from latebloom.core import fields
from latebloom.errors import InputError
from latebloom.methods.optimiser import AbstractOptimiser


class SGD(AbstractOptimiser):
    """`m ← momentum · m + ∇F + H`, `w ← w - learning_rate · m`; with `nesterov` along `∇F + H + momentum · m`.

    As PyTorch's and optax's. All rows make the gradient: `Minibatch(SGD(0.1), 32)` draws some, as "stochastic" says.
    Without momentum it is `GradientDescent`. Its weight decay is the penalty `L2`.

    >>> SGD(0.1, momentum=0.9)
    SGD(learning_rate=0.1, momentum=0.9, nesterov=False)

    Source: Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013.
    """

    example = "sgd[0.1,momentum=0.9]"
    learning_rate: float = fields.number(above=0, note="η, the size of a step")
    _: KW_ONLY
    momentum: float = fields.number(default=0.0, least=0, below=1, note="μ, the share of the last step that is kept")
    nesterov: bool = fields.flag(default=False, static=True, note="look ahead by the momentum")

    def derive(self):
        if self.nesterov and self.momentum == 0:
            raise InputError("nesterov=True looks ahead by the momentum, which is 0: give e.g. momentum=0.9")
        return {}

    @property
    def stable_below(self) -> float | None:
        return None if self.nesterov else 2.0 * (1 + float(self.momentum))

    def transformation(self):
        import optax

        return optax.sgd(self.learning_rate, momentum=self.momentum, nesterov=self.nesterov)
