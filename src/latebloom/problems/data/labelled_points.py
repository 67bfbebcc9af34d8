"""Points with labels ±1, and how often a linear classifier is wrong on the distribution they come from."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.record import Record
from latebloom.core.seeds import generator
from latebloom.errors import InputError, check_count

# Test points that are converted to floats at a time, for one classifier and for many: the test set is kept in bytes.
BLOCK, MANY = 25, 200
# Gauss–Legendre on [0, 10] for the mean over |g| of a standard normal g: the integrand is analytic there.
NODES = 80
FARTHEST = 10.0


class AbstractPoints(Record):
    """n points `inputs` in d dimensions with `labels` ±1."""

    inputs: jax.Array | Any = fields.abstract()
    labels: jax.Array | Any = fields.abstract()

    @abstractmethod
    def test_error(self, weights: jax.Array) -> jax.Array:
        """The share of points on which `sign ⟨w, x⟩` is not the label; an output of zero is wrong."""

    def test_errors(self, weights: np.ndarray) -> np.ndarray:
        """The test errors of many classifiers, a row each."""
        return np.array([float(self.test_error(jnp.asarray(row))) for row in weights])

    @property
    def has_test(self) -> bool:
        """Whether there is a test set or a known distribution."""
        return True

    @property
    def signed(self) -> jax.Array:
        """`y_i x_i`, a row a point: `w` separates the data if all entries of `signed @ w` are positive."""
        return self.inputs * self.labels[:, None]


class LabelledPoints(AbstractPoints):
    """Your own points and labels, with a test set or none.

    >>> data = LabelledPoints([[1.0, 0.0], [-2.0, 1.0]], [1, -1])
    >>> data.signed.tolist()
    [[1.0, 0.0], [2.0, -1.0]]
    """

    inputs: jax.Array | Any = fields.array(ndim=2, note="x_i, a row a point")
    labels: jax.Array | Any = fields.array(ndim=1, note="y_i, +1 or -1")
    test_inputs: jax.Array | Any = fields.array(default=None, ndim=2, note="points to test on")
    test_labels: jax.Array | Any = fields.array(default=None, ndim=1, note="their labels")

    def derive(self):
        check_labelled(self.inputs, self.labels)
        if (self.test_inputs is None) != (self.test_labels is None):
            raise InputError("a test set needs test_inputs and test_labels: give both, or none")
        if self.test_inputs is not None:
            check_labelled(self.test_inputs, self.test_labels, "test_")
            if self.test_inputs.shape[1] != self.inputs.shape[1]:
                raise InputError(
                    f"test_inputs have {self.test_inputs.shape[1]} columns: they need {self.inputs.shape[1]}, "
                    "as many as inputs"
                )
        return {}

    def test_error(self, weights: jax.Array) -> jax.Array:
        if self.test_inputs is None or self.test_labels is None:
            return jnp.asarray(jnp.nan)
        return jnp.mean((self.test_inputs @ weights) * self.test_labels <= 0)

    @property
    def has_test(self) -> bool:
        return self.test_inputs is not None


class SparseSigns(AbstractPoints):
    """Points uniform in {±1}^d, labelled by the majority of `sparsity` of their coordinates (an odd number k).

    `y = sign ⟨w*, x⟩` where w* is ±1 on the first k coordinates and zero elsewhere. The test error is counted on
    `test_samples` points, kept in bytes (100 MB for a thousand points in 1e5 dimensions).

    >>> data = SparseSigns(dimension=50, samples=8, test_samples=100)
    >>> data.inputs.shape, float(data.test_error(data.truth)), float(data.test_error(-data.truth))
    ((8, 50), 0.0, 1.0)

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Section 3.2.3 and
    Appendix E.2, Figure 1a.
    """

    dimension: int = fields.count(default=100_000, static=True, note="d, coordinates of a point")
    samples: int = fields.count(default=256, static=True, note="n")
    _: KW_ONLY
    sparsity: int = fields.count(default=3, static=True, note="k, odd: coordinates that vote")
    test_samples: int = fields.count(default=1000, static=True, note="points to count errors on")
    seed: int = fields.seed(default=0, note="draws the truth and the points")
    inputs: jax.Array = fields.derived()
    labels: jax.Array = fields.derived()
    truth: jax.Array = fields.derived()
    test_inputs: jax.Array = fields.derived()
    test_labels: jax.Array = fields.derived()

    def derive(self):
        check_count("sparsity", self.sparsity, most=self.dimension)
        if self.sparsity % 2 == 0:
            raise InputError(
                f"sparsity={self.sparsity} is not allowed: a majority needs an odd number, e.g. {self.sparsity + 1}"
            )
        truth = np.zeros(self.dimension)
        truth[: self.sparsity] = _signs(generator(self.seed, "truth"), (self.sparsity,))
        inputs = _signs(generator(self.seed, "samples"), (self.samples, self.dimension))
        test = _signs(generator(self.seed, "test"), (self.test_samples, self.dimension))
        support = truth[: self.sparsity]
        return {
            "truth": truth,
            "inputs": np.asarray(inputs, float),
            "labels": np.sign(inputs[:, : self.sparsity] @ support),
            "test_inputs": test,
            "test_labels": np.sign(test[:, : self.sparsity] @ support),
        }

    def test_error(self, weights: jax.Array) -> jax.Array:
        outputs = jax.lax.map(lambda x: x.astype(weights.dtype) @ weights, self.test_inputs, batch_size=BLOCK)
        return jnp.mean(outputs * self.test_labels <= 0)

    def test_errors(self, weights: np.ndarray) -> np.ndarray:
        points, columns = np.asarray(self.test_inputs), weights.T.astype(np.float64)
        blocks = np.array_split(np.arange(len(points)), -(-len(points) // MANY))
        outputs = np.concatenate([points[block].astype(np.float64) @ columns for block in blocks])
        return np.mean(outputs * np.asarray(self.test_labels)[:, None] <= 0, axis=0)


class GaussianGap(AbstractPoints):
    """Gaussian points pushed apart by a gap: `x = z + (γ/2) y w*` with `z ~ N(0, I)` and `y = sign ⟨z, w*⟩`.

    w* is a unit vector drawn uniformly, the `margin` γ is the width of the empty band. The test error is exact: with
    `ρ` the cotangent of the angle between w and w*, a point is right with probability `E_g Φ(ρ (|g| + γ/2))`.

    >>> data = GaussianGap(dimension=50, samples=8, margin=25.0)
    >>> float(data.test_error(data.truth)), float(jnp.min(data.signed @ data.truth)) > 12.5
    (0.0, True)

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Section 3.2.3, Figure 1b.
    """

    dimension: int = fields.count(default=100_000, least=2, static=True, note="d, coordinates of a point")
    samples: int = fields.count(default=32, static=True, note="n")
    _: KW_ONLY
    margin: float = fields.number(default=25.0, least=0, note="γ, the width of the gap")
    seed: int = fields.seed(default=0, note="draws the truth and the points")
    inputs: jax.Array = fields.derived()
    labels: jax.Array = fields.derived()
    truth: jax.Array = fields.derived()

    def derive(self):
        truth = generator(self.seed, "truth").normal(size=self.dimension)
        truth /= np.linalg.norm(truth)
        inputs = generator(self.seed, "samples").normal(size=(self.samples, self.dimension))
        labels = np.sign(inputs @ truth)
        return {"inputs": inputs + 0.5 * self.margin * np.outer(labels, truth), "labels": labels, "truth": truth}

    def test_error(self, weights: jax.Array) -> jax.Array:
        along = weights @ self.truth
        across = jnp.linalg.norm(weights - along * self.truth)
        nodes, shares = half_normal()
        reach = along * (nodes + self.margin / 2) / jnp.where(across > 0, across, 1.0)
        wrong = jnp.sum(jax.scipy.stats.norm.cdf(-reach) * shares)
        exact = jnp.where(along > 0, 0.0, 1.0)  # no part across w*: every point has the sign of ⟨w, w*⟩
        return jnp.where(across > 1e-12 * jnp.abs(along), wrong, exact)


def half_normal() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of a quadrature for the mean over `|g|`, `g ~ N(0, 1)`.

    >>> nodes, shares = half_normal()
    >>> [round(float(shares @ nodes**power), 12) for power in (0, 2, 4)]
    [1.0, 1.0, 3.0]
    """
    nodes, shares = np.polynomial.legendre.leggauss(NODES)
    nodes = FARTHEST * (nodes + 1) / 2
    shares = shares * np.exp(-(nodes**2) / 2)
    return nodes, shares / shares.sum()


def check_labelled(points: Any, labels: Any, prefix: str = "") -> None:
    """Refuses points and labels that do not fit together, and labels that are not ±1."""
    signs = np.asarray(labels)
    if len(points) != len(signs):
        raise InputError(
            f"{len(points)} {prefix}inputs and {len(signs)} {prefix}labels do not fit: give a label for every row"
        )
    others = np.unique(signs[np.abs(signs) != 1])
    if len(others):
        hint = ": map them by 2*labels - 1" if set(others) == {0.0} else ": use +1 and -1"
        named = ", ".join(f"{value:g}" for value in others[:3])
        raise InputError(f"{prefix}labels contain {named}, but must be +1 or -1{hint}")


def _signs(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Fair signs in bytes, eight from a random byte."""
    count = int(np.prod(shape))
    bits = np.unpackbits(np.frombuffer(random.bytes(-(-count // 8)), dtype=np.uint8))[:count]
    return (2 * bits.astype(np.int8) - 1).reshape(shape)
