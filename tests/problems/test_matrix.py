"""Matrix completion and sensing: planted truths, measurements, parametrisations, data of one's own."""

from __future__ import annotations

import warnings

import jax
import numpy as np
import pytest
from cases import BROUGHT_ENTRIES, BROUGHT_MEASUREMENTS, MATRIX_PROBLEMS, completion, sensing
from plain import as_matrix, by_hand, moved

import latebloom as lb
from latebloom.linalg.planted import TRUTHS
from latebloom.problems import (
    Factorisation,
    MatrixRegression,
    MatrixSensing,
    ObservedEntries,
    UnobservedWarning,
)
from latebloom.problems.matrix.base import check_shape

CASES = pytest.mark.parametrize("case", MATRIX_PROBLEMS, ids=str)
DATA = {"completion": ("truth", "mask", "values"), "sensing": ("truth", "design", "targets")}


# The planted truth


@pytest.mark.parametrize("kind", TRUTHS)
@pytest.mark.parametrize("form", ["symmetric", "difference"])
def test_a_symmetric_truth_is_positive_semidefinite(kind, form):
    for problem in (
        completion(shape=5, observed=21, form=form, truth_kind=kind, truth_norm=2.0),
        sensing(shape=5, form=form, truth_kind=kind, truth_norm=2.0),
    ):
        truth = np.asarray(problem.truth)
        np.testing.assert_array_equal(truth, truth.T)
        values = np.linalg.eigvalsh(truth)
        np.testing.assert_allclose(values[:3], 0, atol=1e-14)
        assert values[3] > 0.1
        assert np.linalg.norm(truth) == pytest.approx(2, rel=1e-14)


# The measurements


@CASES
def test_the_matrix_is_made_of_its_layers(case):
    """Rung 2, NumPy; the design has a column for each of its entries."""
    problem = case.problem
    params = moved(problem.init())
    matrix = as_matrix(problem, params)
    np.testing.assert_allclose(problem.end_to_end(params), matrix, rtol=1e-13, atol=1e-14)
    assert np.asarray(problem.design).shape == (len(problem.targets), matrix.size)


@CASES
def test_without_noise_the_truth_is_what_is_measured(case):
    problem = case.problem
    gap = np.abs(np.asarray(problem.design) @ np.asarray(problem.truth).ravel() - np.asarray(problem.targets)).max()
    if problem is BROUGHT_MEASUREMENTS or getattr(problem, "signal_to_noise", np.inf) < np.inf:
        assert gap > 1e-3
    else:
        assert gap < 1e-14


@pytest.mark.parametrize("observed", [12, 24, 30])
@pytest.mark.parametrize("coherence", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("basis", ["identity", "random"])
@pytest.mark.filterwarnings("ignore::latebloom.problems.matrix.entries.UnobservedWarning")
def test_the_mask_has_as_many_entries_as_asked(observed, coherence, basis):
    problem = completion(observed=observed, coherence=coherence, basis=basis)
    mask = np.asarray(problem.mask)
    assert set(np.unique(mask)) <= {0.0, 1.0}
    assert mask.sum() == observed == len(problem.entries) == len(problem.targets)
    assert (np.asarray(problem.values)[mask == 0] == 0).all()


def test_an_entry_in_the_standard_basis_is_an_entry():
    problem = completion()
    rows, columns = problem.entries.T
    np.testing.assert_array_equal(problem.targets, np.asarray(problem.truth)[rows, columns])
    np.testing.assert_array_equal(problem.design.sum(axis=1), np.ones(24))


def test_an_entry_in_other_bases_is_u_a_v():
    problem = completion(basis="random")
    left, right, truth = (np.asarray(array) for array in (problem.left, problem.right, problem.truth))
    np.testing.assert_allclose(left.T @ left, np.eye(6), atol=1e-14)
    np.testing.assert_allclose(right.T @ right, np.eye(5), atol=1e-14)
    assert np.abs(left[:5, :5] - right).max() > 0.1
    probe = np.random.default_rng(0).normal(size=(6, 5))
    for (i, j), row, target in zip(problem.entries, problem.design, problem.targets, strict=True):
        assert row @ probe.ravel() == pytest.approx(left[:, i] @ probe @ right[:, j], abs=1e-13)
        assert target == pytest.approx(left[:, i] @ truth @ right[:, j], abs=1e-14)


@pytest.mark.parametrize("basis", ["identity", "random"])
@pytest.mark.parametrize("kind", TRUTHS)
@pytest.mark.parametrize(("coherence", "first"), [(0.0, 0), (0.29, 5), (0.5, 9), (1.0, 18)])
@pytest.mark.filterwarnings("ignore::latebloom.problems.matrix.entries.UnobservedWarning")
def test_entries_of_high_leverage_are_observed_first(basis, kind, coherence, first):
    """Rung 2: `μ_i + ν_j` from projectors on the truth's range; the rest in the order of the draw without coherence."""
    options = {"basis": basis, "truth_kind": kind}
    problem = completion(observed=18, coherence=coherence, **options)
    truth = np.asarray(problem.truth)
    rows, columns = truth @ np.linalg.pinv(truth), np.linalg.pinv(truth) @ truth
    if basis == "random":
        left, right = np.asarray(problem.left), np.asarray(problem.right)
        rows, columns = left.T @ rows @ left, right.T @ columns @ right
    scores = (6 / 2 * np.diag(rows)[:, None] + 5 / 2 * np.diag(columns)).ravel()
    assert scores.mean() == pytest.approx(2, rel=1e-12)
    highest = np.argsort(-scores)
    assert (np.diff(np.sort(scores)) > 1e-9).all()  # no ties in which two computations could differ
    mask = np.asarray(problem.mask).ravel()
    assert (mask[highest[:first]] == 1).all()
    # The order of the draw, seen by observing one entry more at a time.
    seen = [np.asarray(completion(observed=n, **options).mask).ravel() > 0 for n in range(1, 31)]
    order = [int(np.flatnonzero(new & ~old)[0]) for old, new in zip([np.zeros(30, bool), *seen], seen, strict=False)]
    rest = [entry for entry in order if entry not in highest[:first]]
    np.testing.assert_array_equal(np.flatnonzero(mask), np.sort([*highest[:first], *rest[: 18 - first]]))


def test_coherence_is_not_lost_to_rounding():
    """⌊0.29 · 100⌋ is 29, though the product of the floats is 28.999…"""
    without, barely, some = (completion(shape=20, observed=100, coherence=c, seed=0).mask for c in (0.28, 0.285, 0.29))
    np.testing.assert_array_equal(without, barely)
    assert float(np.abs(np.asarray(some) - np.asarray(without)).sum()) == 2  # one entry for another
    problem = lb.problems.MatrixSensing((30, 30), 2, 100, coherence=0.29)
    norms = np.linalg.norm(np.asarray(problem.design), axis=1)
    assert norms[28] == pytest.approx(1, rel=1e-12)  # singular vectors of the truth
    assert norms[29] != pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("ratio", [1e-1, 1e2, 1e8])
@pytest.mark.parametrize("make", [completion, sensing])
def test_signal_to_noise_is_as_defined(make, ratio):
    """`|A*|² / E|ξ|²` over 100 seeds of 24 or 20 squares: relative deviation √(2/2000), 4 sigma."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnobservedWarning)
        pairs = [[make(truth_norm=3.0, signal_to_noise=r, seed=seed) for r in (ratio, np.inf)] for seed in range(100)]
    noise = [np.sum((np.asarray(noisy.targets) - np.asarray(quiet.targets)) ** 2) for noisy, quiet in pairs]
    assert 9 / np.mean(noise) == pytest.approx(ratio, rel=4 * np.sqrt(2 / 2000))


@pytest.mark.parametrize("kind", ["rank_one", "gaussian"])
@pytest.mark.parametrize("shape", [(10, 10), (12, 8)], ids=str)
@pytest.mark.parametrize("normalise", ["rows", "columns", "printed"])
def test_measurements_are_normalised(kind, shape, normalise):
    """Mean squares over 400 measurements: of products of two chi-squares deviate by 3 %, 4 sigma."""
    problem = lb.problems.MatrixSensing(shape, 2, 400, sensing=kind, normalise=normalise)
    design, size = np.asarray(problem.design), np.prod(shape)
    squares = (design**2).sum(axis=1).mean()
    expected = {"rows": 1.0, "columns": size / 400, "printed": 1 / size}[normalise]
    assert squares == pytest.approx(expected, rel=0.12)
    if normalise == "columns":
        assert (design**2).sum(axis=0).mean() == pytest.approx(1, rel=0.12)
    rank = {"rank_one": 1, "gaussian": min(shape)}[kind]
    assert {np.linalg.matrix_rank(row.reshape(shape)) for row in design[:10]} == {rank}


@pytest.mark.parametrize(("coherence", "count"), [(0.0, 0), (0.1, 2), (0.25, 5), (0.28, 5), (0.3, 6), (1.0, 20)])
def test_coherent_measurements_are_singular_vectors_of_the_truth(coherence, count):
    """Vectors x up to min(⌊τN⌋, n1) and z up to min(⌊τN⌋, n2); the first `rank` measurements read singular values."""
    problem = sensing(coherence=coherence)
    factors = [np.linalg.svd(row.reshape(6, 5)) for row in np.asarray(problem.design)]
    sizes = np.linalg.svd(np.asarray(problem.truth), compute_uv=False)
    x = np.array([u[:, 0] for u, _, _ in factors])
    z = np.array([vt[0] for _, _, vt in factors])
    for vectors, side in ((x, 6), (z, 5)):
        ours = min(count, side)
        np.testing.assert_allclose(np.abs(vectors[:ours] @ vectors[:ours].T), np.eye(ours), atol=1e-13)
        # A random direction is orthogonal to another one to 1e-9 with probability zero.
        beyond = np.abs(vectors @ vectors.T)[ours:][:, : ours + 1]
        assert (beyond > 1e-9).all()
    read = min(count, 2)
    np.testing.assert_allclose(problem.targets[:read], sizes[:read], rtol=1e-13)
    np.testing.assert_allclose(problem.targets[2 : min(count, 5)], 0, atol=1e-14)


# The randomness is split


@pytest.mark.parametrize("make", [completion, sensing])
@pytest.mark.parametrize(
    "change",
    [{"init_scale": 3.0}, {"depth": 3}, {"width": 2}, {"init_kind": "identity", "init_scale": 1.0}],
    ids=lambda change: "-".join(map(str, next(iter(change.items())))),
)
def test_what_concerns_the_start_does_not_change_the_data(make, change):
    first, second = make(), make(**change)
    for name in DATA[make.__name__]:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert not np.array_equal(*(problem.end_to_end(problem.init()) for problem in (first, second)))


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (completion, {"observed": 25}),
        (completion, {"coherence": 0.3}),
        (completion, {"basis": "random"}),
        (completion, {"signal_to_noise": 1.0}),
        (sensing, {"measurements": 21}),
        (sensing, {"coherence": 0.3}),
        (sensing, {"sensing": "gaussian"}),
        (sensing, {"normalise": "columns"}),
        (sensing, {"signal_to_noise": 1.0}),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),  # a function's str has its address
)
def test_what_concerns_the_measurements_does_not_change_the_truth(make, change):
    first, second = make(), make(**change)
    np.testing.assert_array_equal(first.truth, second.truth)
    np.testing.assert_array_equal(first.init(), second.init())
    assert not np.array_equal(first.targets, second.targets)


@pytest.mark.parametrize("make", [completion, sensing])
def test_every_purpose_has_its_own_draw(make):
    """The ratio of the first two Gaussians of the noise, the start, the truth and the measurements."""
    options = {"rank": 1, "truth_kind": "gaussian", "init_scale": 1.0}
    full = {"observed": 30} if make is completion else {"sensing": "gaussian"}
    noisy, quiet = (make(**options, **full, signal_to_noise=ratio) for ratio in (1.0, np.inf))
    noise, start, truth = (noisy.targets - quiet.targets)[:2], quiet.init()[0, :2], quiet.truth[:2, 0]
    draws = [noise, start, truth, *([] if make is completion else [quiet.design[0, :2]])]
    assert len({round(float(first / second), 6) for first, second in draws}) == len(draws)


@pytest.mark.parametrize("make", [completion, sensing])
def test_the_seed_decides_everything(make):
    first, again, other = make(init_scale=1.0), make(init_scale=1.0), make(init_scale=1.0, seed=3)
    for name in (*DATA[make.__name__], "start"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))


def test_more_entries_keep_those_observed():
    few, many = completion(observed=24), completion(observed=28)
    assert (np.asarray(many.mask) >= np.asarray(few.mask)).all()


# The parametrisation


def test_a_factorisation_says_how_the_matrix_is_made():
    assert completion().init().shape == (6, 5)
    assert {name: layer.shape for name, layer in completion(width=3).init().items()} == {"A1": (6, 3), "A2": (3, 5)}
    assert Factorisation.of((6, 5), depth=2) == Factorisation.of((6, 5), depth=2, width=5)
    assert Factorisation.of((4, 4), "difference", width=7).layers() == {"U": (4, 7), "V": (4, 7)}
    assert Factorisation.of((4, 4), "symmetric").layers() == {"W": (4, 4)}


@pytest.mark.parametrize(("kind", "norm"), [("zeros", 0.0), ("identity", 0.3 * np.sqrt(5)), ("gaussian", None)])
@pytest.mark.parametrize("depth", [1, 2])
def test_the_start_is_as_asked(kind, norm, depth):
    layers = jax.tree.leaves(completion(init_kind=kind, init_scale=0.3, depth=depth).init())
    assert len(layers) == depth
    for layer in layers:
        if norm is None:  # the root mean square of 25 or 30 Gaussians: 4 sigma
            assert np.sqrt(np.mean(np.square(layer))) == pytest.approx(0.3, rel=4 * np.sqrt(1 / 50))
        else:
            assert np.linalg.norm(layer) == pytest.approx(norm, abs=1e-15)
            np.testing.assert_array_equal(layer, np.diag(np.diag(layer)) if layer.shape[0] == 5 else layer)
    assert completion(init_kind="identity", init_scale=0.3).init()[2, 2] == 0.3


@CASES
def test_gradient_is_the_product_rule(case):
    params = moved(case.problem.init())
    found, expected = case.problem.gradient(params), by_hand(case.problem, params)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    jax.tree.map(lambda f, e: np.testing.assert_allclose(f, e, rtol=1e-12, atol=1e-13), found, expected)


# The text


@pytest.mark.parametrize("text", ["6x5", "(6 5)", "(6, 5)", "6 5", " 6 x 5 "])
def test_shapes_are_read(text):
    assert check_shape(text) == (6, 5)
    assert check_shape([6, 5]) == check_shape(np.array([6, 5])) == check_shape((6.0, 5)) == (6, 5)
    assert check_shape(7) == (7, 7)


def test_the_same_matrix_parametrised_otherwise_is_another_problem():
    texts = {make.text for make in (sensing(), sensing(depth=2), sensing(width=3), sensing(depth=3), sensing(seed=2))}
    assert len(texts) == 5
    assert sensing(depth=2) == sensing(width=5) == sensing(depth=2, width=5)
    assert MatrixSensing(shape="6x5") == MatrixSensing(shape=(6, 5))


def test_entries_of_your_own_are_the_same_problem():
    """Rung 2: completion by hand from the planted one's entries is the same problem to the last bit."""
    planted = completion(seed=1, observed=24, rank=2, init_scale=0.1)
    own = ObservedEntries((6, 5), planted.entries, planted.targets, truth=planted.truth, init_scale=0.1, seed=1)
    mask = ObservedEntries((6, 5), np.asarray(planted.mask) > 0, planted.targets, truth=planted.truth, seed=1)
    for problem in (own, mask):
        np.testing.assert_array_equal(problem.values, planted.values)
        np.testing.assert_array_equal(problem.mask, planted.mask)
    np.testing.assert_array_equal(own.init(), planted.init())
    params = moved(planted.init())
    assert float(own.loss(params)) == float(planted.loss(params))
    np.testing.assert_array_equal(own.gradient(params), planted.gradient(params))


def test_the_order_of_the_entries_does_not_matter():
    entries = BROUGHT_ENTRIES.entries
    shuffled = np.random.default_rng(0).permutation(len(entries))
    other = ObservedEntries((3, 4), entries[shuffled], BROUGHT_ENTRIES.targets[shuffled])
    np.testing.assert_array_equal(other.values, BROUGHT_ENTRIES.values)


def test_measurements_of_your_own_are_the_same_problem():
    planted = sensing(width=3, init_scale=0.5)
    own = MatrixRegression(
        np.asarray(planted.design).reshape(20, 6, 5),
        planted.targets,
        truth=planted.truth,
        width=3,
        init_scale=0.5,
        seed=1,
    )
    params = planted.init()
    jax.tree.map(np.testing.assert_array_equal, own.init(), params)
    assert float(own.loss(params)) == float(planted.loss(params))
    jax.tree.map(np.testing.assert_array_equal, own.gradient(params), planted.gradient(params))


def test_without_a_truth_there_is_no_test():
    for problem in (
        ObservedEntries((2, 2), np.eye(2, dtype=bool), [1.0, 2.0]),
        MatrixRegression(np.ones((1, 2, 2)), [1.0]),
    ):
        assert not problem.has_test
        assert np.isnan(problem.test_error(problem.init()))
