"""Modular arithmetic as data, the network on it, right answers counted, and the Fourier features of its embedding."""

from __future__ import annotations

from math import pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.errors import CapabilityError, InputError, UnknownNameError
from latebloom.probes import (
    DominatedUnits,
    FourierCosines,
    FourierCount,
    FourierNorms,
    FourierOverlaps,
    FourierPower,
    FourierSpread,
    TestAccuracy,
    TrainAccuracy,
    circle,
)
from latebloom.probes.fourier import fourier_features
from latebloom.problems import FastPart, Isolated, ModularNet, ModularTable

FOURIER = (
    *(FourierNorms(), FourierPower(), FourierCount(), FourierSpread()),
    *(FourierCosines(), FourierOverlaps(), DominatedUnits()),
)


def test_the_paper_has_703_pairs_and_492_rows():
    """Published numbers: p = 37, k = p(p+1)/2, f_s = 0.7."""
    table = ModularTable(37, ordered=False, train_share=0.7)
    assert (len(table.pairs), len(table.train), len(table.test)) == (703, 492, 211)
    assert sorted([*table.train, *table.test]) == list(range(703))


@pytest.mark.parametrize("ordered", [True, False])
def test_tables_are_complete_and_right(ordered):
    table = ModularTable(7, ordered=ordered, seed=3)
    seen = {tuple(pair) for pair in table.pairs.tolist()}
    assert seen == {(a, b) for a in range(7) for b in range(7) if ordered or a <= b}
    assert all((a + b) % 7 == c for (a, b), c in zip(table.pairs.tolist(), table.results.tolist(), strict=True))
    assert (table.counts().sum(axis=1) == 2).all()
    assert table.counts()[table.pairs.tolist().index([3, 3])].tolist() == [0, 0, 0, 2, 0, 0, 0]
    assert (table.targets().argmax(axis=1) == table.results).all()


def test_seeds_are_split_by_purpose():
    one, other = ModularNet(7, 24, seed=1), ModularNet(7, 24, seed=1, init_seed=2)
    assert (one.inputs == other.inputs).all()
    assert not np.allclose(one.init()["first"], other.init()["first"])
    assert not np.array_equal(ModularNet(7, 24, seed=3).inputs, one.inputs)
    assert np.std(ModularNet(37, 512).init()["first"]) == pytest.approx(37**-0.5, rel=0.02)
    with pytest.raises(UnknownNameError, match="did you mean 'division'"):
        ModularTable(7, "divison")


def test_network_and_gradient():
    """Rung 2: plain sums over pairs, and JAX's derivative."""
    problem = ModularNet(7, 12, seed=1)
    params = jax.tree.map(lambda leaf: leaf + 0.05, problem.init())
    table = ModularTable(7, ordered=False, train_share=0.7, seed=1)
    first, second = (np.asarray(params[name]) for name in ("first", "second"))
    outputs = [np.maximum(first[a] + first[b], 0) @ second for a, b in table.pairs]
    losses = [np.sum((outputs[row] - np.eye(7)[table.results[row]]) ** 2) for row in table.train]
    assert float(problem.loss(params)) == pytest.approx(sum(losses), rel=1e-12)
    right = [int(np.argmax(outputs[row]) == table.results[row]) for row in table.test]
    assert int(problem.correct(params, "test")) == sum(right)
    assert float(problem.test_error(params)) == (len(right) - sum(right)) / len(right)
    mine, theirs = problem.gradient(params), jax.grad(problem.loss)(params)
    for name in params:
        np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-10, atol=1e-12)


def test_all_right_is_exactly_one():
    problem = ModularNet(11, 64)
    for what in (Isolated(problem), FastPart(problem, "second", 3.0), problem):
        params = what.init()
        assert float(what.accuracy(params, "train")) == 1.0
        assert float(what.wrong(params, "train")) == 0.0
        assert float(TrainAccuracy().measure(what, None, params)) == 1.0
        assert float(TestAccuracy().measure(what, None, params)) == float(what.correct(params, "test")) / 20


def test_accuracy_needs_labels():
    with pytest.raises(CapabilityError, match="has none"):
        TestAccuracy().check(lb.problems.SparseRecovery(), None)
    with pytest.raises(CapabilityError, match="has none"):
        TrainAccuracy().check(FastPart(lb.problems.MatrixCompletion(width=2), "A1", 2.0), None)


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
    with pytest.raises(InputError, match="frequencies 1 to 3"):
        circle(embedding, 4)


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
    with pytest.raises(CapabilityError, match="needs an embedding"):
        FourierNorms().check(lb.problems.SparseRecovery(), None)
    assert jnp.isfinite(measure(FourierCosines(), np.zeros((7, 3)))).all()


def test_parts_that_are_not_one_embedding_are_refused():
    two = lb.problems.ModularClassifier(11, 8)  # U above V
    with pytest.raises(CapabilityError, match=r"FourierPower needs a row a residue, 11 of them; .*'first'.* has 22"):
        FourierPower().check(two, None)
    one = lb.problems.EmbeddingMLP(11, 8, dimension=8)
    FourierCount("embedding").check(one, None)
    with pytest.raises(CapabilityError, match=r"11 of them; .*'hidden'.* has 8"):
        FourierCount("hidden").check(one, None)


def test_what_is_no_circle_is_refused():
    embedding = np.ones((7, 2))
    with pytest.raises(InputError, match="frequency must be a number, not '1'"):
        circle(embedding, "1")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="an embedding is a matrix with a row a residue"):
        circle(embedding[0], 1)
    with pytest.raises(InputError, match="ordered must be true or false, got 'no'"):
        lb.problems.ModularClassifier(5, 8, ordered="no")  # type: ignore[arg-type]
