"""Weight decay with a strength of its own for every parameter."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.errors import InputError
from latebloom.penalties.base import AbstractPenalty

SPELT_OUT = 64  # weights that a text can carry and still be read by a person


class WeightedL2(AbstractPenalty):
    """`strength/2 · Σ_j weights_j w_j²` on parameters that are one array, of a shape that `weights` broadcasts to.

    >>> import jax.numpy as jnp
    >>> WeightedL2(0.5, [1.0, 3.0]).subgradient(jnp.array([2.0, 2.0])).tolist()
    [1.0, 3.0]
    """

    example = "weighted_l2[1e-3,(1 4)]"
    tried_on = "'linear_regression[((1 1)),(2),truth=(1 1)]'"
    strength: float = fields.number(least=0, note="λ, the weight decay where a weight is 1")
    weights: jax.Array | Any = fields.array(note="a factor of the strength for every parameter")

    def derive(self):
        if (self.weights < 0).any():
            raise InputError(f"weights has a negative entry, {self.weights.min():g}: weights must be at least 0")
        return {}

    def identity(self) -> dict[str, Any]:
        """Few weights stand in the text as they are, so that it can be read back; of many there is a digest."""
        spelt = self.weights if self.weights.size > SPELT_OUT else np.asarray(self.weights).tolist()
        return {"strength": self.strength, "weights": spelt}

    def check(self, params):
        leaves = jax.tree.leaves(params)
        shapes = [np.shape(leaf) for leaf in leaves]
        try:
            fits = len(leaves) == 1 and np.broadcast_shapes(self.weights.shape, shapes[0]) == shapes[0]
        except ValueError:
            fits = False
        if not fits:
            raise InputError(
                f"weights has shape {self.weights.shape} and the parameters {', '.join(map(str, shapes))}: "
                "give one weight a parameter, for parameters that are one array"
            )

    def value(self, params):
        (array,) = jax.tree.leaves(params)
        return 0.5 * self.strength * jnp.sum(self.weights * array**2)

    def subgradient(self, params):
        return jax.tree.map(lambda w: self.strength * self.weights * w, params)

    def prox(self, params, step_size):
        return jax.tree.map(lambda w: w / (1 + step_size * self.strength * self.weights), params)

    @property
    def strengths(self):
        return (self.strength,)

    @property
    def smooth(self) -> bool:
        return True
