"""Linear regression, under-determined in the cases of interest."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.arrays import check_array
from latebloom.core.seeds import check_seed, generator
from latebloom.errors import InputError, check_count, check_number
from latebloom.problems.base import AbstractLinear


class LinearRegression(AbstractLinear):
    """Least squares `F(a) = |X a - y|² / 2` on data that you bring.

    Without a `truth` there is nothing to compare with: `test_error` is NaN and the run
    has no generalisation milestone.

    >>> import latebloom as lb
    >>> lb.problems.LinearRegression([[1.0, 1.0]], [2.0], init=[-1.0, 1.0]).init()
    Array([-1.,  1.], dtype=float64)
    """

    design: jax.Array
    targets: jax.Array
    truth: jax.Array
    start: jax.Array

    def __init__(self, design: Any, targets: Any, *, truth: Any = None, init: Any = None):
        design = check_array("design", design, ndim=2)
        targets = check_array("targets", targets, ndim=1)
        if len(targets) != len(design):
            raise InputError(f"targets has {len(targets)} entries and design {len(design)} rows: give one target a row")
        size = design.shape[1]
        truth = np.full(size, np.nan) if truth is None else check_array("truth", truth, ndim=1)
        init = np.zeros(size) if init is None else check_array("init", init, ndim=1)
        for what, vector in (("truth", truth), ("init", init)):
            if len(vector) != size:
                raise InputError(f"{what} has {len(vector)} entries and design {size} columns: give one a column")
        self.design, self.targets = jnp.asarray(design), jnp.asarray(targets)
        self.truth, self.start = jnp.asarray(truth), jnp.asarray(init)

    @classmethod
    def random(
        cls, *, features: int = 100, samples: int = 30, noise: float = 0.0, init_scale: float = 0.0, seed: int = 0
    ) -> LinearRegression:
        """Gaussian design N(0, 1/features), Gaussian truth, targets with noise of the given standard deviation."""
        features, samples = check_count("features", features), check_count("samples", samples)
        noise = check_number("noise", noise, least=0)
        init_scale = check_number("init_scale", init_scale, least=0)
        seed = check_seed(seed)
        scale = 1 / np.sqrt(features)
        design = scale * generator(seed, "measurements").normal(size=(samples, features))
        truth = scale * generator(seed, "truth").normal(size=features)
        targets = design @ truth + noise * generator(seed, "noise").normal(size=samples)
        init = init_scale * scale * generator(seed, "init").normal(size=features)
        return cls(design, targets, truth=truth, init=init)

    def init(self) -> jax.Array:
        return self.start

    @property
    def has_test(self) -> bool:
        return bool(jnp.isfinite(self.truth).all())
