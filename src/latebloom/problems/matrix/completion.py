"""Matrix completion: find a matrix of low rank from some of its entries."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any

import jax
import numpy as np

from latebloom.core import fields
from latebloom.core.seeds import generator
from latebloom.errors import InputError
from latebloom.linalg.planted import TRUTHS, assembled, low_rank_factors, orthonormal
from latebloom.problems.matrix.base import shape_field
from latebloom.problems.matrix.entries import AbstractEntries, warn_unobserved

BASES = ("identity", "random")


class MatrixCompletion(AbstractEntries):
    """Recovers a planted matrix of low rank from `observed` of its entries; loss `Σ (A_ij - y_ij)² / 2`.

    - `truth_kind`: "orthogonal" (all singular values `truth_norm / √rank`) or "gaussian" factors; Frobenius norm
      `truth_norm`; positive semi-definite for the symmetric forms.
    - `coherence` τ: the ⌊τN⌋ entries with the highest leverage `μ_i + ν_j` are observed first, the others uniformly.
    - `basis`: entries in the standard basis ("identity") or in "random" orthonormal ones, `u_iᵀ A v_j`.
    - `form`, `depth`, `width`: the matrix itself, `A1 A2 ... AL` (a width alone means `U Vᵀ`), "symmetric" `W Wᵀ` or
      "difference" `U Uᵀ - V Vᵀ` (see `Factorisation`).
    - `init_kind`: entries N(0, `init_scale`²) ("gaussian"), `init_scale` times the "identity", or "zeros".
    - `signal_to_noise`: `|A*|² / E|ξ|²`; `inf` for no noise.
    - `weight`: of the squares in the loss, over 2: 1 for half their sum, 2 for their sum, 2/observed for their mean.

    A row or column that is never observed cannot be recovered: `UnobservedWarning`.

    >>> import latebloom as lb
    >>> problem = lb.problems.MatrixCompletion(shape=(20, 20), rank=3, observed=200, width=10, init_scale=1.0)
    >>> {name: layer.shape for name, layer in problem.init().items()}, int(problem.mask.sum())
    ({'A1': (20, 10), 'A2': (10, 20)}, 200)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Section 3.2, Appendices F.2 and G.2.
    """

    shape: tuple[int, int] | Any = fields.own(
        shape_field, default=(10, 10), kind="shape", static=True, note="rows and columns"
    )
    rank: int = fields.count(default=2, note="r, of the truth")
    observed: int = fields.count(default=70, note="N, entries that are observed")
    _: KW_ONLY
    truth_kind: str = fields.choice(TRUTHS, default="orthogonal", static=True, note="how the truth is drawn")
    truth_norm: float = fields.number(default=1.0, above=0, note="|A*|, Frobenius")
    coherence: float = fields.number(default=0.0, least=0, most=1, note="τ, share of entries of highest leverage")
    basis: str = fields.choice(BASES, default="identity", static=True, note="in which entries are observed")
    signal_to_noise: float = fields.number(
        default=math.inf, above=0, infinite=True, note="|A*|² / E|ξ|²; inf for no noise"
    )
    weight: float = fields.number(default=1.0, above=0, note="of the squares in the loss, over 2")
    mask: jax.Array = fields.derived()
    values: jax.Array = fields.derived()
    truth: jax.Array = fields.derived()
    left: jax.Array | None = fields.derived()
    right: jax.Array | None = fields.derived()

    def derive(self):
        rows, columns = self.shape
        if self.observed > rows * columns:
            raise InputError(
                f"observed={self.observed} is more than the {rows * columns} entries of a matrix of shape "
                f"{self.shape}: use at most that many"
            )
        parametrisation = self.parametrise(self.shape)
        symmetric = self.form != "product"
        truth = assembled(
            *low_rank_factors(
                self.shape, self.rank, self.truth_kind, norm=self.truth_norm, symmetric=symmetric, seed=self.seed
            )
        )
        left, right = self._draw_bases()
        seen = truth if left is None or right is None else left.T @ truth @ right
        mask = self._draw_mask(seen)
        warn_unobserved(mask)
        values = np.where(mask, seen + self._draw_noise(), 0.0)
        return parametrisation | {
            "truth": truth,
            "mask": np.asarray(mask, dtype=float),
            "values": values,
            "left": left,
            "right": right,
        }

    def _draw_bases(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        if self.basis == "identity":
            return None, None
        random = generator(self.seed, "basis")
        left, right = (orthonormal(random.normal(size=(side, side))) for side in self.shape)
        return left, right

    def _draw_mask(self, seen: np.ndarray) -> np.ndarray:
        """The entries of highest leverage first, the others by a uniform draw without replacement."""
        size = seen.size
        order = generator(self.seed, "measurements").permutation(size)
        first = int(self.coherence * self.observed + 1e-9)  # 0.29 · 100 is 28.999…
        if first:
            highest = np.argsort(-_leverage(seen, self.rank).ravel(), kind="stable")[:first]
            order = np.concatenate([highest, order[~np.isin(order, highest)]])
        mask = np.zeros(size, dtype=bool)
        mask[order[: self.observed]] = True
        return mask.reshape(self.shape)

    def _draw_noise(self) -> np.ndarray:
        scale = self.truth_norm / np.sqrt(self.observed * self.signal_to_noise)
        return scale * generator(self.seed, "noise").normal(size=self.shape)


def _leverage(matrix: np.ndarray, rank: int) -> np.ndarray:
    """`μ_i + ν_j` for every entry, from the singular vectors of the matrix."""
    u, _, vt = np.linalg.svd(matrix)
    rows = len(u) / rank * np.sum(u[:, :rank] ** 2, axis=1)
    columns = len(vt) / rank * np.sum(vt[:rank] ** 2, axis=0)
    return rows[:, None] + columns[None, :]
