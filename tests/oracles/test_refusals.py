"""Oracles refuse what they cannot answer for, in one sentence."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from cases import sparse
from refusals import Refusal, refusals

from latebloom.errors import CapabilityError, InputError
from latebloom.oracles import (
    basis_pursuit,
    kernel_margin,
    lasso,
    least_squares,
    max_kernel_margin,
    max_l1_margin,
    max_l2_margin,
    min_norm,
    min_nuclear_norm,
    recovers,
    ridge,
)
from latebloom.problems import (
    LabelledPoints,
    LeastSquares,
    LinearRegression,
    MatrixSensing,
    ModularClassifier,
    ObservedEntries,
)

LINE = LinearRegression([[1.0, 2.0]], [3.0])
OWN = LeastSquares(lambda w: w - 1.0, np.zeros(2))
NET = ModularClassifier(5, 40, train_share=0.7, seed=2)
OFF = {name: -jnp.ones_like(leaf) for name, leaf in NET.init().items()}  # no unit is on, there are no features
CONTRADICTION = ObservedEntries((2, 2), [(0, 1), (1, 0)], [1.0, 2.0])


def _ridge(problem: Any) -> Any:
    return ridge(problem, 1.0)


REFUSED = [
    (lasso, (sparse(), 0), "strength=0 is not allowed"),
    (ridge, (sparse(), -1), "weight_decay=-1 is not allowed"),
    (least_squares, (sparse(), np.zeros(3)), "start has 3 entries and design 20 columns"),
    (recovers, (min_norm(sparse()), np.full(20, np.nan)), "truth has 20 entries that are NaN"),
    (max_l2_margin, LabelledPoints([[0.0]], [1]), "all inputs are zero"),
    (max_kernel_margin, (NET, OFF), "all tangent features are zero"),
    (min_nuclear_norm, {"problem": CONTRADICTION, "symmetric": True}, "no symmetric matrix fits"),
]
UNABLE = [
    *(
        (oracle, OWN, "needs a problem with a design matrix and targets; LeastSquares has none")
        for oracle in (least_squares, min_norm, basis_pursuit, _ridge)
    ),
    (max_l1_margin, LINE, "max_l1_margin needs points with labels"),
    (max_kernel_margin, sparse(), "max_kernel_margin needs a classifier …SparseRecovery is none"),
    (min_nuclear_norm, LINE, "min_nuclear_norm needs a problem that measures a matrix"),
    (
        min_nuclear_norm,
        {"problem": MatrixSensing(), "symmetric": True},
        "symmetric=True needs observed entries of a square matrix",
    ),
]


@refusals({InputError: REFUSED, CapabilityError: UNABLE})
def test_what_has_no_answer_is_refused(refusal: Refusal):
    refusal.check()


def test_a_kernel_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(kernel_margin, "MOST", 50)
    with pytest.raises(InputError, match=r"72 x 72 .* use a smaller modulus"):
        max_kernel_margin(NET)
