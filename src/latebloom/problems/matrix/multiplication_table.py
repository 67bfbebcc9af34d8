"""The multiplication table: complete a matrix of rank one from a few of its entries."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.record import DERIVED
from latebloom.core.seeds import generator
from latebloom.errors import InputError, check_count, check_number
from latebloom.problems.matrix.entries import AbstractEntries, warn_unobserved


class MultiplicationTable(AbstractEntries):
    """Completes the d x d table `A_ij = i j / d²`, i and j from 0 to d - 1; loss: the mean of squares over the entries.

    A share `fraction` of the d² ordered pairs (i, j) is observed, drawn without replacement, so that (i, j) can be
    observed without (j, i). Row and column 0 of the table are zero and need no observation; any other of which no entry
    but that zero is observed cannot be recovered: `UnobservedWarning`. In the symmetric forms (j, i) stands for (i, j).

    - `form`, `depth`, `width`, `init_kind`: as in `MatrixCompletion`; by default `U Uᵀ - V Vᵀ` with d x d factors that
      start at `init_scale` times the identity, at which the matrix is zero.
    - `init_noise` σ: N(0, σ²) is added to every entry of the factors.

    >>> import latebloom as lb
    >>> problem = lb.problems.MultiplicationTable(size=10, fraction=0.5)
    >>> int(problem.mask.sum()), float(problem.truth[2, 3])
    (50, 0.06)
    >>> float(abs(problem.end_to_end(problem.init())).max())
    0.0

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Section 3.3.3, Figure 3.
    """

    size: int
    fraction: float
    init_noise: float
    shape: tuple[int, int] = eqx.field(static=True, metadata=DERIVED)
    weight: float = eqx.field(metadata=DERIVED)
    mask: jax.Array = eqx.field(metadata=DERIVED)
    values: jax.Array = eqx.field(metadata=DERIVED)
    truth: jax.Array = eqx.field(metadata=DERIVED)
    left: jax.Array | None = eqx.field(metadata=DERIVED)
    right: jax.Array | None = eqx.field(metadata=DERIVED)

    def __init__(
        self,
        size: int = 97,
        fraction: float = 0.05,
        *,
        form: str = "difference",
        depth: int | None = None,
        width: int | None = None,
        init_kind: str = "identity",
        init_scale: float = 10.0,
        init_noise: float = 0.0,
        seed: int = 0,
    ):
        self.size = check_count("size", size, least=2)
        self.fraction = check_number("fraction", fraction, above=0, most=1)
        self.init_noise = check_number("init_noise", init_noise, least=0)
        count = round(self.fraction * self.size**2)
        if count == 0:
            raise InputError(
                f"fraction={fraction!r} of the {self.size**2} entries is none: use at least {1 / self.size**2:.2g}"
            )
        self.shape, self.weight, self.left, self.right = (self.size, self.size), 2 / count, None, None
        self._parametrise(form, depth, width, init_kind, init_scale, seed)
        self._perturb()
        factors = np.arange(self.size) / self.size
        truth = np.outer(factors, factors)
        mask = np.zeros(self.size**2, dtype=bool)
        mask[generator(self.seed, "measurements").permutation(self.size**2)[:count]] = True
        mask = mask.reshape(self.shape)
        informative = (mask if self.form == "product" else mask | mask.T) & (
            truth != 0
        )  # a zero says nothing of its row
        informative[0, 0] = True  # row and column 0 are zero, and zero without being observed
        warn_unobserved(informative)
        self.truth, self.mask = jnp.asarray(truth), jnp.asarray(mask, dtype=float)
        self.values = jnp.asarray(np.where(mask, truth, 0.0))

    def _perturb(self) -> None:
        random = generator(self.seed, "perturbation")
        moved = lambda layer: layer + self.init_noise * random.normal(size=layer.shape)  # noqa: E731
        self.start = jax.tree.map(moved, self.start)
