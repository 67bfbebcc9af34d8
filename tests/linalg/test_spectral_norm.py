"""The smallest spectral norm of an affine family, against cvxpy and closed forms."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from latebloom.linalg.spectral_norm import smallest_spectral_norm


@pytest.mark.parametrize(("rows", "columns", "count"), [(3, 4, 2), (5, 2, 6), (6, 6, 20), (4, 4, 15)])
def test_independent_smallest_spectral_norm_against_cvxpy(rows, columns, count):
    random = np.random.default_rng(count)
    offset = random.normal(size=(rows, columns))
    flat = np.linalg.qr(random.normal(size=(rows * columns, count)))[0].T
    found = smallest_spectral_norm(offset, flat.reshape(count, rows, columns), tolerance=1e-8)
    z = cp.Variable(count)
    program = cp.Problem(cp.Minimize(cp.sigma_max(offset + cp.reshape(z @ flat, (rows, columns), order="C"))))
    assert found.upper == pytest.approx(program.solve(solver=cp.CLARABEL), rel=1e-6)  # cvxpy's tolerance
    assert 0 <= found.upper - found.lower <= 1e-8 * found.upper
    assert np.linalg.norm(found.point, 2) == pytest.approx(found.upper)
    np.testing.assert_allclose(flat @ found.witness.ravel(), 0, atol=1e-12 * np.abs(found.witness).max())


def test_closed_form_smallest_spectral_norm():
    alone = smallest_spectral_norm(np.diag([3.0, -4.0]), np.zeros((0, 2, 2)))
    assert (alone.lower, alone.upper) == (pytest.approx(4), 4)
    free = np.zeros((1, 2, 2))
    free[0, 1, 1] = 1.0
    # Completing a block: the smallest norm is that of the largest row or column that is known (Parrott).
    parrott = smallest_spectral_norm(np.array([[1.0, 2.0], [2.0, 0.0]]), free, tolerance=1e-9)
    assert parrott.upper == pytest.approx(np.sqrt(5), rel=1e-8)
    assert parrott.lower == pytest.approx(np.sqrt(5), rel=1e-8)
    everything = smallest_spectral_norm(np.ones((2, 2)), np.eye(4).reshape(4, 2, 2))
    assert (everything.lower, everything.upper) == (0, 0)
