"""Fourier features of an embedding: circles made by hand, baselines of random ones, what is no embedding."""

from __future__ import annotations

from math import pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from latebloom.probes import (
    DominatedUnits,
    FourierCosines,
    FourierCount,
    FourierNorms,
    FourierOverlaps,
    FourierPower,
    FourierSpread,
    circle,
)
from latebloom.probes.fourier import fourier_features
from latebloom.problems import Isolated, ModularNet

FOURIER = (
    *(FourierNorms(), FourierPower(), FourierCount(), FourierSpread()),
    *(FourierCosines(), FourierOverlaps(), DominatedUnits()),
)


def circles(modulus: int, radii: dict[int, float], *, units: int = 8, shared: bool = False) -> np.ndarray:
    """An embedding made by hand: a circle a frequency, on units of its own or all on the same, phases even."""
    phases = 2 * pi * (np.arange(units) + 0.5) / units
    parts = {
        k: radius * np.cos(2 * pi * k * np.arange(modulus)[:, None] / modulus + phases) for k, radius in radii.items()
    }
    return np.sum(list(parts.values()), axis=0) if shared else np.hstack(list(parts.values()))


def measure(probe, embedding):
    return np.asarray(probe.of(fourier_features(embedding)))


def test_features_are_those_of_the_fft():
    embedding = np.random.default_rng(0).normal(size=(9, 4))
    expected = np.fft.fft(embedding, axis=0)[1:5] / 9
    found = np.asarray(fourier_features(embedding))
    np.testing.assert_allclose(found[::2] + 1j * found[1::2], expected, atol=1e-14)


def test_circles_made_by_hand():
    """Closed form: `cos(2πkj/p + φ)` has F_k = e^{iφ}/2, so that Re and Im are cos φ / 2 and sin φ / 2."""
    embedding = circles(7, {1: 2.0, 2: 2.0, 3: 2.0})
    np.testing.assert_allclose(measure(FourierNorms(), embedding), np.full(6, 2.0), atol=1e-12)  # 2/2 · √(8/2)
    assert measure(FourierSpread(), embedding) < 1e-12
    np.testing.assert_allclose(measure(FourierCosines(), embedding), 0, atol=1e-12)
    phases = 2 * pi * (np.arange(8) + 0.5) / 8
    within = 2 * np.mean(np.abs(np.cos(phases) * np.sin(phases)))
    np.testing.assert_allclose(measure(FourierOverlaps(), embedding), [within, 0], atol=1e-12)
    assert measure(DominatedUnits(), embedding) == 1
    unequal = circles(7, {1: 1.0, 2: 3.0, 3: 2.0})
    assert measure(FourierSpread(), unequal) == pytest.approx(np.std([1, 3, 2]) / 2)
    same = circles(7, {1: 1.0, 2: 1.0, 3: 1.0}, shared=True)
    assert measure(DominatedUnits(), same) == 0
    np.testing.assert_allclose(measure(FourierCosines(), same), [0, 1 / 2], atol=1e-12)


def test_the_spectrum_of_circles_made_by_hand():
    embedding = circles(7, {1: 1.0, 2: 3.0, 3: 2.0})
    np.testing.assert_allclose(measure(FourierPower(), embedding), np.array([1, 9, 4]) / 14, atol=1e-12)
    assert measure(FourierCount(), embedding) == pytest.approx(14**2 / (1 + 81 + 16))
    assert measure(FourierCount(), circles(7, {3: 5.0})) == pytest.approx(1)
    assert measure(FourierCount(), np.zeros((7, 4))) == 0
    assert not measure(FourierPower(), np.zeros((7, 2))).any()


def test_the_points_of_a_circle():
    """Closed form: with several frequencies on units of their own, each plane holds one circle, of its own radius."""
    embedding = circles(7, {1: 1.0, 2: 3.0, 3: 2.0})
    for frequency, radius in ((1, 1.0), (2, 3.0)):
        points = circle(embedding, frequency)
        radii, angles = np.hypot(*points.T), np.unwrap(np.arctan2(points[:, 1], points[:, 0]))
        np.testing.assert_allclose(radii, radius * 2, rtol=1e-12)  # √(8/2) units in phase
        np.testing.assert_allclose(np.diff(angles), 2 * pi * frequency / 7, rtol=1e-9)


def test_even_phases_overlap_like_chance():
    """Closed form: mean |cos φ sin φ| / mean cos² φ = 2/π for a full circle of phases."""
    found = measure(FourierOverlaps(), circles(7, {1: 1.0, 2: 1.0, 3: 1.0}, units=2000))
    assert found[0] == pytest.approx(FourierOverlaps().baseline(7, 2000), abs=1e-5)
    assert FourierOverlaps().baseline(7, 2000) == 2 / pi


def test_baselines_are_those_of_random_embeddings():
    modulus, width = 11, 40
    draws = np.random.default_rng(0).normal(size=(400, modulus, width))
    features = jax.vmap(fourier_features)(draws)
    found = {type(probe): np.mean(jax.vmap(probe.of)(features), axis=0) for probe in FOURIER}
    assert np.mean(found[FourierNorms]) == pytest.approx(FourierNorms().baseline(modulus, width), rel=0.01)
    np.testing.assert_allclose(found[FourierPower], FourierPower().baseline(modulus, width), rtol=0.03)
    assert found[FourierCount] == pytest.approx(FourierCount().baseline(modulus, width), rel=0.01)
    # The spread over ten norms is that of the distribution times about √(9/10).
    assert found[FourierSpread] == pytest.approx(FourierSpread().baseline(modulus, width) * sqrt(0.9), rel=0.03)
    np.testing.assert_allclose(found[FourierCosines], FourierCosines().baseline(modulus, width), rtol=0.03)
    np.testing.assert_allclose(found[FourierOverlaps], 2 / pi, rtol=1 / width)
    assert found[DominatedUnits] == pytest.approx(DominatedUnits().baseline(modulus, width), rel=0.05)


def test_fourier_probes_read_the_first_part():
    problem = ModularNet(7, 24)
    first = problem.init()["first"]
    for probe in FOURIER:
        expected = measure(probe, first)
        np.testing.assert_array_equal(probe.measure(problem, None, problem.init()), expected)
        np.testing.assert_array_equal(probe.measure(Isolated(problem), None, first), expected)
        probe.check(problem, None)
    assert jnp.isfinite(measure(FourierCosines(), np.zeros((7, 3)))).all()
