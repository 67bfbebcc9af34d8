"""Matrix completion and sensing: planted truths, measurements, parametrisations, gradients, the text."""

from __future__ import annotations

import warnings

import jax
import numpy as np
import pytest
from cases import BROUGHT_MEASUREMENTS, MATRIX_PROBLEMS, completion, sensing
from plain import as_matrix, by_hand, moved

import latebloom as lb
from latebloom.core.record import parse
from latebloom.linalg.planted import TRUTHS, completed, low_rank_factors
from latebloom.problems import (
    AbstractEntries,
    Factorisation,
    MatrixSensing,
    UnobservedWarning,
)
from latebloom.problems.matrix.base import check_shape

CASES = pytest.mark.parametrize("case", MATRIX_PROBLEMS, ids=str)
DATA = {"completion": ("truth", "mask", "values"), "sensing": ("truth", "design", "targets")}


def planted(*args, **options):
    """The matrix that the drawn factors stand for, which must be its singular value decomposition."""
    u, sigma, v = low_rank_factors(*args, **options)
    for frame in (u, v):
        np.testing.assert_allclose(frame.T @ frame, np.eye(len(sigma)), rtol=0, atol=1e-14)
    assert (np.diff(sigma) <= 0).all()
    return (u * sigma) @ v.T


# The planted truth


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


# The measurements


@CASES
def test_residuals_targets_and_design_agree(case):
    """The dense design measures the matrix row by row; entries have a residual of zero where nothing is observed."""
    problem = case.problem
    params = moved(problem.init())
    matrix, design = as_matrix(problem, params), np.asarray(problem.design)
    np.testing.assert_allclose(problem.end_to_end(params), matrix, rtol=1e-13, atol=1e-14)
    expected = design @ matrix.ravel() - np.asarray(problem.targets)
    found = np.asarray(problem.residuals(params))
    if isinstance(problem, AbstractEntries):
        seen = np.asarray(problem.mask).ravel() > 0
        assert (found[~seen] == 0).all()
        found = found[seen]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    assert design.shape == (len(problem.targets), matrix.size)
    size = np.linalg.norm(problem.targets)
    assert float(problem.train_error(params)) == pytest.approx(np.linalg.norm(expected) / size, rel=1e-12)
    gap = np.linalg.norm(matrix - problem.truth) / np.linalg.norm(problem.truth)
    assert float(problem.test_error(params)) == pytest.approx(gap, rel=1e-13)


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


@CASES
def test_gradient_is_that_of_finite_differences(case):
    """Rung 2: central differences of the NumPy loss at 1e-5; error 1e-10 of the third derivative plus 1e-11."""
    problem = case.problem
    design, targets = np.asarray(problem.design), np.asarray(problem.targets)

    def loss(params) -> float:
        return 0.5 * float(np.sum((design @ as_matrix(problem, params).ravel() - targets) ** 2))

    params = moved(problem.init())
    leaves, structure = jax.tree.flatten(params)
    for number, slope in enumerate(jax.tree.leaves(problem.gradient(params))):
        for entry in np.ndindex(*slope.shape):
            ends = []
            for h in (1e-5, -1e-5):
                changed = [np.array(leaf) for leaf in leaves]
                changed[number][entry] += h
                ends.append(loss(structure.unflatten(changed)))
            assert float(slope[entry]) == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-8)


# The text


@pytest.mark.parametrize(
    "problem",
    [
        completion(),
        completion(width=3, coherence=1 / 3, init_scale=0.1 + 0.2, basis="random", truth_kind="gaussian"),
        completion(shape=(4, 4), observed=16, form="symmetric", seed=2**60 + 1),
        sensing(),
        sensing(shape=(1, 7), rank=1, sensing="gaussian", normalise="printed"),
        sensing(width=3, coherence=1 / 3, init_scale=0.1 + 0.2, signal_to_noise=1e8, truth_kind="gaussian"),
        sensing(depth=3, init_kind="identity", init_scale=0.0, seed=2**60 + 1),
        sensing(shape=5, form="difference", width=2),
    ],
    ids=["completion", "completion with numbers", "symmetric", "sensing", "one row", "numbers", "deep", "difference"],
)
def test_text_is_read_back(problem):
    again = parse(problem.text, lb.problems.TABLE, "problem")
    assert again == problem
    assert again.parameters() == problem.parameters()
    assert (again.shape, again.depth, again.width) == (problem.shape, problem.depth, problem.width)
    jax.tree.map(np.testing.assert_array_equal, jax.tree.leaves(again), jax.tree.leaves(problem))


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
