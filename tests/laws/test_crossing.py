"""The posterior of a crossing against sums by hand, an independent fit, and planted probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from latebloom.laws.crossing import SHARPEST, crossing

PLACES = np.linspace(0, 1, 41)


def planted(middle: float, scale: float) -> np.ndarray:
    return 1 / (1 + np.exp(-(PLACES - middle) / scale))


def test_with_many_runs_it_is_the_maximum_likelihood_with_its_standard_error():
    """Independent: SciPy's minimiser and the information matrix; the prior is of order one over the runs."""
    tried = np.full(41, 400.0)
    crossed = np.random.default_rng(0).binomial(400, planted(0.43, 0.08)).astype(float)

    def minus_log_likelihood(at):
        z = (PLACES - at[0]) / np.exp(at[1])
        return np.sum(tried * np.logaddexp(0, -z) + (tried - crossed) * z)

    best = minimize(minus_log_likelihood, [0.5, np.log(0.1)], method="Nelder-Mead", options={"xatol": 1e-9}).x
    chance = planted(best[0], np.exp(best[1]))
    information = np.sum(tried * chance * (1 - chance)) / np.exp(2 * best[1])
    known = crossing(PLACES, tried=tried, crossed=crossed)
    error = 1 / np.sqrt(information)
    assert known.middle == pytest.approx(best[0], abs=0.05 * error)
    assert known.scale == pytest.approx(np.exp(best[1]), rel=0.02)
    # The information about the scale correlates with that about the crossing a little, since it is off the middle.
    assert known.width == pytest.approx(2 * 1.96 * error, rel=0.03)


def test_the_grid_is_the_integral():
    """A closed sum: the posterior on a grid twenty times as fine in both directions, by the definition."""
    tried, crossed = np.array([4.0, 4, 4]), np.array([0.0, 1, 4])
    places = np.array([0.3, 0.5, 0.6])
    centres, scales = np.linspace(-0.5, 1.5, 2001), np.linspace(np.log(SHARPEST * 0.1), 0.0, 601)
    mass = np.zeros(2001)
    for sign in (1, -1):
        for scale in scales:
            z = np.clip((places[:, None] - centres) / (sign * np.exp(scale)), -700, 700)
            likelihood = np.exp(-tried @ np.logaddexp(0, -z) - (tried - crossed) @ z)
            mass += max(np.exp(scale), 0.1) ** 0.5 * likelihood
    share = np.cumsum(mass) / mass.sum()
    known = crossing(places, tried=tried, crossed=crossed, spacing=0.1)
    found = [known.quantile(part) for part in (0.025, 0.5, 0.975)]
    np.testing.assert_allclose(found, np.interp([0.025, 0.5, 0.975], share, centres), atol=0.01)


def test_runs_that_separate_have_a_finite_answer_in_the_gap():
    tried = np.zeros(41)
    tried[[20, 24]] = 12
    known = crossing(PLACES, tried=tried, crossed=np.where(PLACES > 0.55, tried, 0))
    low, high = known.interval()
    assert PLACES[20] - 0.01 < low < known.middle < high < PLACES[24] + 0.01
    assert high - low > 0.8 * (PLACES[24] - PLACES[20])  # of a step all of the gap is possible
    assert known.rises == pytest.approx(1.0)


def test_a_falling_probability_is_the_mirror_of_a_rising_one():
    tried = np.full(41, 3.0)
    crossed = np.random.default_rng(1).binomial(3, planted(0.3, 0.05)).astype(float)
    rising = crossing(PLACES, tried=tried, crossed=crossed)
    falling = crossing(PLACES, tried=tried, crossed=tried - crossed)
    np.testing.assert_allclose(falling.interval(), rising.interval(), atol=1e-9)
    assert (rising.rises, falling.rises) == pytest.approx((1.0, 0.0))
    assert falling.scale == pytest.approx(-rising.scale)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_where_all_are_alike_the_crossing_is_off_the_axis(outcome):
    tried = np.full(41, 2.0)
    assert crossing(PLACES, tried=tried, crossed=outcome * tried).inside() < 0.05


def test_the_band_holds_the_planted_probability():
    tried = np.full(41, 50.0)
    truth = planted(0.5, 0.1)
    crossed = np.random.default_rng(2).binomial(50, truth).astype(float)
    mean, low, high = crossing(PLACES, tried=tried, crossed=crossed).band(PLACES)
    assert ((low <= mean) & (mean <= high)).all()
    assert np.mean((low <= truth) & (truth <= high)) > 0.9
