"""Matrix sensing: find a matrix of low rank from linear measurements of it."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any

import jax
import numpy as np

from latebloom.core import fields
from latebloom.core.seeds import generator
from latebloom.errors import InputError
from latebloom.linalg.planted import TRUTHS, assembled, completed, low_rank_factors
from latebloom.problems.matrix.base import AbstractMatrix, shape_field

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

    shape: tuple[int, int] | Any = fields.own(
        shape_field, default=(10, 10), kind="shape", static=True, note="n1 and n2, rows and columns"
    )
    rank: int = fields.count(default=2, note="r, of the truth")
    measurements: int = fields.count(default=70, static=True, note="N")
    _: KW_ONLY
    sensing: str = fields.choice(SENSINGS, default="rank_one", static=True, note="what is measured with")
    normalise: str = fields.choice(NORMALISATIONS, default="rows", static=True, note="what has unit norm")
    coherence: float = fields.number(default=0.0, least=0, most=1, note="τ, share of singular vectors of the truth")
    truth_kind: str = fields.choice(TRUTHS, default="orthogonal", static=True, note="how the truth is drawn")
    truth_norm: float = fields.number(default=1.0, above=0, note="|A*|, Frobenius")
    signal_to_noise: float = fields.number(
        default=math.inf, above=0, infinite=True, note="|A*|² / E|ξ|²; inf for no noise"
    )
    design: jax.Array = fields.derived()
    targets: jax.Array = fields.derived()
    truth: jax.Array = fields.derived()

    def derive(self):
        if self.coherence > 0 and self.sensing != "rank_one":
            raise InputError(
                f"coherence={self.coherence} needs measurements x zᵀ: use sensing='rank_one' or coherence=0"
            )
        parametrisation, symmetric = self.parametrise(self.shape), self.form != "product"
        u, sigma, v = low_rank_factors(
            self.shape, self.rank, self.truth_kind, norm=self.truth_norm, symmetric=symmetric, seed=self.seed
        )
        truth, design = assembled(u, sigma, v), self._draw_design(u, v)
        targets = design @ truth.ravel() + self._draw_noise()
        return parametrisation | {"design": design, "truth": truth, "targets": targets}

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
