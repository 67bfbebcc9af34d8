"""What a probe is: one named number, or short vector, read off a state while it runs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp

from latebloom.core.arrays import Params
from latebloom.core.record import Record
from latebloom.penalties import AbstractPenalty
from latebloom.problems import AbstractProblem


class AbstractProbe(Record):
    """One column of a run (or one matrix, for a vector)."""

    tried_on = "sparse_recovery"  # what `latebloom probes` shows it with

    @property
    def column(self) -> str:
        """The name of the column."""
        return self.name()

    # `problem` is Any here: what a probe needs beyond AbstractProblem, its `check` has asked for.
    @abstractmethod
    def measure(self, problem: Any, penalty: AbstractPenalty | None, params: Params) -> jax.Array:
        """The number at these parameters."""

    def check(self, problem: AbstractProblem, penalty: AbstractPenalty | None) -> None:
        """Raises `CapabilityError` if there is nothing to measure here."""


def total_norm(params: Params, order: float = 2) -> jax.Array:
    """The norm of all parameters as one vector."""
    leaves = [leaf.ravel() for leaf in jax.tree.leaves(params)]
    flat = leaves[0] if len(leaves) == 1 else jnp.concatenate(leaves)
    return jnp.sum(jnp.abs(flat)) if order == 1 else jnp.linalg.norm(flat)
