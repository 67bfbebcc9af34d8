"""Linear regression: drawn reproducibly, and errors where there is nothing to compare with."""

from __future__ import annotations

import numpy as np
import pytest

import latebloom as lb


def test_linear_regression_random_is_reproducible_and_split():
    make = lb.problems.LinearRegression.random
    first, again, noisy = (
        make(features=8, samples=5),
        make(features=8, samples=5),
        make(features=8, samples=5, noise=1.0),
    )
    assert first == again
    assert hash(first) == hash(again)
    assert first != noisy
    np.testing.assert_array_equal(first.design, noisy.design)
    np.testing.assert_array_equal(first.truth, noisy.truth)
    np.testing.assert_allclose(first.targets, first.design @ first.truth, rtol=1e-13)


def test_without_a_truth_there_is_no_test_error():
    problem = lb.problems.LinearRegression([[1.0, 2.0]], [3.0])
    assert np.isnan(problem.test_error(problem.init()))
    assert float(problem.train_error(problem.init())) == 1


def test_errors_are_absolute_where_there_is_nothing_to_be_relative_to():
    problem = lb.problems.LinearRegression([[3.0, 4.0]], [0.0], truth=[0.0, 0.0], init=[1.0, 1.0])
    assert float(problem.train_error(problem.init())) == 7.0
    assert float(problem.test_error(problem.init())) == pytest.approx(np.sqrt(2))


def test_the_start_has_its_scale_and_the_data_do_not():
    one, three = (lb.problems.LinearRegression.random(features=8, samples=5, init_scale=s) for s in (1.0, 3.0))
    np.testing.assert_allclose(three.init(), 3 * np.asarray(one.init()), rtol=1e-15)
    np.testing.assert_array_equal(three.design, one.design)
