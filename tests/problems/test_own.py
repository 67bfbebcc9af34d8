"""Any function as a problem: measures from the start, precision, identity."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from cases import curve, problem_case

import latebloom as lb


def test_least_squares_measures_from_its_start():
    problem = problem_case("a-net").problem
    assert float(problem.train_error(problem.init())) == pytest.approx(1, rel=1e-14)
    assert float(problem.test_error(problem.init())) == float(problem.test(problem.init()))
    untested = lb.problems.LeastSquares(problem.function, problem.init())
    assert np.isnan(untested.test_error(problem.init()))


def test_least_squares_runs_in_float64_from_whole_numbers():
    assert lb.problems.LeastSquares(lambda w: w - 1.5, np.array([1, 2])).init().dtype == jnp.float64


def test_least_squares_runs_in_float64_from_float32():
    assert lb.problems.LeastSquares(lambda w: w - 1.5, np.ones(2, np.float32)).init().dtype == jnp.float64


def test_problems_of_different_functions_differ():
    start = jnp.array([3.0])
    first, second = (lb.problems.LeastSquares(f, start) for f in (lambda w: w - 1.0, lambda w: w - 2.0))
    assert first != second


def test_a_curve_is_what_it_says():
    """The problem that the tests of milestones use: its test error after `k` steps is the formula at `k`."""
    problem = curve(0.6, 0.5, 5e-3, 1e-4)
    for step in (0, 10, 500):
        params = problem.init() | {"w": jnp.array([1 - 0.99**step])}
        assert float(problem.test_error(params)) == pytest.approx(
            0.6 + 0.5 * np.cos(5e-3 * step) - 1e-4 * step, abs=1e-9
        )
