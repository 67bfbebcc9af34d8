"""Norms of the weight matrices of a network, all of them or one part."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.errors import CapabilityError, unknown_name
from latebloom.probes.base import AbstractProbe, total_norm

KINDS = ("l1", "l2", "nuclear")


class WeightNorm(AbstractProbe):
    """A norm of the weights: l1, l2, or the sum of the nuclear norms of the matrices.

    - `part`: the name of one part, e.g. "embedding"; None for all matrices, which leaves out biases.

    >>> import jax.numpy as jnp
    >>> params = {"layer": 3.0 * jnp.eye(2), "bias": jnp.ones(2)}
    >>> [round(float(WeightNorm(kind).measure(None, None, params)), 6) for kind in KINDS]
    [6.0, 4.242641, 6.0]
    >>> WeightNorm("nuclear").column, WeightNorm("l1", "layer").column
    ('nuclear_norm_of_weights', 'l1_norm_of_layer')

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Figure 1 (bottom) and Appendix H.3.
    """

    tried_on = "'embedding_mlp[modulus=7,width=8]'"
    kind: str = fields.choice(KINDS, default="l2", static=True, what="norm", note="which norm")
    part: str | None = fields.text(default=None, static=True, note="the name of one part; None for all matrices")

    @property
    def column(self) -> str:
        return f"{self.kind}_norm_of_{self.part or 'weights'}"

    def check(self, problem, penalty):
        chosen = self._chosen(problem.init())
        if not chosen or (self.kind == "nuclear" and any(leaf.ndim != 2 for leaf in chosen)):
            raise CapabilityError(
                f"{self!r} needs matrices and {type(problem).__name__} has none there: name a part that is one, or "
                "leave the probe out"
            )

    def _chosen(self, params: Any) -> list[jax.Array]:
        if self.part is None:
            return [leaf for leaf in jax.tree.leaves(params) if leaf.ndim == 2]
        if not isinstance(params, dict):
            raise CapabilityError(f"{self!r} needs parameters in a dictionary of parts: leave the part out")
        if self.part not in params:
            raise unknown_name("part", self.part, params)
        return jax.tree.leaves(params[self.part])

    def measure(self, problem, penalty, params):
        chosen = self._chosen(params)
        if self.kind == "nuclear":
            return jnp.sum(jnp.stack([jnp.sum(jnp.linalg.svd(leaf, compute_uv=False)) for leaf in chosen]))
        return total_norm(chosen, 1 if self.kind == "l1" else 2)
