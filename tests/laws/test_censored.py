"""What one run says of a law: probabilities of brackets and their derivatives, also where no digits are left."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from latebloom.laws.censored import told

INF = np.inf
# (low, high, mean, scale): within reach, in both tails, half open, narrow, exact, narrow and far out.
CASES = {
    "about the law": (-0.3, 0.4, 0.0, 0.5),
    "below": (-4.0, -3.0, 0.0, 0.5),
    "above": (3.0, 4.0, 0.0, 0.5),
    "censored below the law": (-0.7, INF, 0.0, 0.5),
    "censored": (0.7, INF, 0.0, 0.5),
    "censored, far above the law": (30.0, INF, 0.0, 0.5),
    "before the first record": (-INF, 0.2, 0.0, 0.5),
    "one step": (0.3, 0.3 + 1e-6, 0.0, 0.5),
    "one step, far out": (20.0, 20.0004, 0.0, 0.5),
    "exact": (0.3, 0.3, 0.0, 0.5),
}


def one(low, high, mean, scale):
    found = told(*(np.array([value]) for value in (low, high, mean, scale)))
    return {name: float(getattr(found, name)[0]) for name in ("log", "m", "psi", "mm", "mpsi", "psipsi")}


@pytest.mark.parametrize(("low", "high", "mean", "scale"), CASES.values(), ids=CASES)
def test_derivatives_are_those_of_the_log_probability(low, high, mean, scale):
    """Central differences: their own error is 1e-5 of what is differenced."""
    here, step = one(low, high, mean, scale), 1e-5
    right, left = one(low, high, mean + step, scale), one(low, high, mean - step, scale)
    wider, closer = one(low, high, mean, scale * np.exp(step)), one(low, high, mean, scale * np.exp(-step))
    size = 1 + abs(here["psipsi"])
    for name, (more, less, of) in {
        "m": (right, left, "log"),
        "mm": (right, left, "m"),
        "psi": (wider, closer, "log"),
        "mpsi": (wider, closer, "m"),
        "psipsi": (wider, closer, "psi"),
    }.items():
        assert here[name] == pytest.approx((more[of] - less[of]) / (2 * step), abs=1e-5 * size), name


def test_probabilities_are_scipys():
    for low, high, mean, scale in (
        CASES["about the law"],
        CASES["censored below the law"],
        CASES["below"],
        CASES["before the first record"],
    ):
        law = stats.norm(mean, scale)
        assert one(low, high, mean, scale)["log"] == pytest.approx(np.log(law.cdf(high) - law.cdf(low)), rel=1e-12)
    assert one(*CASES["censored, far above the law"])["log"] == pytest.approx(stats.norm.logsf(60), rel=1e-12)
    assert one(*CASES["exact"])["log"] == pytest.approx(stats.norm.logpdf(0.3, 0, 0.5), rel=1e-12)


def test_both_tails_say_the_same():
    """Φ(4) - Φ(3) by its digits near 1 would have lost ten of them at 8 and 9."""
    high, low = one(8.0, 9.0, 0.0, 1.0), one(-9.0, -8.0, 0.0, 1.0)
    assert high["log"] == pytest.approx(low["log"], rel=1e-14)
    assert high["m"] == pytest.approx(-low["m"], rel=1e-12)


@pytest.mark.parametrize("away", [0.0, 3.0, 40.0, 3000.0])
def test_narrow_and_wide_brackets_join(away):
    """On both sides of the width where one formula takes over from the other; the density is tilted far out."""
    less, more = (one(away, away + width, 0.0, 1.0) for width in (0.000999, 0.001001))
    assert less["log"] == pytest.approx(more["log"], abs=3e-3 * (1 + away / 1000))
    assert less["m"] == pytest.approx(more["m"], rel=1e-4, abs=1e-3)
    exact, _ = integrate.quad(lambda u: np.exp(-u * away - u**2 / 2), 0, 0.000999, epsabs=0, epsrel=1e-12)
    assert less["log"] == pytest.approx(np.log(exact) - away**2 / 2 - np.log(2 * np.pi) / 2, rel=1e-9, abs=1e-6)
