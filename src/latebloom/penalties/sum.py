"""A sum of penalties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.errors import InputError
from latebloom.penalties.base import AbstractPenalty
from latebloom.penalties.l1 import L1
from latebloom.penalties.l2 import L2
from latebloom.penalties.l2_norm import L2Norm
from latebloom.penalties.nuclear_norm import NuclearNorm


class Sum(AbstractPenalty):
    """`h_1 + h_2 + ...`, written `L1(1e-5) + L2(1e-3)`.

    It has a prox where one is known exactly: with one l1 or one nuclear term and any radial terms (`L2`,
    then `L2Norm`) the prox is their composition, the first term first (the elastic net, the sparse group lasso).

    >>> (L1(1e-5) + L2(1e-3)).text
    'sum[terms=(l1[strength=1e-05] l2[strength=0.001])]'
    """

    example = "sum[l1[1e-5],l2[1e-3]]"
    terms: tuple[AbstractPenalty, ...] = fields.rest(
        fields.record_of(AbstractPenalty, "a Sum adds penalties, not {value}: write e.g. L1(1e-5) + L2(1e-3)"),
        note="the penalties to add, two or more",
    )

    if TYPE_CHECKING:

        def __init__(self, *terms: AbstractPenalty): ...

    def derive(self):
        if len(self.terms) < 2:
            raise InputError(f"a Sum needs two terms or more, got {len(self.terms)}: use the penalty itself")
        flat: list[AbstractPenalty] = []
        for term in self.terms:
            flat += term.terms if isinstance(term, Sum) else (term,)
        return {"terms": tuple(flat)}

    def __repr__(self) -> str:
        return " + ".join(repr(term) for term in self.terms)

    def check(self, params):
        for term in self.terms:
            term.check(params)

    def value(self, params):
        return sum((term.value(params) for term in self.terms), start=jnp.zeros(()))

    def subgradient(self, params):
        parts = [term.subgradient(params) for term in self.terms]
        return jax.tree.map(lambda *leaves: sum(leaves[1:], start=leaves[0]), *parts)

    @property
    def has_prox(self) -> bool:
        kinds = [type(term) for term in self.terms]
        once = all(kinds.count(kind) == 1 for kind in kinds)
        return once and set(kinds) <= {L1, NuclearNorm, L2, L2Norm} and not {L1, NuclearNorm} <= set(kinds)

    def prox(self, params, step_size):
        if not self.has_prox:
            return super().prox(params, step_size)
        # prox(φ + ψ) = prox_ψ ∘ prox_φ when ψ is radial and φ positively homogeneous: l1 or the nuclear norm, then the
        # l2 norm. The squared norm only scales the quadratic: prox_c(h + s/2|.|²)(w) = prox_{c/(1+cs)}(h)(w/(1+cs)).
        by_kind = {type(term): term for term in self.terms}
        if L2 in by_kind:
            scale = 1 + step_size * by_kind[L2].strengths[0]
            params = jax.tree.map(lambda w: w / scale, params)
            step_size = step_size / scale
        for kind in (L1, NuclearNorm, L2Norm):
            if kind in by_kind:
                params = by_kind[kind].prox(params, step_size)
        return params

    @property
    def strengths(self):
        return tuple(s for term in self.terms for s in term.strengths)

    @property
    def smooth(self) -> bool:
        return all(term.smooth for term in self.terms)
