"""Sparse linear regression by a diagonal linear network, with Gaussian data and a start at which the output is zero."""

from __future__ import annotations

from dataclasses import KW_ONLY

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.seeds import generator
from latebloom.problems.base import AbstractLinear
from latebloom.problems.vector.sparse_recovery import check_sparsity


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

    dimension: int = fields.count(default=60, static=True, note="d, entries of an input")
    samples: int = fields.count(default=30, static=True, note="n")
    sparsity: int = fields.count(default=3, note="s, entries of the truth that are not zero")
    _: KW_ONLY
    depth: int = fields.count(default=2, least=2, static=True, note="L")
    init_scale: float = fields.number(default=1.0, above=0, note="α, every entry of u and v at the start")
    seed: int = fields.seed(default=0, note="draws truth and samples")
    design: jax.Array = fields.derived()
    targets: jax.Array = fields.derived()
    truth: jax.Array = fields.derived()

    def derive(self):
        check_sparsity(self.sparsity, self.dimension)
        truth, random = np.zeros(self.dimension), generator(self.seed, "truth")
        truth[random.permutation(self.dimension)[: self.sparsity]] = random.choice([-1.0, 1.0], size=self.sparsity)
        data = generator(self.seed, "samples").normal(size=(self.samples, self.dimension))
        design = np.sqrt(2 / self.samples) * data
        return {"design": design, "truth": truth, "targets": design @ truth}

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
