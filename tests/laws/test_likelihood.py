"""The likelihood against other implementations of it: a plain integral, lifelines, published numbers, least squares."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from planted_laws import EXPONENT, planted
from scipy import integrate, optimize, stats

from latebloom import laws
from latebloom.laws import likelihood as room
from latebloom.laws.likelihood import Likelihood
from latebloom.laws.maximum import maximise, start_of
from latebloom.laws.observations import observe
from latebloom.laws.shapes import Power, Scaled

AGAINST = "learning_rate*strength"


def of(frame, effects):
    data = observe(frame, "t2", AGAINST, "seed").data
    shape = Power(Scaled.of(data.logs), [AGAINST])
    return data, shape, Likelihood(data, shape, effects=effects)


def test_without_censoring_and_seeds_it_is_least_squares():
    """Closed form: exact t2, one draw; σ is the root of the mean square."""
    x = np.geomspace(1e-7, 1e-5, 20)
    t2 = 0.2 / x * np.exp(0.3 * np.random.default_rng(0).normal(size=20))
    found = laws.fit(pd.DataFrame({"x": x, "t2": t2}), "t2", "x", seeds=None)
    line = stats.linregress(np.log(x), np.log(t2))
    assert found.exponent == pytest.approx(line.slope, rel=1e-6)
    assert found.prefactor == pytest.approx(np.exp(line.intercept), rel=1e-5)
    left = np.log(t2) - line.intercept - line.slope * np.log(x)
    assert found.spread == pytest.approx(np.sqrt(np.mean(left**2)), rel=1e-6)


def test_the_motorettes_of_schmee_and_hahn():
    """The published estimates (Technometrics 21, 1979, by maximum likelihood): 17 of 40 failed, the rest censored.

    log10 hours = -6.019 + 4.311 · 1000/K with σ = 0.2592.
    """
    failed = {
        170: [1764, 2772, 3444, 3542, 3780, 4860, 5196],
        190: [408, 408, 1344, 1344, 1440],
        220: [408, 408, 504, 504, 504],
    }
    ends = {150: 8064, 170: 5448, 190: 1680, 220: 528}
    rows = []
    for celsius, end in ends.items():
        times = failed.get(celsius, [])
        rows += [{"celsius": celsius, "t2": float(t), "end": end} for t in times]
        rows += [{"celsius": celsius, "t2": np.nan, "end": end}] * (10 - len(times))
    found = laws.fit(pd.DataFrame(rows), "t2", "10 ** (1000 / (celsius + 273.2))", seeds=None)
    assert found.exponent == pytest.approx(4.311, abs=5e-4)
    assert np.log10(found.prefactor) == pytest.approx(-6.019, abs=1e-3)
    assert found.spread / np.log(10) == pytest.approx(0.2592, abs=5e-5)
    assert (found.counts.observed, found.counts.censored) == (17, 23)


# lifelines 0.30.3, LogNormalAFTFitter().fit_interval_censoring on t2 / 1e6 of planted(3, …), with log(rate · strength)
# less its mean: (slope, intercept + log 1e6, log σ, log likelihood). It needs pandas below 3, so its answers are kept.
LIFELINES = {
    "records 0.3 apart": ({"bracket": 0.3}, (-1.003006300, 13.548508267, -1.187614347, -173.589140254)),
    "70 % censored": ({"bracket": 0.3, "censored": 0.7}, (-1.026552215, 13.567418284, -1.273435742, -88.613762558)),
    "records 0.05 apart": ({"bracket": 0.05}, (-0.985790885, 13.537747721, -1.209295497, -361.169640501)),
}


@pytest.mark.parametrize(("design", "theirs"), LIFELINES.values(), ids=LIFELINES)
def test_lifelines_finds_the_same(design, theirs, monkeypatch):
    """To what its optimiser stops at, 1e-5; without the share of a bracket that we take for the clock's own error."""
    monkeypatch.setattr(room, "SHARE", 0.0)
    data, shape, likelihood = of(planted(3, **design), effects=False)
    found = maximise(likelihood, [start_of(data, shape, effects=False)])
    log_a, slope = shape.natural(found.parameters[:2])
    ours = (slope, log_a + slope * data.logs.mean(), found.parameters[2], found.log)
    assert ours == pytest.approx(theirs, abs=2e-5)


@pytest.mark.parametrize("design", [{}, {"censored": 0.9}, {"bracket": 0.3, "between": 1.0}], ids=str)
def test_effects_are_integrated_out(design):
    """Against adaptive quadrature of the plain product; a seed that never got there has 6 nodes a side: 0.02."""
    data, shape, likelihood = of(planted(1, cells=6, **design), effects=True)
    parameters = np.array([data.low.mean(), -1.0, np.log(0.3), np.log(0.5)])
    mean = shape.mean(parameters[:2], data.logs)[0]
    scale = np.hypot(0.3, data.floor)
    for number, log in enumerate(likelihood.per_seed(parameters)[0]):
        own = data.owner == number

        def product(v, own=own):
            ends = [(end[own] - mean[own] - 0.5 * v) / scale[own] for end in (data.low, data.high)]
            return np.prod(stats.norm.cdf(ends[1]) - stats.norm.cdf(ends[0])) * stats.norm.pdf(v)

        peak = optimize.minimize_scalar(lambda v: -product(v), bounds=(-6, 6), method="bounded").x
        plain = integrate.quad(product, -9, 9, points=[peak - 1, peak, peak + 1], epsabs=0, epsrel=1e-8, limit=200)[0]
        never = np.isinf(data.high[own]).all()
        assert log == pytest.approx(np.log(plain), abs=0.02 if never else 1e-3)


@pytest.mark.parametrize("effects", [True, False])
def test_gradient_and_curvature_are_differences(effects):
    data, _, likelihood = of(planted(2, cells=6, bracket=0.2), effects=effects)
    here = np.array([data.low.mean(), -1.0, np.log(0.25), np.log(0.4)])[: 4 if effects else 3]
    _, slope, bend = likelihood(here)
    for number, step in enumerate(1e-5 * np.eye(len(here))):
        more, less = likelihood(here + step), likelihood(here - step)
        assert slope[number] == pytest.approx((more[0] - less[0]) / 2e-5, abs=1e-4 * np.abs(slope).max())
        assert bend[number] == pytest.approx((more[1] - less[1]) / 2e-5, abs=1e-4 * np.abs(bend).max())


@pytest.mark.parametrize(
    "design",
    [
        {"spread": 0.0},
        {"spread": 0.0, "between": 0.0},
        {"spread": 0.0, "between": 2.0, "seeds": 3},
        {"spread": 1e-5, "seeds": 1},
        {"spread": 0.0, "between": 0.0, "bracket": 0.05},
    ],
    ids=str,
)
def test_a_deterministic_law_is_found_and_has_an_interval(design):
    """Errors far below a step, or below the records: the exponent is off by no more than the brackets allow."""
    found = laws.fit(planted(0, cells=9, **design), "t2", AGAINST)
    low, high = found.interval
    assert found.exponent == pytest.approx(EXPONENT, abs=0.03 if "bracket" in design else 1e-4)
    assert low < EXPONENT < high
    assert high - low < (0.1 if "bracket" in design else 1e-3)


def test_a_moment_that_was_found_between_records_is_taken_so():
    """t2 in a record's bracket is exact to the step, in a flow exact; at the record it is somewhere in the bracket."""
    frame = pd.DataFrame(
        {"x": [1.0, 2.0, 4.0], "t2": [95.0, 80.5, 60.0], "t2_low": [90.0, 70.0, 50.0], "t2_high": [100.0, 90.0, 60.0]}
    )
    data = observe(frame, "t2", "x", None).data
    assert np.exp(data.low) == pytest.approx([94.0, 80.5, 50.0])
    assert np.exp(data.high) == pytest.approx([95.0, 80.5, 60.0])
