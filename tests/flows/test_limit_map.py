"""The limit map against closed forms, and its derivative against finite differences of it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import latebloom as lb
from latebloom.catalog.geometry.phases import fast_path
from latebloom.flows import limit_map, limit_map_derivative


def product(w):
    return jnp.array([w[0] * w[1] - 1.0])


HYPERBOLA = lb.problems.LeastSquares(product, jnp.array([0.3, 2.5]), label="hyperbola")


def regression(**changes) -> lb.problems.LinearRegression:
    return lb.problems.LinearRegression.random(**({"features": 8, "samples": 5, "init_scale": 3.0} | changes))


def test_the_limit_of_a_regression_is_the_projection_of_the_start():
    problem = regression()
    inverse = np.linalg.pinv(np.asarray(problem.design))
    start = np.random.default_rng(0).normal(size=8)
    for given in (np.asarray(problem.init()), start):
        expected = given - inverse @ (np.asarray(problem.design) @ given - np.asarray(problem.targets))
        found = limit_map(problem, given)
        assert found.zero_loss
        np.testing.assert_allclose(found.params, expected, atol=1e-6)


def test_the_limit_on_a_hyperbola_keeps_the_difference_of_squares():
    for start in ([0.3, 2.5], [-1.0, -0.2]):
        found = limit_map(HYPERBOLA, np.array(start), rtol=1e-9)
        np.testing.assert_allclose(found.params, fast_path("curved", start)[-1], atol=1e-6)


def test_the_derivative_is_the_projection_onto_the_kernel_of_the_hessian():
    """Rung 2: the Hessian's eigenvectors by NumPy, and central differences of the limit map."""
    point = np.asarray(limit_map(HYPERBOLA, rtol=1e-10).params)
    values, vectors = np.linalg.eigh(np.asarray(jax.hessian(HYPERBOLA.loss)(point)))
    kernel = vectors[:, np.abs(values) < 1e-6 * values[-1]]
    derivative = limit_map_derivative(HYPERBOLA, point)
    step = 1e-4
    for direction in np.eye(2):
        found = np.asarray(derivative(direction))
        np.testing.assert_allclose(found, kernel @ (kernel.T @ direction), atol=1e-8)
        ends = [limit_map(HYPERBOLA, point + sign * step * direction, rtol=1e-10).params for sign in (1, -1)]
        np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * step), atol=1e-5)


def test_another_start_compiles_nothing(compiles):
    for start in (None, np.array([2.0, 1.0])):
        limit_map(HYPERBOLA, start)
    with compiles() as count:
        limit_map(HYPERBOLA, np.array([1.0, 2.0]))
    assert count() == 0


def test_no_zero_loss_is_said():
    tall = regression(features=4, samples=9, noise=0.5)
    found = limit_map(tall)
    assert not found.zero_loss
    solution = np.linalg.lstsq(np.asarray(tall.design), np.asarray(tall.targets))[0]
    np.testing.assert_allclose(found.params, solution, atol=1e-3)
