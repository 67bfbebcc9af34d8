"""Sparse recovery: find an s-sparse vector from N < n linear measurements."""

from __future__ import annotations

from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.record import DERIVED
from latebloom.core.seeds import check_seed, generator
from latebloom.errors import InputError, check_choice, check_count, check_number
from latebloom.linalg.planted import orthonormal
from latebloom.problems.base import AbstractLinear, check_snr

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

    dimension: int = eqx.field(static=True)
    sparsity: int
    measurements: int = eqx.field(static=True)
    signal_to_noise: float
    coherence: float
    normalise: str = eqx.field(static=True)
    basis: str = eqx.field(static=True)
    depth: int = eqx.field(static=True)
    init_kind: str = eqx.field(static=True)
    init_scale: float
    seed: int
    design: jax.Array = eqx.field(metadata=DERIVED)
    targets: jax.Array = eqx.field(metadata=DERIVED)
    truth: jax.Array = eqx.field(metadata=DERIVED)
    noise: jax.Array = eqx.field(metadata=DERIVED)
    start: jax.Array = eqx.field(metadata=DERIVED)

    def __init__(
        self,
        dimension: int = 100,
        sparsity: int = 5,
        measurements: int = 30,
        *,
        signal_to_noise: float = 1e8,
        coherence: float = 0.0,
        normalise: str = "columns",
        basis: str = "random",
        depth: int = 1,
        init_kind: str = "gaussian",
        init_scale: float = 1e-6,
        seed: int = 0,
    ):
        self.dimension = check_count("dimension", dimension)
        self.sparsity = check_count("sparsity", sparsity)
        if self.sparsity > self.dimension:
            raise InputError(
                f"sparsity={sparsity} is more than dimension={dimension}: use a sparsity between 1 and {dimension}"
            )
        self.measurements = check_count("measurements", measurements)
        self.signal_to_noise = check_snr(signal_to_noise)
        self.coherence = check_number("coherence", coherence, least=0, most=1)
        self.normalise = check_choice("normalise", normalise, NORMALISATIONS)
        self.basis = check_choice("basis", basis, BASES)
        self.depth = check_count("depth", depth)
        self.init_kind = check_choice("init_kind", init_kind, INITS)
        self.init_scale = check_number("init_scale", init_scale, least=0)
        self.seed = check_seed(seed)
        basis_matrix = _basis(self.basis, self.dimension, self.seed)
        design = self._measurement_matrix(basis_matrix) @ basis_matrix
        truth = self._draw_truth()
        noise = self._draw_noise()
        self.design, self.truth, self.noise = jnp.asarray(design), jnp.asarray(truth), jnp.asarray(noise)
        self.targets = jnp.asarray(design @ truth + noise)
        self.start = jnp.asarray(self._draw_start())

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
