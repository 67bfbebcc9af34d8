"""Stochastic gradient descent with label noise."""

from __future__ import annotations

from dataclasses import KW_ONLY

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.methods.base import AbstractMethod
from latebloom.problems.base import require_least_squares

BATCHES = ("one", "full")


class LabelNoise(AbstractMethod):
    """`w ← w - learning_rate · (∇F̃(w) + H(w))`, with fresh noise `ξ = noise · N(0, 1)` on the labels at every step.

    `F̃` is the loss on one sample drawn uniformly, n times its share of F (`batch="one"`: for a mean square,
    `(f(x_i) - y_i + ξ)²`), or on all of them, with noise on each (`batch="full"`). H is a subgradient of the penalty,
    if there is one. The draws come from a key in the method's memory that is made of `seed`: a run repeats to the bit.

    `noise` is in the units of the labels; a problem's `label_scale` says what these are in its residuals.

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Appendix B.2, Eq. 6.

    >>> LabelNoise(1e-3, seed=4)
    LabelNoise(learning_rate=0.001, noise=1, batch='one', seed=4)
    """

    example = "label_noise[0.001,noise=0.1]"
    learning_rate: float = fields.number(above=0, note="η, the size of a step")
    _: KW_ONLY
    noise: float = fields.number(default=1.0, least=0, note="σ, the standard deviation of the noise on a label")
    batch: str = fields.choice(BATCHES, default="one", static=True, note="one sample a step, or all")
    seed: int = fields.seed(default=0, note="draws samples and noise")

    def check(self, problem, penalty):
        require_least_squares(problem, "LabelNoise")

    def init(self, problem, penalty, params):
        return jax.random.key_data(jax.random.key(jnp.asarray(self.seed, dtype=jnp.uint64)))

    def step(self, problem, penalty, params, state):
        key, sample_key, noise_key = jax.random.split(jax.random.wrap_key_data(state), 3)
        residuals, pull_back = jax.vjp(problem.residuals, params)
        cotangent = self.cotangent(residuals, problem.label_scale, sample_key, noise_key)
        slope = pull_back(cotangent)[0]
        if penalty is not None:
            slope = jax.tree.map(lambda g, h: g + h, slope, penalty.subgradient(params))
        return jax.tree.map(lambda w, g: w - self.learning_rate * g, params, slope), jax.random.key_data(key)

    def cotangent(self, residuals, scale, sample_key, noise_key):
        """What the residuals are weighted with in this step's gradient."""
        count = len(residuals)
        if self.batch == "full":
            return residuals + self.noise * scale * jax.random.normal(noise_key, (count,), residuals.dtype)
        index = jax.random.randint(sample_key, (), 0, count)
        noisy = residuals[index] + self.noise * scale * jax.random.normal(noise_key, (), residuals.dtype)
        return jnp.zeros(count, residuals.dtype).at[index].set(count * noisy)
