"""A diagonal linear network on Fourier features: find a sparse series from a few samples of its sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.record import DERIVED
from latebloom.core.seeds import check_seed, generator
from latebloom.errors import InputError, check_choice, check_count, check_number
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

    frequencies: int = eqx.field(static=True)
    samples: int = eqx.field(static=True)
    cosines: tuple[int, ...] = eqx.field(static=True)
    sines: tuple[int, ...] = eqx.field(static=True)
    form: str = eqx.field(static=True)
    init_variance: float
    seed: int
    points: jax.Array = eqx.field(metadata=DERIVED)
    design: jax.Array = eqx.field(metadata=DERIVED)
    targets: jax.Array = eqx.field(metadata=DERIVED)
    truth: jax.Array = eqx.field(metadata=DERIVED)
    start: jax.Array = eqx.field(metadata=DERIVED)

    def __init__(
        self,
        frequencies: int = 30,
        samples: int = 12,
        *,
        cosines: Sequence[int] = (0, 6),
        sines: Sequence[int] = (21,),
        form: str = "product",
        init_variance: float = 0.1,
        seed: int = 0,
    ):
        self.frequencies = check_count("frequencies", frequencies)
        self.samples = check_count("samples", samples)
        self.cosines = _terms("cosines", cosines, least=0, most=self.frequencies)
        self.sines = _terms("sines", sines, least=1, most=self.frequencies)
        self.form = check_choice("form", form, FORMS)
        self.init_variance = check_number("init_variance", init_variance, least=0)
        self.seed = check_seed(seed)
        truth = np.zeros(self.dimension)
        truth[list(self.cosines)] = 1.0
        truth[[self.frequencies + k for k in self.sines]] = 1.0
        points = np.sort(generator(self.seed, "samples").uniform(-DOMAIN, DOMAIN, size=self.samples))
        design = np.asarray(self._features(points)) / np.sqrt(self.samples)
        draw = generator(self.seed, "init").normal(size=(2, self.dimension))
        self.points, self.truth, self.design = jnp.asarray(points), jnp.asarray(truth), jnp.asarray(design)
        self.targets = jnp.asarray(design @ truth)
        self.start = jnp.asarray(np.sqrt(self.init_variance) * draw)

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
