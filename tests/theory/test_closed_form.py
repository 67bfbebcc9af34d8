"""The closed form of descent with weight decay, and Theorem 3.6."""

from __future__ import annotations

import numpy as np
import pytest

from latebloom.oracles import least_squares, ridge
from latebloom.problems import LinearRegression, SparseRecovery
from latebloom.theory import (
    L2Iteration,
    ridge_error_floor,
)

STEPS = [0, 1, 2, 17, 300, 3000]


def loop(problem, learning_rate, weight_decay, steps):
    design, targets, a = (np.asarray(x) for x in (problem.design, problem.targets, problem.init()))
    found = [a]
    for _ in range(max(steps)):
        a = a - learning_rate * (design.T @ (design @ a - targets) + weight_decay * a)
        found.append(a)
    return np.array([found[step] for step in steps])


@pytest.mark.parametrize(
    ("features", "samples", "learning_rate", "weight_decay"),
    [(20, 8, 0.1, 1e-2), (20, 8, 0.5, 1e-3), (20, 8, 0.1, 0.0), (6, 15, 0.2, 1e-2)],
    ids=["plain", "alternating signs", "no decay", "tall"],
)
def test_independent_closed_form_against_a_loop(features, samples, learning_rate, weight_decay):
    problem = LinearRegression.random(features=features, samples=samples, noise=0.1, init_scale=5.0, seed=3)
    iteration = L2Iteration(problem, learning_rate, weight_decay)
    iterates = loop(problem, learning_rate, weight_decay, STEPS)
    scale = np.abs(iterates).max()
    np.testing.assert_allclose(iteration.at(STEPS), iterates, atol=1e-12 * scale)
    np.testing.assert_allclose(iteration.at(17), iterates[3], atol=1e-12 * scale)
    np.testing.assert_allclose(iteration.norm(STEPS), np.linalg.norm(iterates, axis=1), rtol=1e-12)
    test = [float(problem.test_error(a)) for a in iterates]
    train = [float(problem.train_error(a)) for a in iterates]
    np.testing.assert_allclose(iteration.test_error(STEPS), test, rtol=1e-12)
    np.testing.assert_allclose(iteration.train_error(STEPS), train, atol=1e-12)


def test_some_modes_alternate_in_that_table():
    problem = LinearRegression.random(features=20, samples=8, noise=0.1, init_scale=5.0, seed=3)
    assert 1 < 0.5 * np.linalg.norm(problem.design, 2) ** 2 < 2


def test_closed_form_limits_are_the_oracles():
    problem = LinearRegression.random(features=20, samples=8, init_scale=5.0, seed=3)
    decayed, plain = L2Iteration(problem, 0.1, 1e-2), L2Iteration(problem, 0.1, 0.0)
    np.testing.assert_allclose(decayed.limit, ridge(problem, 1e-2).solution, atol=1e-14)
    np.testing.assert_allclose(plain.limit, least_squares(problem, problem.init()).solution, atol=1e-13)
    np.testing.assert_allclose(decayed.at(10**9), decayed.limit, atol=1e-15)
    np.testing.assert_allclose(plain.at(10**9), plain.limit, atol=1e-15)


def test_closed_form_ten_million_steps_of_the_kernel_part():
    problem = LinearRegression([[1.0, 0.0]], [1.0], init=[0.0, 10.0])
    iteration = L2Iteration(problem, learning_rate=0.1, weight_decay=1e-5)
    # (1 - 1e-6)^1e7 = exp(-10.000005), which powers of the rounded base miss by 1e-10.
    expected = 10 * np.exp(1e7 * np.log1p(-1e-6))
    assert iteration.at(10**7)[1] == pytest.approx(expected, rel=1e-13)


def test_closed_form_a_step_that_lands_at_once_and_one_that_diverges():
    problem = LinearRegression([[1.0]], [2.0], init=[5.0])
    np.testing.assert_allclose(L2Iteration(problem, 1.0, 0.0).at([0, 1, 2])[:, 0], [5.0, 2.0, 2.0])
    np.testing.assert_allclose(L2Iteration(problem, 3.0, 0.0).at([0, 1, 2])[:, 0], [5.0, -4.0, 14.0])


def test_the_train_error_is_not_limited_by_cancellation():
    problem = LinearRegression([[1.0, 0.0]], [1.0])
    error = L2Iteration(problem, 0.5, 0.0).train_error(100)
    assert error == pytest.approx(2.0**-100, rel=1e-12)


def test_published_late_drop_comes_at_drop_step():
    """Figure 7: |a_0| = 10, β = 1e-5, α = 0.1: the fall ends near 1e7 steps, at a recovery error of 0.8 to 0.9."""
    problem = SparseRecovery(init_kind="sphere", init_scale=10.0, seed=0)
    iteration = L2Iteration(problem, 0.1, 1e-5)
    assert 3e6 < iteration.drop_step < 1e7
    before, after = iteration.test_error([round(0.2 * iteration.drop_step), round(3 * iteration.drop_step)])
    assert before > 10
    assert 0.6 < after < 1
    assert iteration.train_error(1e5) < 1e-3  # memorised long before


def test_closed_form_drop_step():
    problem = LinearRegression([[1.0, 0.0]], [1.0], init=[0.0, np.e])
    assert L2Iteration(problem, 0.1, 1e-4).drop_step == pytest.approx((1 + 1e-4 - 5e-9) / 1e-5, rel=1e-4)
    assert L2Iteration(problem, 0.1, 0.0).drop_step == np.inf
    near = LinearRegression([[1.0, 0.0]], [1.0], init=[0.0, 0.5])
    assert L2Iteration(near, 0.1, 1e-4).drop_step == 0


def test_theorem_36_bound_holds_and_is_tight_late():
    problem = LinearRegression.random(features=20, samples=8, init_scale=5.0, seed=3)
    iteration = L2Iteration(problem, 0.1, 1e-3)
    steps = np.array([0, 10, 1000, 30_000])
    distance = np.linalg.norm(iteration.at(steps) - iteration.limit, axis=1)
    bound = L2Iteration(problem, 0.1, 1e-3).distance_bound(steps)
    assert (distance <= bound * (1 + 1e-12)).all()
    slope = np.log(distance[3] / distance[2]) / (steps[3] - steps[2])
    assert slope == pytest.approx(np.log(L2Iteration(problem, 0.1, 1e-3).rate), rel=1e-3)


def test_theorem_36_rate_is_the_spectral_norm():
    problem = LinearRegression.random(features=20, samples=8, seed=3)
    design = np.asarray(problem.design)
    matrix = np.eye(20) - 0.3 * (design.T @ design + 0.2 * np.eye(20))
    assert L2Iteration(problem, 0.3, 0.2).rate == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-12)
    assert L2Iteration(problem, 0.1, 0.0).rate == 1.0


def test_theorem_36_floor_holds_and_is_attained_without_noise():
    problem = SparseRecovery(signal_to_noise=np.inf, seed=1)
    floor = ridge_error_floor(problem)
    errors = [np.linalg.norm(ridge(problem, decay).solution - problem.truth) for decay in (1.0, 1e-2, 1e-8)]
    assert min(errors) >= floor * (1 - 1e-12)
    assert errors[-1] == pytest.approx(floor, rel=1e-8)
    assert errors[0] > 1.01 * floor
