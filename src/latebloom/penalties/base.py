"""What a penalty is: a value, a subgradient, and, where it has a closed form, a prox."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp

from latebloom.core.record import Record
from latebloom.errors import CapabilityError


class AbstractPenalty(Record):
    """`strength · h(w)`, summed over the arrays of a parameter pytree."""

    tried_on = "sparse_recovery"  # what `latebloom penalties` shows it with

    @abstractmethod
    def value(self, params) -> jax.Array:
        """The penalty at `params`, strength included."""

    @abstractmethod
    def subgradient(self, params) -> Any:
        """One element of the subdifferential at `params`, strength included."""

    @property
    @abstractmethod
    def strengths(self) -> tuple[float, ...]:
        """The strength of every term, for the slow clock `strength · time`."""

    @property
    def has_prox(self) -> bool:
        """Whether `prox` has a closed form."""
        return True

    def prox(self, params, step_size) -> Any:
        """`argmin_v |v - w|² / 2 + step_size · penalty(v)`."""
        raise CapabilityError(
            f"ProximalGradient needs a penalty with a prox; {self!r} has none: use GradientDescent instead"
        )

    @property
    def smooth(self) -> bool:
        """Whether it has a gradient everywhere, as a flow needs it."""
        return False

    def check(self, params: Any) -> None:
        """Raises if the penalty cannot be put on such parameters."""

    def __add__(self, other: AbstractPenalty) -> AbstractPenalty:
        from latebloom.penalties.sum import Sum

        return Sum(self, other)


def over_leaves(function, params) -> jax.Array:
    """The sum of `function(leaf)` over the arrays of `params`."""
    return sum((function(leaf) for leaf in jax.tree.leaves(params)), start=jnp.zeros(()))
