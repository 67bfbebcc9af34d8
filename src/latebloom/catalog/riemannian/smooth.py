"""Problems that meet the paper's assumptions: linear regression, a hyperbola, a tanh network; and one that does not."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Settings
from latebloom.catalog.small_completion import SmallCompletion
from latebloom.core.fields import count, numbers

LINEAR, TOY, NET = "linear regression", "hyperbola", "tanh network"
COMPLETION = "completion"  # its zero-loss set is a manifold but for the points that have lost rank
CROSS = "crossing axes"  # w1 w2 = 0, of which the least norm is where they cross
SMOOTH = (LINEAR, TOY, NET)


class SmoothSettings(Settings):
    """The sizes of the problems."""

    features: int = count(default=6, note="of the linear regression, with Gaussian data")
    samples: int = count(default=3, note="of the linear regression")
    toy_start: tuple[float, ...] = numbers(default=(0.3, 2.5), note="on the way to the hyperbola w1 w2 = 1")
    units: int = count(default=4, note="of the network Σ a tanh(bx + c)")
    points: int = count(default=2, note="that the network fits, of the sine over [-1, 2]")

    def problem(self, name) -> Any:
        """A problem by its name."""
        if name == LINEAR:
            sizes = {"features": self.features, "samples": self.samples}
            return lb.problems.LinearRegression.random(**sizes, init_scale=3.0, seed=self.seed)
        if name in (TOY, CROSS):
            return lb.problems.ToyModel("curved" if name == TOY else "singular", init=self.toy_start)
        if name == NET:
            return tanh_network(self.units, self.points, self.seed)
        return SmallCompletion(seed=self.seed).problem()


@lru_cache(maxsize=32)
def tanh_network(units, points, seed):
    """Σ a tanh(bx + c) on some points of the sine, from a standard Gaussian start."""
    import jax.numpy as jnp

    across = np.linspace(-1.0, 2.0, points)
    start = np.random.default_rng(seed).standard_normal((3, units))

    def residuals(weights):
        a, b, c = weights
        return jnp.tanh(jnp.outer(across, b) + c) @ a - np.sin(across)

    return lb.problems.LeastSquares(
        residuals, start, name=f"tanh {units} units, {points} points of the sine over [-1, 2]"
    )
