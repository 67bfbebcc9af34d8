"""The diagonal linear network on a series of waves: forms, the printed series, recovery and the Lasso at the end."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from cases import diagonal_net

import latebloom as lb
from latebloom.problems.vector.diagonal_net import FORMS, DiagonalNet


@pytest.mark.parametrize("form", FORMS)
def test_the_loss_is_the_mean_square_over_two(form):
    """The paper's `1/(2n) Σ`, from the predictions at the samples."""
    problem = diagonal_net(form=form)
    values = problem.function(problem.truth, problem.points)
    gaps = np.asarray(problem.predict(problem.init(), problem.points) - values)
    assert float(problem.loss(problem.init())) == pytest.approx(np.mean(gaps**2) / 2, rel=1e-12)


def test_the_series_is_the_printed_one():
    problem, x = DiagonalNet(), np.linspace(-1, 1, 7)
    expected = 1 + np.cos(6 * np.pi * x / 2) + np.sin(21 * np.pi * x / 2)
    np.testing.assert_allclose(problem.function(problem.truth, x), expected, atol=1e-13)
    assert problem.design.shape == (12, 61)
    assert float(jnp.abs(problem.points).max()) <= 1


def test_forms_agree_in_rotated_coordinates():
    """`u v = (p² - q²) / 2` with p, q the rotation of u, v by 45 degrees."""
    u, v = params = diagonal_net().init()
    rotated = jnp.stack([u + v, u - v]) / np.sqrt(2)
    product, difference = diagonal_net(form="product"), diagonal_net(form="difference")
    np.testing.assert_allclose(product.end_to_end(params), difference.end_to_end(rotated) / 2, rtol=1e-12, atol=1e-15)


def test_the_start_has_its_variance():
    """122 entries: relative deviation of a variance √(2/N), 4 sigma."""
    assert float(jnp.var(DiagonalNet().init())) == pytest.approx(0.1, rel=4 * np.sqrt(2 / 122))


def test_the_start_does_not_change_the_data():
    np.testing.assert_array_equal(diagonal_net().design, diagonal_net(init_variance=3.0, form="difference").design)


def test_basis_pursuit_recovers_most_draws():
    """Rung 3: about 84 % of draws; 24 draws allow for 3 sigma below."""
    problems = [DiagonalNet(seed=seed) for seed in range(24)]
    assert np.mean([lb.oracles.recovers(lb.oracles.basis_pursuit(p), p.truth) for p in problems]) >= 0.62


def test_the_flow_ends_at_the_lasso():
    """Rung 2: the minimiser of `F + λ/2 |w|²` is the Lasso solution of strength λ, by another algorithm."""
    problem = diagonal_net(init_variance=0.1)
    end = lb.flow(problem, weight_decay=1e-2, time=1e5, progress=False).params
    oracle = lb.oracles.lasso(problem, 1e-2).solution
    np.testing.assert_allclose(problem.end_to_end(end), oracle, atol=1e-6)
