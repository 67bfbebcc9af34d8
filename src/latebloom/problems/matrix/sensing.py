"""Matrix sensing: find a matrix of low rank from linear measurements of it."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.record import DERIVED
from latebloom.core.seeds import generator
from latebloom.errors import InputError, check_choice, check_count, check_number
from latebloom.linalg.planted import assembled, completed, low_rank_factors
from latebloom.problems.base import check_snr
from latebloom.problems.matrix.base import AbstractMatrix, check_shape

SENSINGS = ("rank_one", "gaussian")
NORMALISATIONS = ("rows", "columns", "printed")


class MatrixSensing(AbstractMatrix):
    """Recovers a planted matrix of low rank from `y_i = <X_i, A*> + ξ_i`; loss `|X vec(A) - y|² / 2`.

    - `sensing`: "rank_one" `X_i = x_i z_iᵀ` with Gaussian vectors, or "gaussian" matrices.
    - `normalise`: measurements of unit norm on average ("rows"), the whole design times √(n1 n2/N) ("columns", columns
      of unit norm), or entries of x and z with standard deviations 1/n1 and 1/n2 ("printed": norm 1/√(n1 n2), where a
      penalty of 1e-4 already outweighs the data and nothing memorises).
    - `coherence` τ (rank_one only): the first min(⌊τN⌋, n1) vectors x are left singular vectors of the truth, the
      first min(⌊τN⌋, n2) vectors z right ones.
    - `truth_kind`, `truth_norm`, `form`, `depth`, `width`, `init_kind`, `init_scale`, `signal_to_noise` as for
      `MatrixCompletion`.

    >>> import latebloom as lb
    >>> lb.problems.MatrixSensing(shape=(4, 5), rank=1, measurements=12).design.shape
    (12, 20)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Section 3.2, Appendices D.2 and G.2.
    """

    shape: tuple[int, int] = eqx.field(static=True)
    rank: int
    measurements: int = eqx.field(static=True)
    sensing: str = eqx.field(static=True)
    normalise: str = eqx.field(static=True)
    coherence: float
    truth_kind: str = eqx.field(static=True)
    truth_norm: float
    signal_to_noise: float
    design: jax.Array = eqx.field(metadata=DERIVED)
    targets: jax.Array = eqx.field(metadata=DERIVED)
    truth: jax.Array = eqx.field(metadata=DERIVED)

    def __init__(
        self,
        shape: Any = (10, 10),
        rank: int = 2,
        measurements: int = 70,
        *,
        sensing: str = "rank_one",
        normalise: str = "rows",
        coherence: float = 0.0,
        truth_kind: str = "orthogonal",
        truth_norm: float = 1.0,
        signal_to_noise: float = np.inf,
        form: str = "product",
        depth: int | None = None,
        width: int | None = None,
        init_kind: str = "gaussian",
        init_scale: float = 1e-6,
        seed: int = 0,
    ):
        self.shape = check_shape(shape)
        self.rank = check_count("rank", rank)
        self.measurements = check_count("measurements", measurements)
        self.sensing = check_choice("sensing", sensing, SENSINGS)
        self.normalise = check_choice("normalise", normalise, NORMALISATIONS)
        self.coherence = check_number("coherence", coherence, least=0, most=1)
        if self.coherence > 0 and self.sensing != "rank_one":
            raise InputError(f"coherence={coherence} needs measurements x zᵀ: use sensing='rank_one' or coherence=0")
        self.truth_kind, self.truth_norm = truth_kind, check_number("truth_norm", truth_norm, above=0)
        self.signal_to_noise = check_snr(signal_to_noise)
        self._parametrise(form, depth, width, init_kind, init_scale, seed)
        u, sigma, v = low_rank_factors(
            self.shape, self.rank, truth_kind, norm=self.truth_norm, symmetric=self.form != "product", seed=self.seed
        )
        truth, design = assembled(u, sigma, v), self._draw_design(u, v)
        self.design, self.truth = jnp.asarray(design), jnp.asarray(truth)
        self.targets = jnp.asarray(design @ truth.ravel() + self._draw_noise())

    def _draw_design(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        count, size = self.measurements, self.shape[0] * self.shape[1]
        random, printed = generator(self.seed, "measurements"), self.normalise == "printed"
        if self.sensing == "gaussian":
            design = random.normal(size=(count, size)) / (size if printed else np.sqrt(size))
        else:
            sides = [random.normal(size=(count, n)) / (n if printed else np.sqrt(n)) for n in self.shape]
            coherent = int(self.coherence * count + 1e-9)  # 0.29 · 100 is 28.999…
            basis = generator(self.seed, "basis")
            for vectors, singular in zip(sides, (u, v), strict=True):
                vectors[: min(coherent, len(singular))] = completed(singular, basis).T[:coherent]
            design = np.einsum("ki,kj->kij", *sides).reshape(count, size)
        return design * np.sqrt(size / count) if self.normalise == "columns" else design

    def _draw_noise(self) -> np.ndarray:
        scale = self.truth_norm / np.sqrt(self.measurements * self.signal_to_noise)
        return scale * generator(self.seed, "noise").normal(size=self.measurements)
