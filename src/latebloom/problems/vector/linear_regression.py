"""Linear regression, under-determined in the cases of interest."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
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

    example = "linear_regression[((1 1)),(2),truth=(1 1)]"
    design: jax.Array | Any = fields.array(ndim=2, note="X, a row a measurement")
    targets: jax.Array | Any = fields.array(ndim=1, note="y")
    _: KW_ONLY
    truth: jax.Array | Any = fields.array(default=None, ndim=1, note="a*, if it is known")
    start: jax.Array | Any = fields.array(default=None, alias="init", ndim=1, note="where training starts; None for 0")

    def derive(self):
        rows, size = self.design.shape
        if len(self.targets) != rows:
            raise InputError(f"targets has {len(self.targets)} entries and design {rows} rows: give one target a row")
        truth = np.full(size, np.nan) if self.truth is None else self.truth
        start = np.zeros(size) if self.start is None else self.start
        for what, vector in (("truth", truth), ("init", start)):
            if len(vector) != size:
                raise InputError(f"{what} has {len(vector)} entries and design {size} columns: give one a column")
        return {"truth": truth, "start": start}

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
