"""The multiplication table: complete a matrix of rank one from a few of its entries."""

from __future__ import annotations

from dataclasses import KW_ONLY

import jax
import numpy as np

from latebloom.core import fields
from latebloom.core.arrays import Params
from latebloom.core.seeds import generator
from latebloom.errors import InputError
from latebloom.problems.matrix.entries import AbstractEntries, warn_unobserved
from latebloom.problems.matrix.factorisation import FORMS, INITS


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

    size: int = fields.count(default=97, least=2, note="d, rows and columns")
    fraction: float = fields.number(default=0.05, above=0, most=1, note="the share of entries that are observed")
    _: KW_ONLY
    form: str = fields.choice(FORMS, default="difference", static=True, note="of the parametrisation")
    init_kind: str = fields.choice(INITS, default="identity", static=True, note="how the start is drawn")
    init_scale: float = fields.number(default=10.0, least=0, note="α, the size of the start")
    init_noise: float = fields.number(default=0.0, least=0, note="σ, standard deviation of what is added to the start")
    shape: tuple[int, int] = fields.derived(static=True)
    weight: float = fields.derived()
    mask: jax.Array = fields.derived()
    values: jax.Array = fields.derived()
    truth: jax.Array = fields.derived()
    left: jax.Array | None = fields.derived()
    right: jax.Array | None = fields.derived()

    def derive(self):
        shape, count = (self.size, self.size), round(self.fraction * self.size**2)
        if count == 0:
            raise InputError(
                f"fraction={self.fraction!r} of the {self.size**2} entries is none: use at least {1 / self.size**2:.2g}"
            )
        parametrisation = self.parametrise(shape)
        parametrisation["start"] = self._perturbed(parametrisation["start"])
        factors = np.arange(self.size) / self.size
        truth = np.outer(factors, factors)
        mask = np.zeros(self.size**2, dtype=bool)
        mask[generator(self.seed, "measurements").permutation(self.size**2)[:count]] = True
        mask = mask.reshape(shape)
        informative = (mask if self.form == "product" else mask | mask.T) & (
            truth != 0
        )  # a zero says nothing of its row
        informative[0, 0] = True  # row and column 0 are zero, and zero without being observed
        warn_unobserved(informative)
        arrays = {"truth": truth, "mask": np.asarray(mask, dtype=float), "values": np.where(mask, truth, 0.0)}
        return parametrisation | arrays | {"shape": shape, "weight": 2 / count, "left": None, "right": None}

    def _perturbed(self, start: Params) -> Params:
        random = generator(self.seed, "perturbation")
        return jax.tree.map(lambda layer: layer + self.init_noise * random.normal(size=layer.shape), start)
