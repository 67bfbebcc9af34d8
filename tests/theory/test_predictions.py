"""Predictions, conditions, Łojasiewicz constants and coherence."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from latebloom.errors import InputError
from latebloom.oracles import least_squares
from latebloom.penalties import L1
from latebloom.problems import LinearRegression, SparseRecovery
from latebloom.theory import (
    L2Iteration,
    conditions,
    delay_estimate,
    generalisation_delay,
    largest_stable_learning_rate,
    memorisation_radius,
    memorisation_step,
    memorisation_time,
)


def subgradient_loop(problem, learning_rate, strength, steps):
    design, targets, a = (np.asarray(x) for x in (problem.design, problem.targets, problem.init()))
    for _ in range(steps):
        a = a - learning_rate * (design.T @ (design @ a - targets) + strength * np.sign(a))
        yield a


def test_theorem_21_bounds_the_true_memorisation():
    problem = SparseRecovery(seed=0)
    predicted = memorisation_time(problem, 0.1, tolerance=1e-8)
    losses = L2Iteration(problem, 0.1, 0.0).train_error(np.arange(5000)) ** 2 * np.sum(problem.targets**2) / 2
    true = int(np.argmax(losses <= 1e-8))
    assert 0 < true <= predicted.step < 40 * true
    assert predicted.time == pytest.approx(0.1 * predicted.step)


def test_closed_form_memorisation_time():
    problem = LinearRegression([[1.0, 0.0]], [2.0])  # χ = 2, g_0 = 2
    expected = np.log(2 / 1e-4) / -np.log(1 - 0.5 * 2 * 0.1)
    assert memorisation_time(problem, 0.1, tolerance=1e-4).step == pytest.approx(expected)
    assert memorisation_time(problem, 0.1, tolerance=3.0).step == 0
    assert memorisation_time(problem, 10.0, tolerance=1e-4).step == 1
    halved = memorisation_time(problem, 0.1, tolerance=1e-4, cl_constant=1.0).step
    assert halved > 2 * expected


def test_theorem_31_radius_is_reached_by_its_step_and_kept():
    problem = SparseRecovery(seed=0)
    learning_rate, strength = 0.1, 1e-5
    step = memorisation_step(problem, learning_rate, L1(strength)).step
    radius = memorisation_radius(problem, learning_rate, L1(strength))
    design = np.asarray(problem.design)
    rows = np.linalg.pinv(design) @ design
    centre = least_squares(problem).solution
    iterates = list(subgradient_loop(problem, learning_rate, strength, 3000))
    away = np.array([np.linalg.norm(rows @ (a - centre)) for a in iterates])
    assert (away[int(step) :] <= radius).all()
    assert away[0] > radius
    # As printed, on the whole space, the same radius fails: the kernel part leaves â, which is the generalisation.
    far = list(subgradient_loop(problem, learning_rate, 1e-3, 3000))[-1]
    assert np.linalg.norm(far - centre) > memorisation_radius(problem, learning_rate, L1(1e-3)) / 2


def test_theorem_31_as_printed_is_infinite_exactly_when_there_is_a_kernel():
    wide, tall = LinearRegression.random(samples=30), LinearRegression.random(features=10, samples=30)
    assert memorisation_step(wide, 0.1, L1(1e-5)).as_printed == np.inf
    assert memorisation_radius(wide, 0.1, L1(1e-5), as_printed=True) == np.inf
    prediction = memorisation_step(tall, 0.1, L1(1e-5))
    assert prediction.as_printed == prediction.step
    radius = memorisation_radius(tall, 0.1, L1(1e-5))
    assert memorisation_radius(tall, 0.1, L1(1e-5), as_printed=True) == radius


def test_closed_form_delays():
    problem = SparseRecovery(seed=0)
    away = least_squares(problem, problem.init()).solution - np.asarray(problem.truth)
    delay = generalisation_delay(problem, 0.1, L1(1e-5), eta=0.25)
    assert delay.step == pytest.approx(away @ away / (0.1 * 1e-5 * 0.25))
    assert delay_estimate(problem, 0.1, L1(1e-5)).step == pytest.approx(np.abs(away).max() / 1e-6)
    assert generalisation_delay(problem, 0.1, L1(1e-5), eta=0.25, params=problem.truth).step == 0
    doubled = generalisation_delay(problem, 0.2, L1(1e-5), eta=0.25)
    assert doubled.time == pytest.approx(delay.time)
    assert doubled.step == pytest.approx(delay.step / 2)


def test_published_delay_estimate_is_of_the_order_of_fig_3():
    assert 1e4 < delay_estimate(SparseRecovery(seed=0), 0.1, L1(1e-5)).step < 1e6  # t2 is about 1e5


def test_conditions_at_the_settings_of_fig_3():
    found = {c.name: c for c in conditions(SparseRecovery(seed=0), 0.1, L1(1e-5))}
    assert found["learning_rate"].holds
    assert found["strength"].holds
    problem = SparseRecovery(seed=0)
    seen = float(jnp.sum((problem.design.T @ problem.noise) ** 2))
    assert found["noise"].value == pytest.approx(seen / 1e-6, rel=1e-8)
    assert found["noise_c29"].value == pytest.approx(seen / 1e-12, rel=1e-8)
    inside = float(jnp.sum(problem.noise**2))  # N < n: the noise lies in the range of X
    assert found["noise_proof"].value == pytest.approx(inside / 1e-11, rel=1e-8)


def test_conditions_fail_where_they_should():
    problem = SparseRecovery(seed=0)
    most = largest_stable_learning_rate(problem)
    held = [conditions(problem, factor * most, L1(1e-5))[0].holds for factor in (0.999, 1.001)]
    assert held == [True, False]
    largest = np.linalg.norm(problem.design, 2) ** 2 / 10
    assert [conditions(problem, 0.1, L1(f * largest))[1].holds for f in (0.999, 1.001)] == [True, False]
    assert not conditions(problem, 0.1, L1(1e-5), noise_constant=1e-12)[2].holds
    blind = LinearRegression([[1.0, 0.0]], [1.0])
    assert conditions(blind, 0.1, L1(1e-5))[2].holds is None


def test_the_largest_stable_learning_rate_is_where_descent_turns():
    problem = LinearRegression.random(features=10, samples=5, seed=0)
    most = largest_stable_learning_rate(problem)
    below, above = (L2Iteration(problem, f * most, 0.0).norm([100, 10_000]) for f in (0.99, 1.01))
    assert below[1] < 2 * below[0]
    assert above[1] > 1e10 * above[0]


def test_closed_form_memorisation_of_one_measurement():
    """By hand: ρ = 1/2, one away, so ceil(log(1 + 1/2 / (αβ√n)) / log 2), at two learning rates of one ρ."""
    problem = LinearRegression([[1.0, 0.0, 0.0, 0.0]], [1.0])
    for rate in (0.5, 1.5):
        expected = np.ceil(np.log2(1 + 0.5 / (rate * 1e-3 * 2)))
        assert memorisation_step(problem, rate, L1(1e-3)).step == expected
    assert np.ceil(np.log2(1 + 0.25 / 1e-3)) != memorisation_step(problem, 0.5, L1(1e-3)).step, "α is in it"


def test_a_learning_rate_that_diverges_is_refused_with_the_largest():
    with pytest.raises(InputError, match=r"it must be below 0\.5,"):
        memorisation_step(LinearRegression([[2.0, 0.0]], [1.0]), 1.0, L1(1e-3))
