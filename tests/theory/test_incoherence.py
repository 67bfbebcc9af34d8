"""Leverage scores, degrees of freedom and local coherence sampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latebloom.linalg.planted import assembled, low_rank_factors
from latebloom.problems import SparseRecovery
from latebloom.theory import (
    coherence,
    degrees_of_freedom,
    expected_samples,
    leverage_scores,
    mutual_coherence,
    one_coherence,
    sampling_probabilities,
)


def planted(*args, **options):
    return assembled(*low_rank_factors(*args, **options))


def orthogonal(size, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]


def test_closed_form_the_two_ends_of_the_scale():
    flat = leverage_scores(np.ones((4, 6)))
    np.testing.assert_allclose(np.append(flat.rows, flat.columns), 1, atol=1e-14)
    assert flat.mu0 == pytest.approx(1)
    assert flat.mu1 == pytest.approx(1)
    spike = np.zeros((4, 6))
    spike[1, 2] = -3.0
    scores = leverage_scores(spike)
    np.testing.assert_allclose(scores.rows, [0, 4, 0, 0])
    np.testing.assert_allclose(scores.columns, [0, 0, 6, 0, 0, 0])
    assert scores.mu0 == 6
    assert scores.mu1 == pytest.approx(np.sqrt(24))  # |U Vᵀ| has the entry -1, which the printed maximum misses
    assert np.unravel_index(scores.entries.argmax(), (4, 6)) == (1, 2)


def test_independent_scores_by_projections():
    matrix = planted((7, 5), 2, "gaussian", seed=3)
    scores = leverage_scores(matrix)
    rows = np.diag(matrix @ np.linalg.pinv(matrix, rcond=1e-10))
    columns = np.diag(np.linalg.pinv(matrix, rcond=1e-10) @ matrix)
    np.testing.assert_allclose(scores.rows, 7 / 2 * rows, atol=1e-12)
    np.testing.assert_allclose(scores.columns, 5 / 2 * columns, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 7), st.integers(0, 10**6))
def test_the_scores_have_mean_one_and_bound_mu1(rows, columns, rank, seed):
    rank = min(rank, rows, columns)
    scores = leverage_scores(planted((rows, columns), rank, "gaussian", seed=seed), rank)
    assert scores.rank == rank
    assert scores.rows.mean() == pytest.approx(1)
    assert scores.columns.mean() == pytest.approx(1)
    assert 1 - 1e-12 <= scores.mu0 <= max(rows, columns) / rank * (1 + 1e-12)
    assert scores.mu1 <= scores.mu0 * np.sqrt(rank) * (1 + 1e-12)


def test_other_bases_are_the_standard_ones_of_the_turned_matrix():
    matrix, left, right = planted((6, 8), 2, seed=0), orthogonal(6, 1), orthogonal(8, 2)
    found, turned = leverage_scores(matrix, left=left, right=right), leverage_scores(left.T @ matrix @ right)
    np.testing.assert_allclose(found.rows, turned.rows, atol=1e-12)
    np.testing.assert_allclose(found.columns, turned.columns, atol=1e-12)
    assert found.mu1 == pytest.approx(turned.mu1)
    # Measured along its own singular vectors, a matrix is as coherent as can be.
    u, _, vt = np.linalg.svd(matrix)
    np.testing.assert_allclose(leverage_scores(matrix, left=u, right=vt.T).rows, [3, 3, 0, 0, 0, 0], atol=1e-12)


def test_a_given_rank_keeps_the_leading_directions():
    matrix = np.diag([3.0, 2.0, 1.0])
    np.testing.assert_allclose(leverage_scores(matrix, 2).rows, [1.5, 1.5, 0])
    assert leverage_scores(matrix + 0.0).rank == 3
    assert leverage_scores(np.diag([1.0, 1e-17])).rank == 1


def test_closed_form_degrees_of_freedom():
    assert degrees_of_freedom((10, 10), 2) == 36
    assert degrees_of_freedom((4, 7), 4) == 28  # full rank: every entry
    assert degrees_of_freedom((4, 7), 0) == 0
    tangent = np.linalg.matrix_rank(_tangent_directions(planted((5, 6), 2, seed=0), 2))
    assert tangent == degrees_of_freedom((5, 6), 2)


def _tangent_directions(matrix, rank):
    u, _, vt = np.linalg.svd(matrix)
    random = np.random.default_rng(0)
    shapes = ((matrix.shape[0], rank), (matrix.shape[1], rank))
    moves = [(random.normal(size=shapes[0]), random.normal(size=shapes[1])) for _ in range(60)]
    return np.array([(x @ vt[:rank] + u[:, :rank] @ z.T).ravel() for x, z in moves])


def test_closed_form_sampling_probabilities():
    spike = np.zeros((20, 20))
    spike[0, 0] = 1.0
    chances = sampling_probabilities(spike, constant=1e-3)
    each = 1e-3 * np.log(40) ** 2 / 20
    np.testing.assert_allclose(chances[0, 1:], 20 * each)
    np.testing.assert_allclose(chances[0, 0], 40 * each)
    assert (chances[1:, 1:] == 20.0**-10).all()  # the floor
    assert expected_samples(spike, constant=1e-3) == pytest.approx(chances.sum())


def test_published_constant_one_observes_nearly_everything_at_the_size_of_the_experiments():
    assert (sampling_probabilities(np.ones((10, 10)), rank=1) == 1).all()
    shares = [expected_samples(planted((10, 10), 2, seed=seed)) / 100 for seed in range(20)]
    assert min(shares) > 0.9
    assert min(shares) < 1  # but not everything: p < 1 where μ_i + ν_j < 0.557
    larger = expected_samples(planted((100, 100), 2, seed=0)) / 1e4
    assert larger < 0.85


def test_closed_form_coherence():
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    assert mutual_coherence(basis) == pytest.approx(0, abs=1e-14)
    assert coherence(basis, 3 * basis[:, :1]) == pytest.approx(1)
    frame = np.array([[np.cos(t) for t in (0, 2 * np.pi / 3, 4 * np.pi / 3)], [0, np.sqrt(3) / 2, -np.sqrt(3) / 2]])
    assert mutual_coherence(frame) == pytest.approx(0.5)  # three vectors at 120°: Welch's bound is attained
    assert one_coherence(frame, 2) == pytest.approx(1.0)


def test_independent_coherence_by_enumeration():
    matrix = np.random.default_rng(1).normal(size=(4, 7))
    unit = matrix / np.linalg.norm(matrix, axis=0)
    pairs = [[abs(unit[:, i] @ unit[:, j]) for j in range(7) if j != i] for i in range(7)]
    assert mutual_coherence(matrix) == pytest.approx(max(map(max, pairs)))
    assert one_coherence(matrix, 3) == pytest.approx(max(sum(sorted(row)[-3:]) for row in pairs))
    assert mutual_coherence(matrix) >= np.sqrt((7 - 4) / (4 * 6))


def test_the_coherence_of_a_problem_is_one_at_tau_one():
    incoherent, coherent = (SparseRecovery(40, 3, 20, coherence=tau, basis="identity") for tau in (0.0, 1.0))
    assert coherence(np.asarray(coherent.design).T, np.eye(40)) == pytest.approx(1)
    assert coherence(np.asarray(incoherent.design).T, np.eye(40)) < 0.9
