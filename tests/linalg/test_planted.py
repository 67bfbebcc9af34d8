"""Planted low-rank matrices: their singular values, their norm, their uniform directions."""

from __future__ import annotations

import numpy as np
import pytest

from latebloom.linalg.planted import completed, low_rank_factors


def planted(*args, **options):
    """The matrix that the drawn factors stand for, which must be its singular value decomposition."""
    u, sigma, v = low_rank_factors(*args, **options)
    for frame in (u, v):
        np.testing.assert_allclose(frame.T @ frame, np.eye(len(sigma)), rtol=0, atol=1e-14)
    assert (np.diff(sigma) <= 0).all()
    return (u * sigma) @ v.T


@pytest.mark.parametrize("shape", [(6, 5), (5, 6), (7, 7)], ids=str)
@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize("norm", [1.0, 30.0])
def test_an_orthogonal_truth_has_equal_singular_values(shape, rank, norm):
    sizes = np.linalg.svd(planted(shape, rank, norm=norm, seed=3), compute_uv=False)
    expected = np.where(np.arange(min(shape)) < rank, norm / np.sqrt(rank), 0.0)
    np.testing.assert_allclose(sizes, expected, rtol=0, atol=1e-14 * norm)


@pytest.mark.parametrize("shape", [(6, 5), (5, 6), (7, 7)], ids=str)
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_a_gaussian_truth_has_its_rank_and_norm(shape, rank):
    truth = planted(shape, rank, "gaussian", norm=3.0, seed=3)
    sizes = np.linalg.svd(truth, compute_uv=False)
    assert np.linalg.matrix_rank(truth) == rank
    assert np.linalg.norm(truth) == pytest.approx(3, rel=1e-14)
    assert rank == 1 or sizes[0] > 1.05 * sizes[rank - 1]  # not the orthogonal model


def test_a_completed_basis_begins_with_what_was_given():
    u, _, _ = low_rank_factors((6, 5), 2, seed=3)
    basis = completed(u, np.random.default_rng(0))
    np.testing.assert_allclose(basis.T @ basis, np.eye(6), rtol=0, atol=1e-14)
    np.testing.assert_allclose(basis[:, :2], u, rtol=0, atol=1e-14)


def test_singular_vectors_are_uniform():
    """Of 400 draws the mean of `u uᵀ` is I/n, entries of variance below 2/n²: 5 sigma of 400 draws."""
    draws = [np.asarray(planted((4, 3), 1, seed=seed)) for seed in range(400)]
    left = np.mean([draw @ draw.T for draw in draws], axis=0)
    np.testing.assert_allclose(left, np.eye(4) / 4, rtol=0, atol=5 * np.sqrt(2 / 16 / 400))
    np.testing.assert_allclose(np.mean(draws, axis=0), 0, atol=5 * np.sqrt(1 / 12 / 400))
