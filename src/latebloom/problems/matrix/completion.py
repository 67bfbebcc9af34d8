"""Matrix completion: find a matrix of low rank from some of its entries."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.record import DERIVED
from latebloom.core.seeds import generator
from latebloom.errors import InputError, check_choice, check_count, check_number
from latebloom.linalg.planted import assembled, low_rank_factors, orthonormal
from latebloom.problems.base import check_snr
from latebloom.problems.matrix.base import check_shape
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

    shape: tuple[int, int] = eqx.field(static=True)
    rank: int
    observed: int
    truth_kind: str = eqx.field(static=True)
    truth_norm: float
    coherence: float
    basis: str = eqx.field(static=True)
    signal_to_noise: float
    weight: float
    mask: jax.Array = eqx.field(metadata=DERIVED)
    values: jax.Array = eqx.field(metadata=DERIVED)
    truth: jax.Array = eqx.field(metadata=DERIVED)
    left: jax.Array | None = eqx.field(metadata=DERIVED)
    right: jax.Array | None = eqx.field(metadata=DERIVED)

    def __init__(
        self,
        shape: Any = (10, 10),
        rank: int = 2,
        observed: int = 70,
        *,
        truth_kind: str = "orthogonal",
        truth_norm: float = 1.0,
        coherence: float = 0.0,
        basis: str = "identity",
        signal_to_noise: float = np.inf,
        weight: float = 1.0,
        form: str = "product",
        depth: int | None = None,
        width: int | None = None,
        init_kind: str = "gaussian",
        init_scale: float = 1e-6,
        seed: int = 0,
    ):
        self.shape = check_shape(shape)
        self.rank = check_count("rank", rank)
        self.observed = check_count("observed", observed)
        if self.observed > self.shape[0] * self.shape[1]:
            raise InputError(
                f"observed={observed} is more than the {self.shape[0] * self.shape[1]} entries of a matrix of shape "
                f"{self.shape}: use at most that many"
            )
        self.truth_kind, self.truth_norm = truth_kind, check_number("truth_norm", truth_norm, above=0)
        self.coherence = check_number("coherence", coherence, least=0, most=1)
        self.basis = check_choice("basis", basis, BASES)
        self.signal_to_noise = check_snr(signal_to_noise)
        self.weight = check_number("weight", weight, above=0)
        self._parametrise(form, depth, width, init_kind, init_scale, seed)
        u, sigma, v = low_rank_factors(
            self.shape, self.rank, truth_kind, norm=self.truth_norm, symmetric=self.form != "product", seed=self.seed
        )
        truth = assembled(u, sigma, v)
        left, right = self._draw_bases()
        seen = truth if left is None or right is None else left.T @ truth @ right
        mask = self._draw_mask(seen)
        warn_unobserved(mask)
        self.truth, self.mask = jnp.asarray(truth), jnp.asarray(mask, dtype=float)
        self.values = jnp.asarray(np.where(mask, seen + self._draw_noise(), 0.0))
        self.left, self.right = jax.tree.map(jnp.asarray, (left, right))

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
