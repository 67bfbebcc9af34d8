"""Sparse linear regression by a diagonal linear network, with Gaussian data and a start at which the output is zero."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.record import DERIVED
from latebloom.core.seeds import check_seed, generator
from latebloom.errors import InputError, check_count, check_number
from latebloom.problems.base import AbstractLinear


class DiagonalRegression(AbstractLinear):
    """`f(x) = ⟨a, x⟩` with `a = u^L - v^L` (powers entry by entry) and L = `depth`; loss `Σ (f(x_i) - y_i)² / n`.

    The n `samples` are N(0, I) in d dimensions, the labels noiseless values of a `sparsity`-sparse truth with entries
    ±1. Parameters have shape (2, d), start at `init_scale` everywhere, and the network is zero there. The recovery
    error `|a - a*| / |a*|` is the root of the population loss over that of the zero function.

    The loss being a mean, the design matrix is `√(2/n)` times the data.

    >>> import latebloom as lb
    >>> problem = lb.problems.DiagonalRegression(dimension=20, samples=10, sparsity=2)
    >>> problem.design.shape, problem.init().shape, float(problem.test_error(problem.init()))
    ((10, 20), (2, 20), 1.0)

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Sections 3.2.3 and 3.3,
    Appendix B.2.
    """

    dimension: int = eqx.field(static=True)
    samples: int = eqx.field(static=True)
    sparsity: int
    depth: int = eqx.field(static=True)
    init_scale: float
    seed: int
    design: jax.Array = eqx.field(metadata=DERIVED)
    targets: jax.Array = eqx.field(metadata=DERIVED)
    truth: jax.Array = eqx.field(metadata=DERIVED)

    def __init__(
        self,
        dimension: int = 60,
        samples: int = 30,
        sparsity: int = 3,
        *,
        depth: int = 2,
        init_scale: float = 1.0,
        seed: int = 0,
    ):
        self.dimension, self.samples = check_count("dimension", dimension), check_count("samples", samples)
        self.sparsity = check_count("sparsity", sparsity)
        if self.sparsity > self.dimension:
            raise InputError(
                f"sparsity={sparsity} is more than dimension={dimension}: use a sparsity between 1 and {dimension}"
            )
        self.depth = check_count("depth", depth, least=2)
        self.init_scale, self.seed = check_number("init_scale", init_scale, above=0), check_seed(seed)
        truth, random = np.zeros(self.dimension), generator(self.seed, "truth")
        truth[random.permutation(self.dimension)[: self.sparsity]] = random.choice([-1.0, 1.0], size=self.sparsity)
        data = generator(self.seed, "samples").normal(size=(self.samples, self.dimension))
        design = np.sqrt(2 / self.samples) * data
        self.design, self.truth, self.targets = jnp.asarray(design), jnp.asarray(truth), jnp.asarray(design @ truth)

    def init(self) -> jax.Array:
        return jnp.full((2, self.dimension), self.init_scale, dtype=float)

    def end_to_end(self, params: jax.Array) -> jax.Array:
        u, v = params
        return u**self.depth - v**self.depth

    def gradient(self, params: jax.Array) -> jax.Array:
        slope = self.residuals(params) @ self.design
        u, v = params
        return self.depth * slope * jnp.stack([u ** (self.depth - 1), -(v ** (self.depth - 1))])

    @property
    def label_scale(self) -> float:
        return (2 / self.samples) ** 0.5

    @property
    def degree(self) -> int:
        return self.depth

    @property
    def linear(self) -> bool:
        return False
