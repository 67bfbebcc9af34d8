"""A diagonal linear network on Fourier features: find a sparse series from a few samples of its sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.seeds import generator
from latebloom.errors import InputError, check_count
from latebloom.problems.base import AbstractLinear

FORMS = ("product", "difference")
DOMAIN = 1.0  # samples are uniform in [-1, 1], a half of the features' period


class DiagonalNet(AbstractLinear):
    """`f(x) = ⟨a, φ(x)⟩` with `a = u ⊙ v`; loss `Σ (f(x_i) - y_i)² / 2n`, so the design is `φ(x_i) / √n`.

    `φ(x) = [1, cos(πx/2), …, cos(πdx/2), sin(πx/2), …, sin(πdx/2)]` with d `frequencies`, the `samples` x_i are uniform
    in [-1, 1], and the targets are noiseless values of `Σ cos(πkx/2) + Σ sin(πkx/2)` over `cosines` and `sines` (the
    cosine of frequency 0 is the constant). Parameters have shape (2, 2d + 1), entries N(0, `init_variance`).

    - `form`: "product" `u ⊙ v`, as in the experiment, or "difference" `u ⊙ u - v ⊙ v`, as in Proposition 5.

    The test measure is the recovery error `|a - a*| / |a*|`, which is that of the function over a period, [-2, 2].

    >>> import latebloom as lb
    >>> problem = DiagonalNet(frequencies=8, samples=6, cosines=(0, 2), sines=(5,))
    >>> problem.design.shape, problem.init().shape, int((problem.truth != 0).sum())
    ((6, 17), (2, 17), 3)
    >>> problem.function(problem.truth, [0.0, 1.0]).round(6).tolist()  # 1 + cos πx + sin 5πx/2
    [2.0, 1.0]

    Source: "A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation",
    Appendices C and D.2, Figure 4.
    """

    frequencies: int = fields.count(default=30, static=True, note="d, cosines and sines of the network")
    samples: int = fields.count(default=12, static=True, note="n")
    _: KW_ONLY
    cosines: tuple[int, ...] = fields.own(
        default=(0, 6), kind="numbers", static=True, note="frequencies of the cosines in the target"
    )
    sines: tuple[int, ...] = fields.own(
        default=(21,), kind="numbers", static=True, note="frequencies of the sines in the target"
    )
    form: str = fields.choice(FORMS, default="product", static=True, note="u ⊙ v, or u ⊙ u - v ⊙ v")
    init_variance: float = fields.number(default=0.1, least=0, note="of the entries of u and v at the start")
    seed: int = fields.seed(default=0, note="draws samples and start")
    points: jax.Array = fields.derived()
    design: jax.Array = fields.derived()
    targets: jax.Array = fields.derived()
    truth: jax.Array = fields.derived()
    start: jax.Array = fields.derived()

    def derive(self):
        cosines = _terms("cosines", self.cosines, least=0, most=self.frequencies)
        sines = _terms("sines", self.sines, least=1, most=self.frequencies)
        truth = np.zeros(self.dimension)
        truth[list(cosines)] = 1.0
        truth[[self.frequencies + k for k in sines]] = 1.0
        points = np.sort(generator(self.seed, "samples").uniform(-DOMAIN, DOMAIN, size=self.samples))
        design = np.asarray(self._features(points)) / np.sqrt(self.samples)
        draw = generator(self.seed, "init").normal(size=(2, self.dimension))
        start = np.sqrt(self.init_variance) * draw
        arrays = {"points": points, "truth": truth, "design": design, "targets": design @ truth, "start": start}
        return {"cosines": cosines, "sines": sines, **arrays}

    @property
    def dimension(self) -> int:
        """The number of features, 2d + 1."""
        return 2 * self.frequencies + 1

    def _features(self, points: Any) -> jax.Array:
        angles = jnp.pi / 2 * jnp.outer(jnp.asarray(points), jnp.arange(1, self.frequencies + 1))
        return jnp.concatenate([jnp.ones((len(angles), 1)), jnp.cos(angles), jnp.sin(angles)], axis=1)

    def function(self, vector: Any, points: Any) -> jax.Array:
        """The series with these coefficients at some points."""
        return self._features(points) @ vector

    def predict(self, params: jax.Array, points: Any) -> jax.Array:
        """What the network says at some points."""
        return self.function(self.end_to_end(params), points)

    def init(self) -> jax.Array:
        return self.start

    def end_to_end(self, params: jax.Array) -> jax.Array:
        u, v = params
        return u * v if self.form == "product" else u * u - v * v

    def gradient(self, params: jax.Array) -> jax.Array:
        gradient = (self.design @ self.end_to_end(params) - self.targets) @ self.design
        u, v = params
        return gradient * (jnp.stack([v, u]) if self.form == "product" else jnp.stack([2 * u, -2 * v]))

    @property
    def label_scale(self) -> float:
        return self.samples**-0.5

    @property
    def degree(self) -> int:
        return 2

    @property
    def linear(self) -> bool:
        return False


def _terms(what: str, value: Sequence[int], *, least: int, most: int) -> tuple[int, ...]:
    """The frequencies of a series, in order, each once."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InputError(f"{what}={value!r} is not allowed: {what} must be a tuple of frequencies, e.g. ({most},)")
    terms = tuple(sorted(check_count(what, k, least=least, most=most) for k in value))
    if len(set(terms)) < len(terms):
        raise InputError(f"{what}={value!r} names a frequency twice: give every frequency once")
    return terms
