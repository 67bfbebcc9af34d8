"""Labelled data: signs with a majority, Gaussians with a gap, errors that are counted or exact."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from latebloom.problems import DiagonalClassifier, GaussianGap, SparseSigns

SMALL = SparseSigns(dimension=60, samples=12, test_samples=300, seed=3)


def test_signs_are_fair_and_labels_are_the_majority():
    data = SparseSigns(dimension=2000, samples=50, sparsity=5, seed=1)
    inputs = np.asarray(data.inputs)
    assert set(np.unique(inputs)) == {-1.0, 1.0}
    assert abs(inputs.mean()) < 4 / np.sqrt(inputs.size)
    np.testing.assert_array_equal(data.labels, np.sign(inputs @ np.asarray(data.truth)))
    assert int((np.asarray(data.truth) != 0).sum()) == 5


def test_the_test_error_is_a_count_and_many_classifiers_give_what_one_gives():
    weights = np.random.default_rng(0).normal(size=(3, 60))
    outputs = np.asarray(SMALL.test_inputs, float) @ weights.T
    counts = (np.sign(outputs) != np.asarray(SMALL.test_labels)[:, None]).sum(axis=0)
    np.testing.assert_array_equal(SMALL.test_errors(weights) * 300, counts)
    for row, count in zip(weights, counts, strict=True):
        assert round(300 * float(SMALL.test_error(jnp.asarray(row)))) == count
    assert float(SMALL.test_error(jnp.zeros(60))) == 1.0  # no answer is wrong


@pytest.mark.parametrize("margin", [0.0, 2.0])
def test_the_exact_test_error_against_a_million_points(margin):
    """In six dimensions, a plain simulation; four standard deviations of its count."""
    data = GaussianGap(dimension=6, samples=4, margin=margin, seed=2)
    random, truth = np.random.default_rng(0), np.asarray(data.truth)
    points = random.normal(size=(1_000_000, 6))
    labels = np.sign(points @ truth)
    points += margin / 2 * np.outer(labels, truth)
    for weights in (truth + 0.8 * random.normal(size=6), random.normal(size=6), -truth):
        share = np.mean((points @ weights) * labels <= 0)
        assert float(data.test_error(jnp.asarray(weights))) == pytest.approx(share, abs=4 * 0.5 / 1000)


def test_the_gap_is_empty():
    data = GaussianGap(dimension=50, samples=200, margin=5.0)
    assert float(jnp.min(data.signed @ data.truth)) >= 2.5


def test_a_margin_of_zero_is_an_error_in_training_too():
    net = DiagonalClassifier(SMALL, init_scale=0.3)
    nothing = jnp.zeros_like(net.init())
    assert float(net.train_error(nothing)) == float(net.test_error(nothing)) == 1.0
