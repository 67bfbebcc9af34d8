"""The path of the parameters."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from latebloom.errors import CapabilityError
from latebloom.probes.base import AbstractProbe

LARGEST = 10_000  # numbers a record: 450 records of more than that are tens of megabytes a run


class Trajectory(AbstractProbe):
    """All parameters as one vector, leaf after leaf in the order of the tree: the column `parameters`.

    >>> import jax.numpy as jnp
    >>> Trajectory().measure(None, None, {"a": jnp.ones((1, 2)), "b": jnp.zeros(1)}).tolist()
    [1.0, 1.0, 0.0]
    """

    @property
    def column(self) -> str:
        return "parameters"

    def check(self, problem, penalty):
        count = sum(leaf.size for leaf in jax.tree.leaves(problem.init()))
        if count > LARGEST:
            raise CapabilityError(
                f"Trajectory keeps every parameter at every record; {type(problem).__name__} has {count:,}, "
                f"more than {LARGEST:,}: use Norm or DistanceTo"
            )

    def measure(self, problem, penalty, params):
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(params)])
