"""Quadratic programs over non-negative vectors, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from latebloom.linalg.nonnegative import nonnegative_quadratic


@pytest.mark.parametrize(("count", "size"), [(12, 30), (40, 9), (25, 25)])
def test_independent_quadratic_against_nnls(count, size):
    """`|Zᵀλ - w|²/2` over λ ≥ 0."""
    random = np.random.default_rng(count)
    rows, target = random.normal(size=(count, size)), random.normal(size=size)
    mine = nonnegative_quadratic(rows @ rows.T, rows @ target)
    theirs, distance = nnls(rows.T, target)
    assert np.linalg.norm(rows.T @ mine - target) == pytest.approx(distance, rel=1e-8, abs=1e-9)
    assert mine.min() >= 0
    if count <= size:  # otherwise λ is not unique
        np.testing.assert_allclose(mine, theirs, atol=1e-7)
