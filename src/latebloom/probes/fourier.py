"""Probes of Fourier features: which circles an embedding of the residues modulo p is made of, and how they lie.

The features of an embedding E (p rows, a row a residue) are `F_k = (1/p) Σ_j e^{-2πi jk/p} E_j` for k = 1 … (p-1)/2:
two vectors a frequency, `Re F_k` and `Im F_k`, with an entry a hidden unit. Projected on their plane, the rows of E lie
on a circle. A random embedding already looks orderly by some of these measures, so each comes with its value for
independent Gaussian entries (`baseline`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.errors import CapabilityError, InputError, check_count
from latebloom.probes.base import AbstractProbe


def fourier_features(embedding: Any) -> jax.Array:
    """`Re F_1, Im F_1, Re F_2, …`: two rows a frequency, a column a hidden unit.

    >>> angles = 2 * np.pi * 2 * np.arange(7) / 7
    >>> fourier_features(np.column_stack([np.cos(angles), np.sin(angles)])).round(6)[2:4].tolist()
    [[0.5, 0.0], [-0.0, -0.5]]
    """
    embedding = jnp.asarray(embedding)
    modulus = len(embedding)
    angles = 2 * math.pi / modulus * jnp.outer(jnp.arange(1, frequencies(modulus) + 1), jnp.arange(modulus))
    waves = jnp.stack([jnp.cos(angles), -jnp.sin(angles)], axis=1).reshape(-1, modulus)
    return waves @ embedding / modulus


def frequencies(modulus: int) -> int:
    """How many circles there are: frequencies above p/2 are the same ones, and p/2 of an even p is none."""
    return (modulus - 1) // 2


def circle(embedding: Any, frequency: int) -> np.ndarray:
    """The rows of an embedding in the plane of `Re F_k` and `-Im F_k`, two coordinates a residue.

    With nothing but that frequency they lie on a circle, a residue `2πk/p` after the one before.

    >>> angles = 2 * np.pi * 2 * np.arange(5) / 5
    >>> rows = np.column_stack([3 * np.cos(angles), 3 * np.sin(angles), np.ones(5)])
    >>> bool(np.allclose(circle(rows, 2), rows[:, :2]))
    True
    """
    rows = np.asarray(embedding, float)
    if rows.ndim != 2:
        raise InputError(f"an embedding is a matrix with a row a residue: got an array of shape {rows.shape}")
    frequency, count = check_count("frequency", frequency), frequencies(len(rows))
    if frequency > count:
        raise InputError(f"frequency={frequency} is not allowed: {len(rows)} residues have frequencies 1 to {count}")
    real, imaginary = np.asarray(fourier_features(rows))[2 * frequency - 2 : 2 * frequency]
    axes = np.column_stack([real, -imaginary])
    sizes = np.linalg.norm(axes, axis=0)
    return rows @ (axes / np.where(sizes > 0, sizes, 1.0))


class AbstractFourierProbe(AbstractProbe):
    """A measure of the Fourier features of `part`, or of the parameters themselves if they are one matrix.

    Of a part other than `first` the column says so: `fourier_norms_of_embedding`.
    """

    tried_on = "'modular_net[modulus=7,width=24]'"
    part: str = fields.text(default="first", static=True, note="the name of the part that is an embedding")

    @property
    def column(self) -> str:
        return self.name() if self.part == "first" else f"{self.name()}_of_{self.part}"

    def _embedding(self, params: Any) -> Any:
        return params[self.part] if isinstance(params, dict) and self.part in params else params

    def check(self, problem, penalty):
        embedding = self._embedding(problem.init())
        if getattr(embedding, "ndim", 0) != 2 or len(embedding) < 3:
            raise CapabilityError(
                f"{type(self).__name__} needs an embedding with a row a residue (three or more) in part {self.part!r}; "
                f"{type(problem).__name__} has none there: name the part, or leave the probe out"
            )
        modulus = getattr(problem, "modulus", len(embedding))
        if len(embedding) != modulus:
            raise CapabilityError(
                f"{type(self).__name__} needs a row a residue, {modulus} of them; part {self.part!r} of "
                f"{type(problem).__name__} has {len(embedding)}: name one that is an embedding, or leave the probe out"
            )

    def measure(self, problem, penalty, params):
        return self.of(fourier_features(self._embedding(params)))

    @abstractmethod
    def of(self, features: jax.Array) -> jax.Array:
        """The measure, from the rows `Re F_1, Im F_1, …`."""

    @abstractmethod
    def baseline(self, modulus: int, width: int) -> Any:
        """What independent Gaussian entries give on average (`modulus` rows, `width` columns)."""


class FourierNorms(AbstractFourierProbe):
    """`|Re F_1|, |Im F_1|, |Re F_2|, …`: all equal for circles of one size and perfect aspect ratio."""

    def of(self, features):
        return jnp.linalg.norm(features, axis=1)

    def baseline(self, modulus: int, width: int) -> float:
        """For entries of variance 1, up to terms of order 1/width."""
        return math.sqrt(width / (2 * modulus))


class FourierPower(AbstractFourierProbe):
    """`|F_k|²` over its sum, a number a frequency: the spectrum of the embedding, 1 where all of it is one circle."""

    def of(self, features):
        return power_shares(features)

    def baseline(self, modulus: int, width: int) -> float:
        """All frequencies alike."""
        return 1 / frequencies(modulus)


class FourierCount(AbstractFourierProbe):
    """How many frequencies hold the power, `1 / Σ share²`: 1 for one circle, all if they are alike, 0 without power."""

    def of(self, features):
        alike = jnp.sum(power_shares(features) ** 2)
        return jnp.where(alike > 0, 1 / alike, 0.0)

    def baseline(self, modulus: int, width: int) -> float:
        """Powers are sums of 2 · width squares, their relative variance is 1/width; up to terms of order 1/K."""
        return frequencies(modulus) / (1 + 1 / width)


class FourierSpread(AbstractFourierProbe):
    """The standard deviation of the norms over their mean: 0 if they are equal."""

    def of(self, features):
        norms = jnp.linalg.norm(features, axis=1)
        return jnp.std(norms) / jnp.mean(norms)

    def baseline(self, modulus: int, width: int) -> float:
        """That of the chi distribution with `width` degrees of freedom, by its mean; a finite sample is lower."""
        mean = math.sqrt(2) * math.exp(math.lgamma((width + 1) / 2) - math.lgamma(width / 2))
        return math.sqrt(width / mean**2 - 1)


class _Pairs(AbstractFourierProbe):
    """A pair of means over cosines between rows: within a frequency (Re with Im), and across frequencies."""

    def _means(self, features: jax.Array) -> jax.Array:
        cosines = jnp.abs(cosine_matrix(features))
        count = len(features) // 2
        within = jnp.mean(jnp.diagonal(cosines[::2, 1::2]))
        blocks = jnp.sum(cosines.reshape(count, 2, count, 2), axis=(1, 3))
        across = (jnp.sum(blocks) - jnp.trace(blocks)) / max(4 * count * (count - 1), 1)
        return jnp.stack([within, across])


class FourierCosines(_Pairs):
    """Mean |cos| between features: within a frequency (Re with Im), and across frequencies; 0, 0 if orthogonal."""

    def of(self, features):
        return self._means(features)

    def baseline(self, modulus: int, width: int) -> float:
        """Both: the mean |cos| of two random directions, `√(2/(π width))` up to terms of order 1/width."""
        return math.exp(math.lgamma(width / 2) - math.lgamma((width + 1) / 2)) / math.sqrt(math.pi)


class FourierOverlaps(_Pairs):
    """Mean cosine between the *absolute values* of features, within a frequency and across: 1 on the same units.

    0 across frequencies if every circle has hidden units of its own.
    """

    def of(self, features):
        return self._means(jnp.abs(features))

    def baseline(self, modulus: int, width: int) -> float:
        """Both: 2/π up to terms of order 1/width, as for two Gaussian vectors; also what a circle has within.

        Entries cos(φ) and sin(φ) with even phases give `mean |cos sin| / mean cos² = 2/π` too: a circle does not make
        its two absolute values more alike than chance.
        """
        return 2 / math.pi


class DominatedUnits(AbstractFourierProbe):
    """The share of hidden units of which one frequency holds more than half of the power (`|F_k|²`, k > 0)."""

    def of(self, features):
        power = jnp.sum(features.reshape(-1, 2, features.shape[1]) ** 2, axis=1)
        total = jnp.sum(power, axis=0)
        return jnp.sum(jnp.max(power, axis=0) > 0.5 * total) / features.shape[1]

    def baseline(self, modulus: int, width: int) -> float:
        """K frequencies of exponential power: one holds more than half with probability `K / 2^(K-1)`."""
        return min(1.0, frequencies(modulus) / 2 ** (frequencies(modulus) - 1))


def power_shares(features: jax.Array) -> jax.Array:
    """The share of every frequency in the power of all, from the rows `Re F_1, Im F_1, …`; 0 for no power at all."""
    power = jnp.sum(features.reshape(len(features) // 2, -1) ** 2, axis=1)
    total = jnp.sum(power)
    return power / jnp.where(total > 0, total, 1.0)


def cosine_matrix(rows: jax.Array) -> jax.Array:
    """The cosines between rows; 0 with a row of zeros."""
    norms = jnp.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / jnp.where(norms > 0, norms, 1.0)
    return unit @ unit.T
