"""When errors cross their thresholds along a flow: first, lost, for good, and exactly at the threshold."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from cases import CURVE_RATE, curve

import latebloom as lb


def flow(problem, time: float, **options) -> lb.Run:
    return lb.flow(problem, time=time, **({"rtol": 1e-8, "atol": 1e-11, "progress": False} | options))


def waves() -> tuple[lb.problems.LeastSquares, float]:
    """A test error `1/2 + cos(2π t / 5)`, and when it first falls below 1/5.

    The flow of `curve` is `1 - w = exp(-t)`, which its test reads as `-t / log(1 - CURVE_RATE)` steps.
    """
    frequency = -2 * np.pi / 5 * np.log1p(-CURVE_RATE)
    return curve(0.5, 1.0, frequency), 5 * np.arccos(-0.3) / (2 * np.pi)


def test_lost_and_stable_crossings():
    problem, first = waves()
    run = flow(problem, 8.0, generalised_at=0.2)
    generalised = run.milestones.generalised
    # The error of w, relative to 1 - w = exp(-t) ≥ 3e-4.
    assert generalised.time == pytest.approx(first, abs=1e-4)
    assert generalised.lost == pytest.approx(5 - first, abs=1e-3)
    assert generalised.stable.step == pytest.approx(5 + first, abs=1e-2)


def test_lost_is_the_first_return_above_and_not_the_last():
    problem, first = waves()
    run = flow(problem, 9.9, generalised_at=0.2, rtol=1e-9, atol=1e-12)
    generalised = run.milestones.generalised
    assert generalised.stable is None  # lost at 5 - first, found again at 5 + first, lost again at 10 - first
    assert generalised.time == pytest.approx(first, abs=1e-4)
    assert generalised.lost == pytest.approx(5 - first, abs=1e-3)


def test_a_crossing_that_is_lost_at_the_end_is_not_stable():
    problem, first = waves()
    run = flow(problem, 5.0, generalised_at=0.2)
    assert run.milestones.generalised.first.step == pytest.approx(first, abs=1e-4)
    assert run.milestones.generalised.lost == pytest.approx(5 - first, abs=1e-3)
    assert run.milestones.generalised.stable is None


def test_a_counted_error_that_comes_to_the_threshold_and_stays_there_is_below_it():
    """Closed form: `1 - w = e^-t`; of eight answers `⌈8 e^-t⌉` are wrong, never less than two: from log 4 on."""
    wrong = lambda w: jnp.maximum(jnp.ceil(8 * jnp.abs(1.0 - w[0])), 2.0) / 8  # noqa: E731
    problem = lb.problems.LeastSquares(lambda w: w - 1.0, jnp.zeros(1), test=wrong, label="counted")
    run = flow(problem, 5.0, generalised_at=2 / 8)
    assert run.milestones.generalised.time == pytest.approx(np.log(4.0), abs=1e-4)
    assert run.milestones.generalised.stable == run.milestones.generalised.first


def test_what_is_below_from_the_start_is_crossed_at_zero():
    problem = lb.problems.LinearRegression.random(features=8, samples=5, init_scale=3.0)
    run = flow(problem, 1e3, memorised_at=1e6, generalised_at=1e-300)
    assert run.milestones.memorised.time == 0
    assert run.milestones.generalised.censored
    assert "not generalised by time 1000" in str(run.milestones)
