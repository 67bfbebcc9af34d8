"""`train` against a closed form, an independent loop and the published number; what is recorded."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from cases import OF_A_VECTOR, sparse
from plain import RATE, errors_along, first_below, reference, stable_below

import latebloom as lb
from latebloom.probes import Components

# Closed form


@pytest.mark.parametrize("strength", [1e-3, 0.1])
def test_gradient_descent_with_l2_is_the_power_of_a_matrix(strength):
    """Rung 1: `w_k = w* + (I - η(XᵀX + λI))^k (w_0 - w*)` at every record up to 1e5 steps."""
    problem = sparse(init_scale=1.0)
    run = lb.train(problem, lb.GradientDescent(RATE), lb.L2(strength), steps=100_000, probes=[Components()])
    _, singular, basis = np.linalg.svd(np.asarray(problem.design))
    curvature = np.concatenate([singular**2, np.zeros(20 - 12)]) + strength
    limit = basis @ (np.asarray(problem.design).T @ np.asarray(problem.targets)) / curvature
    start = basis @ np.asarray(problem.init())
    # log1p: (1 - ηλ)^k by repeated rounding would lose k digits of the last place.
    decay = np.exp(run["step"][:, None] * np.log1p(-RATE * curvature))
    expected = (limit + decay * (start - limit)) @ basis
    distance = np.linalg.norm(run["components"] - expected, axis=1) / np.linalg.norm(expected, axis=1)
    # Rounding adds up over 1/(η λ) = 1e4 steps of 1e-16.
    assert distance.max() < 1e-12
    np.testing.assert_allclose(run["l2_norm"], np.linalg.norm(expected, axis=1), rtol=1e-12)
    np.testing.assert_allclose(run["penalty_value"], strength / 2 * run["l2_norm"] ** 2, rtol=1e-13)


# An independent loop


def test_every_record_is_that_of_plain_numpy():
    problem, run, path = reference()
    at = path[run["step"]]
    train, test = errors_along(problem, at)
    # 1e-9: 3,000 roundings of 1e-16, amplified by the kinks of l1.
    np.testing.assert_allclose(run.params, path[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["train_error"], train, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run["test_error"], test, rtol=1e-9)
    np.testing.assert_allclose(run["l1_norm"], np.abs(at).sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(run["l2_norm"], np.linalg.norm(at, axis=1), rtol=1e-9)
    np.testing.assert_allclose(run["penalty_value"], 2e-4 * np.abs(at).sum(axis=1), rtol=1e-9)
    residuals = at @ np.asarray(problem.design).T - np.asarray(problem.targets)
    np.testing.assert_allclose(run["train_loss"], 0.5 * (residuals**2).sum(axis=1), rtol=1e-9, atol=1e-15)


def test_the_milestones_are_those_of_plain_numpy():
    problem, run, path = reference()
    for milestone, values, threshold in zip(
        (run.milestones.memorised, run.milestones.generalised), errors_along(problem, path), (0.02, 0.1), strict=True
    ):
        assert milestone.first.pinned
        assert milestone.first.step == first_below(values, threshold)
        assert milestone.stable.step == stable_below(values, threshold)
        assert milestone.step in run["step"]
    assert run.milestones.delay == run.milestones.generalised.step - run.milestones.memorised.step > 100


def test_the_clocks():
    _, run, _ = reference()
    np.testing.assert_allclose(run["time"], RATE * run["step"], rtol=1e-15)
    np.testing.assert_allclose(run["slow_time"], 2e-4 * RATE * run["step"], rtol=1e-15)


def test_two_strengths_have_no_slow_clock():
    run = lb.train(sparse(), lb.GradientDescent(RATE), lb.L1(1e-3) + lb.L2(1e-3), steps=10)
    assert "slow_time" not in run.columns


# What is recorded


def test_the_records_are_dense_enough():
    steps = lb.train(sparse(), lb.GradientDescent(RATE), lb.L1(1e-3), steps=25_000)["step"]
    assert (np.diff(steps) > 0).all()
    assert steps[-1] == 25_000
    np.testing.assert_array_equal(steps[:20], np.arange(20))
    for decade in (10, 100, 1000):
        assert ((steps >= decade) & (steps < 10 * decade)).sum() >= 50


def test_the_norms_on_and_off_the_support_add_up():
    run = lb.train(sparse(init_scale=1.0), lb.GradientDescent(RATE), lb.L1(1e-3), steps=777, probes=OF_A_VECTOR)
    total = np.hypot(run["support_norm"], run["off_support_norm"])
    np.testing.assert_allclose(total, run["l2_norm"], rtol=1e-13)
    np.testing.assert_allclose(run["vector_l1"], run["l1_norm"], rtol=1e-13)


# The mechanism, and the published number


def test_without_the_penalty_generalisation_disappears():
    """Both memorise; only the penalty brings the drift along the interpolators that ends at the truth."""
    problem, method = sparse(), lb.GradientDescent(RATE)
    with_penalty = lb.train(problem, method, lb.L1(1e-5), steps=100_000, generalised_at=1e-2)
    without = lb.train(problem, method, lb.L1(0.0), steps=100_000, generalised_at=1e-2)
    assert not with_penalty.milestones.memorised.censored
    assert not with_penalty.milestones.generalised.censored
    assert with_penalty.milestones.ratio > 10
    assert not without.milestones.memorised.censored
    assert without.milestones.generalised.censored
    assert without["test_error"][-1] > 0.1


def test_a_smaller_penalty_delays_generalisation_in_proportion():
    """The slow phase lives at time 1/strength: ten times less is ten times later, measured slope -1."""
    steps = [
        lb.train(
            sparse(), lb.GradientDescent(RATE), lb.L1(strength), steps=200_000, generalised_at=3e-2
        ).milestones.generalised.stable.step
        for strength in (1e-4, 1e-5)
    ]
    assert np.log10(steps[1] / steps[0]) == pytest.approx(1, abs=0.1)


def test_the_delay_of_the_published_figure():
    """Rung 3, the published number: "Grokking Beyond the Euclidean Norm", Figure 3, t1 in tens and t2 about 1e5."""
    problem = lb.problems.SparseRecovery()
    run = lb.train(problem, lb.GradientDescent(0.1), lb.L1(1e-5), steps=300_000, memorised_at=1e-3, generalised_at=1e-3)
    assert 40 <= run.milestones.memorised.step <= 90
    assert 5e4 <= run.milestones.generalised.step <= 3e5
    assert run.milestones.sharpness is not None


def test_steps_written_as_a_float_are_whole_numbers():
    assert lb.train(sparse(), lb.GradientDescent(RATE), steps=1e1)["step"].dtype == np.int64  # type: ignore[arg-type]


def test_a_start_that_fits_already_has_an_absolute_error():
    problem = lb.problems.LeastSquares(lambda w: w - 1.0, jnp.ones(3))
    run = lb.train(problem, lb.GradientDescent(RATE), lb.L1(1e-6), steps=100)
    assert run["train_error"].max() < 1e-5
    assert run.milestones.memorised is not None
    assert run.milestones.memorised.lost is None
