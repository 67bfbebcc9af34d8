"""Łojasiewicz constants, local and global."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from latebloom.problems import LeastSquares, LinearRegression
from latebloom.theory import (
    cl_constant_linear,
    is_r_cl,
    local_cl_constant,
    smallest_cl_radius,
)

PRODUCT = LeastSquares(lambda w: jnp.array([w[0] * w[1] - 1.0]), jnp.array([1.0, 2.0]))


def test_closed_form_cl_constant_is_a_tight_lower_bound():
    problem = LinearRegression.random(features=8, samples=4, seed=0)
    chi = cl_constant_linear(problem)
    assert local_cl_constant(problem, problem.init(), 3.0).estimate >= chi
    left = np.linalg.svd(np.asarray(problem.design))[0][:, -1]
    point = jnp.asarray(np.linalg.pinv(problem.design) @ (np.asarray(problem.targets) + left))
    assert local_cl_constant(problem, point, 0.0, samples=1).at_point == pytest.approx(chi, rel=1e-10)


def test_closed_form_local_constant_of_a_product():
    """g = (uv - 1)²/2 has |∇g|²/g = 2(u² + v²), so the infimum over a ball is known."""
    found = local_cl_constant(PRODUCT, jnp.array([1.0, 2.0]), 1.0, samples=4000)
    exact = 2 * (np.sqrt(5) - 1) ** 2
    assert found.at_point == pytest.approx(10)
    assert exact <= found.estimate < 1.05 * exact
    assert not found.exact


def test_r_cl_of_a_product_and_its_smallest_radius():
    radius = smallest_cl_radius(PRODUCT, jnp.array([1.0, 2.0]))
    # 4g = 2 = 2 r² (√5 - r)² has its smallest root at r(√5 - r) = 1.
    exact = (np.sqrt(5) - 1) / 2
    assert exact * 0.9 < radius < exact * 1.06  # a scan by 5 %, with an estimate from above
    assert is_r_cl(PRODUCT, jnp.array([1.0, 2.0]), 1.1 * exact).holds
    assert not is_r_cl(PRODUCT, jnp.array([1.0, 2.0]), 0.9 * exact).holds
    assert not is_r_cl(PRODUCT, jnp.array([1.0, 2.0]), 2.5).holds  # the ball holds the saddle


def test_smallest_radius_at_a_saddle_is_infinite_and_at_a_minimum_zero():
    assert smallest_cl_radius(PRODUCT, jnp.array([0.0, 0.0])) == np.inf
    assert smallest_cl_radius(PRODUCT, jnp.array([1.0, 1.0])) == 0


def test_smallest_radius_of_a_linear_problem_is_the_threshold():
    problem = LinearRegression.random(features=8, samples=4, seed=0)
    radius = smallest_cl_radius(problem, problem.init())
    assert is_r_cl(problem, problem.init(), 1.001 * radius).holds
    assert not is_r_cl(problem, problem.init(), 0.999 * radius).holds
