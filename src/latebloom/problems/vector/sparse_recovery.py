"""Sparse recovery: find an s-sparse vector from N < n linear measurements."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.seeds import generator
from latebloom.errors import InputError
from latebloom.linalg.planted import orthonormal
from latebloom.problems.base import AbstractLinear

BASES = ("random", "identity", "cosine")
NORMALISATIONS = ("columns", "rows")
INITS = ("gaussian", "sphere", "constant", "zeros")


class SparseRecovery(AbstractLinear):
    """Recovers `a*` with `sparsity` non-zeros from `y = M Φ a* + ξ`; loss `|X a - y|² / 2` with `X = M Φ`.

    `a = A_1 ⊙ ... ⊙ A_L` with `depth` L (linear if L = 1, Eq. 118 otherwise), parameters of
    shape (n,) or (L, n). The truth is planted, so the test measure is the recovery error.

    - `coherence` τ: the first ⌊τN⌋ measurements are columns of the basis Φ, the others are N(0, 1/n).
    - `normalise`: measurements are N(0, 1/n), as the paper prints them ("rows": rows of unit norm on average), or the
      whole matrix times √(n/N) ("columns": columns of unit norm, the convention of compressed sensing). The slow phase
      does not see the difference; memorisation is n/N times slower with "rows", and its floor as much higher.
    - `signal_to_noise`: `E|a*|² / E|ξ|²`, with `E|a*|² = s/n`; `inf` for no noise.
    - `basis`: "random" orthonormal, "identity" or "cosine".
    - `init`: "gaussian" `ζ N(0, 1/n)`, "sphere" (Gaussian direction, norm ζ), "constant" (ζ everywhere:
      keeps `a ≥ 0` at even depth), "zeros"; ζ is `init_scale`.

    >>> import latebloom as lb
    >>> problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=10)
    >>> problem.design.shape, int((problem.truth != 0).sum())
    ((10, 20), 2)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Section 3.1, Appendices F.1 and G.1.
    """

    dimension: int = fields.count(default=100, static=True, note="n, entries of the vector")
    sparsity: int = fields.count(default=5, note="s, entries of the truth that are not zero")
    measurements: int = fields.count(default=30, static=True, note="N")
    _: KW_ONLY
    signal_to_noise: float = fields.number(default=1e8, above=0, infinite=True, note="E|a*|² / E|ξ|²; inf for no noise")
    coherence: float = fields.number(default=0.0, least=0, most=1, note="τ, share of measurements from the basis")
    normalise: str = fields.choice(NORMALISATIONS, default="columns", static=True, note="what has unit norm")
    basis: str = fields.choice(BASES, default="random", static=True, note="Φ")
    depth: int = fields.count(default=1, static=True, note="L, factors of the vector")
    init_kind: str = fields.choice(INITS, default="gaussian", static=True, note="how the start is drawn")
    init_scale: float = fields.number(default=1e-6, least=0, note="ζ, the size of the start")
    seed: int = fields.seed(default=0, note="draws truth, measurements, noise and start")
    design: jax.Array = fields.derived()
    targets: jax.Array = fields.derived()
    truth: jax.Array = fields.derived()
    noise: jax.Array = fields.derived()
    start: jax.Array = fields.derived()

    def derive(self):
        check_sparsity(self.sparsity, self.dimension)
        basis_matrix = _basis(self.basis, self.dimension, self.seed)
        design = self._measurement_matrix(basis_matrix) @ basis_matrix
        truth, noise = self._draw_truth(), self._draw_noise()
        targets = design @ truth + noise
        return {"design": design, "truth": truth, "noise": noise, "targets": targets, "start": self._draw_start()}

    def _measurement_matrix(self, basis_matrix: np.ndarray) -> np.ndarray:
        shape = (self.measurements, self.dimension)
        matrix = generator(self.seed, "measurements").normal(size=shape) / np.sqrt(self.dimension)
        coherent = min(int(self.coherence * self.measurements + 1e-9), self.dimension)  # 0.29 · 100 is 28.999…
        matrix[:coherent] = basis_matrix[:, :coherent].T
        return matrix * np.sqrt(self.dimension / self.measurements) if self.normalise == "columns" else matrix

    def _draw_truth(self) -> np.ndarray:
        random = generator(self.seed, "truth")
        support = random.permutation(self.dimension)[: self.sparsity]
        truth = np.zeros(self.dimension)
        truth[support] = random.normal(size=self.sparsity) / np.sqrt(self.dimension)
        return truth

    def _draw_noise(self) -> np.ndarray:
        variance = self.sparsity / self.dimension / self.measurements / self.signal_to_noise
        return np.sqrt(variance) * generator(self.seed, "noise").normal(size=self.measurements)

    def _draw_start(self) -> np.ndarray:
        shape = (self.dimension,) if self.depth == 1 else (self.depth, self.dimension)
        if self.init_kind == "zeros":
            return np.zeros(shape)
        if self.init_kind == "constant":
            return np.full(shape, self.init_scale)
        draw = generator(self.seed, "init").normal(size=shape) / np.sqrt(self.dimension)
        if self.init_kind == "sphere":
            draw = draw / np.linalg.norm(draw, axis=-1, keepdims=True)
        return self.init_scale * draw

    def init(self) -> jax.Array:
        return self.start

    def end_to_end(self, params: jax.Array) -> jax.Array:
        return params if self.depth == 1 else _product(list(params))

    def gradient(self, params: jax.Array) -> jax.Array:
        gradient = (self.design @ self.end_to_end(params) - self.targets) @ self.design
        if self.depth == 1:
            return gradient
        layers = list(params)
        others = [_product(layers[:k] + layers[k + 1 :]) for k in range(self.depth)]
        return jnp.stack(others) * gradient

    @property
    def degree(self) -> int:
        return self.depth

    @property
    def linear(self) -> bool:
        return self.depth == 1

    @property
    def support(self) -> jax.Array:
        """Which entries of the truth are non-zero."""
        return self.truth != 0


def check_sparsity(sparsity: int, dimension: int) -> None:
    """Refuses more non-zeros than there are entries."""
    if sparsity > dimension:
        raise InputError(
            f"sparsity={sparsity} is more than dimension={dimension}: use a sparsity between 1 and {dimension}"
        )


@lru_cache(maxsize=8)  # a grid of problems shares its draws, and a QR decomposition is most of the cost of one
def _basis(kind: str, size: int, seed: int) -> np.ndarray:
    if kind == "identity":
        return np.eye(size)
    if kind == "cosine":
        import scipy.fft

        return np.asarray(scipy.fft.idct(np.eye(size), norm="ortho", axis=0))
    return orthonormal(generator(seed, "basis").normal(size=(size, size)))


def _product(layers: list[jax.Array]) -> jax.Array:
    product = layers[0]
    for layer in layers[1:]:
        product = product * layer
    return product
