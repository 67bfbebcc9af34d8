"""Sparse recovery: depth, the planted truth, the measurements, the split of the randomness, the start."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from cases import sparse
from plain import moved

from latebloom.problems.vector.sparse_recovery import BASES, INITS, _basis

DATA = ("design", "targets", "truth", "noise")


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_depth_is_a_product_of_vectors(depth):
    problem = sparse(depth=depth, init_scale=2.0)
    assert problem.init().shape == (depth, 20)
    params = np.asarray(moved(problem.init()))
    np.testing.assert_allclose(problem.end_to_end(params), params.prod(axis=0), rtol=1e-14)
    expected = problem.design @ params.prod(axis=0) - problem.targets
    np.testing.assert_allclose(problem.residuals(params), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("dimension", "sparsity"), [(20, 1), (20, 2), (20, 20), (1, 1)])
def test_the_truth_has_the_sparsity_asked_for(dimension, sparsity):
    problem = sparse(dimension=dimension, sparsity=sparsity)
    assert int(problem.support.sum()) == sparsity
    assert int((problem.truth != 0).sum()) == sparsity


def test_the_errors_are_relative_distances():
    problem = sparse(signal_to_noise=np.inf)
    assert float(problem.test_error(problem.truth)) == 0
    assert float(problem.train_error(problem.truth)) == 0
    assert float(problem.test_error(jnp.zeros(20))) == 1
    assert float(problem.train_error(jnp.zeros(20))) == 1
    assert float(problem.test_error(3 * problem.truth)) == pytest.approx(2, rel=1e-14)
    np.testing.assert_array_equal(problem.noise, np.zeros(12))


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("size", [1, 2, 7, 20])
def test_the_basis_is_orthonormal(basis, size):
    matrix = _basis(basis, size, 3)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(size), atol=1e-14)


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize(("normalise", "scale"), [("rows", 1.0), ("columns", np.sqrt(20 / 12))])
@pytest.mark.parametrize(("coherence", "rows"), [(0.0, 0), (0.1, 1), (0.5, 6), (0.7, 8), (1.0, 12)])
def test_coherent_measurements_are_entries_of_the_vector(basis, normalise, scale, coherence, rows):
    """The first ⌊τN⌋ rows of the design are rows of the identity, times the normalisation; no other is."""
    design = np.asarray(sparse(basis=basis, normalise=normalise, coherence=coherence).design)
    np.testing.assert_allclose(design[:rows], scale * np.eye(20)[:rows], atol=1e-14)
    assert ((np.abs(design[rows:]) > 1e-3).sum(axis=1) > 10).all()


def test_coherence_is_not_lost_to_rounding():
    design = np.asarray(sparse(dimension=100, measurements=100, coherence=0.29, normalise="rows").design)
    np.testing.assert_allclose(design[28], np.eye(100)[28], atol=1e-13)


@pytest.mark.parametrize("basis", BASES)
def test_random_measurements_have_the_variance_of_their_normalisation(basis):
    """N(0, 1/n) or, times √(n/N), N(0, 1/N): 200 x 100 entries fix the variance to 1 %, the tolerance is 4 sigma."""
    for normalise, variance in (("rows", 1 / 100), ("columns", 1 / 200)):
        design = sparse(dimension=100, measurements=200, basis=basis, normalise=normalise).design
        assert float(jnp.var(design)) == pytest.approx(variance, rel=0.04)


@pytest.mark.parametrize("ratio", [1e-1, 1e2, 1e8])
def test_signal_to_noise_is_as_defined(ratio):
    """`E|a*|² / E|ξ|²` over 400 seeds of 5 and 12 squares: relative deviations √(2/2000) and √(2/4800), 4 sigma."""
    problems = [sparse(sparsity=5, signal_to_noise=ratio, seed=seed) for seed in range(400)]
    signal = np.mean([np.sum(np.square(problem.truth)) for problem in problems])
    noise = np.mean([np.sum(np.square(problem.noise)) for problem in problems])
    assert signal == pytest.approx(5 / 20, rel=4 * np.sqrt(2 / 2000))
    assert signal / noise == pytest.approx(ratio, rel=4 * np.sqrt(2 / 2000 + 2 / 4800))
    np.testing.assert_allclose(problems[0].targets, problems[0].design @ problems[0].truth + problems[0].noise)


@pytest.mark.parametrize(
    "change",
    [{"init_scale": 3.0}, {"depth": 3}, {"init_kind": "sphere"}, {"init_kind": "zeros"}],
    ids=lambda change: "-".join(map(str, next(iter(change.items())))),
)
def test_what_concerns_the_start_does_not_change_the_data(change):
    first, second = sparse(), sparse(**change)
    for name in DATA:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert not np.array_equal(first.init(), second.init())


def test_more_measurements_keep_the_truth_and_the_measurements_made():
    few, many = (sparse(measurements=n, normalise="rows", signal_to_noise=np.inf) for n in (5, 12))
    np.testing.assert_array_equal(few.truth, many.truth)
    np.testing.assert_array_equal(few.init(), many.init())
    np.testing.assert_allclose(few.design, many.design[:5], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(few.targets, many.targets[:5], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("change", [{"signal_to_noise": 1.0}, {"basis": "cosine"}, {"coherence": 0.5}])
def test_what_concerns_the_measurements_does_not_change_the_truth(change):
    first, second = sparse(), sparse(**change)
    np.testing.assert_array_equal(first.truth, second.truth)
    np.testing.assert_array_equal(first.init(), second.init())
    assert not np.array_equal(first.targets, second.targets)


def test_the_purposes_are_independent_and_the_seed_changes_all():
    first, second = sparse(init_scale=1.0), sparse(init_scale=1.0, seed=2)
    for name in (*DATA, "start"):
        assert not np.array_equal(getattr(first, name), getattr(second, name))
    draws = [np.asarray(first.noise) / np.linalg.norm(first.noise), np.asarray(first.start)[:12]]
    draws.append(np.asarray(first.truth)[first.support])
    assert len({round(float(draw[0] / np.linalg.norm(draw)), 9) for draw in draws}) == 3


@pytest.mark.parametrize("kind", INITS)
@pytest.mark.parametrize("depth", [1, 2])
def test_the_start_has_the_scale_asked_for(kind, depth):
    start = np.asarray(
        sparse(dimension=400, basis="identity", init_kind=kind, init_scale=0.3, depth=depth).init()
    ).reshape(depth, 400)
    for layer in start:
        size = np.linalg.norm(layer)
        expected = {"gaussian": 0.3, "sphere": 0.3, "constant": 0.3 * 20, "zeros": 0.0}[kind]
        # The norm of 400 Gaussians N(0, 1/400) is 1 ± √(1/800); 4 sigma.
        assert size == pytest.approx(expected, rel=4 * np.sqrt(1 / 800) if kind == "gaussian" else 1e-13)


def test_large_seeds_are_kept_exactly():
    assert sparse(seed=2**53 + 1).seed == 2**53 + 1
