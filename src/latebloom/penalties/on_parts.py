"""A penalty on some named parts of the parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.errors import CapabilityError, InputError, unknown_name
from latebloom.penalties.base import AbstractPenalty

NOT_A_PENALTY = "OnParts restricts a penalty, not {value}: OnParts(L1(1e-5), 'embedding')"


class OnParts(AbstractPenalty):
    """`penalty` on the parameters named, nothing on the others; parameters must be a dictionary.

    >>> import jax.numpy as jnp
    >>> from latebloom.penalties import L1
    >>> params = {"embedding": jnp.array([1.0, -2.0]), "bias": jnp.array([5.0])}
    >>> float(OnParts(L1(0.1), "embedding").value(params))
    0.30000000000000004
    """

    example = "on_parts[l2[1e-3],second]"
    tried_on = "'modular_net[modulus=7,width=24]'"
    penalty: AbstractPenalty = fields.record_of(AbstractPenalty, NOT_A_PENALTY, note="what acts on the parts")
    parts: tuple[str, ...] = fields.rest(fields.text(), static=True, note="the names of the parts")

    if TYPE_CHECKING:

        def __init__(self, penalty: AbstractPenalty, *parts: str): ...

    def derive(self):
        if not self.parts:
            raise InputError("OnParts needs the name of at least one part: OnParts(L1(1e-5), 'embedding')")
        return {}

    def __repr__(self) -> str:
        return f"OnParts({self.penalty!r}, {', '.join(repr(part) for part in self.parts)})"

    def _select(self, params):
        if not isinstance(params, dict):
            raise CapabilityError(f"{self!r} needs parameters in a dictionary, not {type(params).__name__}: name them")
        for part in self.parts:
            if part not in params:
                raise unknown_name("part", part, params)
        return {part: params[part] for part in self.parts}

    def check(self, params):
        self.penalty.check(self._select(params))

    def value(self, params):
        return self.penalty.value(self._select(params))

    def subgradient(self, params):
        return jax.tree.map(jnp.zeros_like, params) | self.penalty.subgradient(self._select(params))

    @property
    def has_prox(self) -> bool:
        return self.penalty.has_prox

    def prox(self, params, step_size):
        return params | self.penalty.prox(self._select(params), step_size)

    @property
    def strengths(self):
        return self.penalty.strengths

    @property
    def smooth(self) -> bool:
        return self.penalty.smooth
