"""Laws of the problems: gradients, the planted truth, the split of the randomness, refusals."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import PROBLEMS, curve, sparse
from plain import moved

import latebloom as lb
from latebloom.errors import CapabilityError, InputError, UnknownNameError
from latebloom.problems import require_least_squares, require_linear
from latebloom.problems.vector.sparse_recovery import BASES, INITS, _basis

DATA = ("design", "targets", "truth", "noise")


@pytest.mark.parametrize("case", PROBLEMS, ids=str)
def test_gradient_is_autodiff(case):
    """Rung 2: the hand-written gradient against JAX's derivative of the loss."""
    params = moved(case.problem.init())
    expected = jax.grad(case.problem.loss)(params)
    for found, wanted in zip(jax.tree.leaves(case.problem.gradient(params)), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", PROBLEMS, ids=str)
def test_gradient_has_the_slope_of_the_loss(case):
    """The remainder of the first-order model falls as the square of the step: measured order 2."""
    params, problem = moved(case.problem.init()), case.problem
    direction = moved(jax.tree.map(jnp.zeros_like, params), 1.0, seed=1)
    leaves = zip(jax.tree.leaves(problem.gradient(params)), jax.tree.leaves(direction), strict=True)
    slope = sum(float(jnp.sum(g * d)) for g, d in leaves)
    sizes = np.array([1e-2, 1e-3])
    remainders = [
        abs(
            float(problem.loss(jax.tree.map(lambda w, d, t=t: w + t * d, params, direction)) - problem.loss(params))
            - t * slope
        )
        for t in sizes
    ]
    order = np.log(remainders[0] / remainders[1]) / np.log(sizes[0] / sizes[1])
    assert order == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("case", PROBLEMS, ids=str)
def test_loss_is_half_the_sum_of_squares(case):
    params = moved(case.problem.init())
    residuals = np.asarray(case.problem.residuals(params))
    assert float(case.problem.loss(params)) == pytest.approx(0.5 * residuals @ residuals, rel=1e-14)


@pytest.mark.parametrize("case", PROBLEMS, ids=str)
def test_capabilities_are_as_the_table_says(case):
    assert case.problem.linear is case.linear
    assert case.problem.degree == case.degree
    assert require_least_squares(case.problem, "this test") is case.problem
    if case.linear:
        assert require_linear(case.problem, "this test") is case.problem
    else:
        with pytest.raises(CapabilityError, match=r"this test needs a problem that is linear.*use depth=1"):
            require_linear(case.problem, "this test")


@pytest.mark.parametrize("case", [case for case in PROBLEMS if case.degree], ids=str)
def test_the_model_is_homogeneous_of_its_degree(case):
    params = moved(case.problem.init())
    scaled = case.problem.end_to_end(jax.tree.map(lambda leaf: 1.5 * leaf, params))
    expected = 1.5**case.degree * case.problem.end_to_end(params)
    np.testing.assert_allclose(scaled, expected, rtol=1e-13, atol=1e-14)


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


def test_linear_regression_random_is_reproducible_and_split():
    make = lb.problems.LinearRegression.random
    first, again, noisy = (
        make(features=8, samples=5),
        make(features=8, samples=5),
        make(features=8, samples=5, noise=1.0),
    )
    assert first == again
    assert hash(first) == hash(again)
    assert first != noisy
    np.testing.assert_array_equal(first.design, noisy.design)
    np.testing.assert_array_equal(first.truth, noisy.truth)
    np.testing.assert_allclose(first.targets, first.design @ first.truth, rtol=1e-13)


def test_sharpness_is_the_largest_curvature():
    """Rung 2: an SVD of the design, wide or tall, instead of the eigenvalues of the smaller Gram matrix."""
    for case in PROBLEMS:
        if case.linear:
            assert case.problem.sharpness() == pytest.approx(np.linalg.norm(case.problem.design, 2) ** 2, rel=1e-12)


def test_without_a_truth_there_is_no_test_error():
    problem = lb.problems.LinearRegression([[1.0, 2.0]], [3.0])
    assert np.isnan(problem.test_error(problem.init()))
    assert float(problem.train_error(problem.init())) == 1


SMALL = {"dimension": 10, "sparsity": 2, "measurements": 5}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sparsity": 11}, "sparsity=11 is more than dimension=10: use a sparsity between 1 and 10"),
        ({"sparsity": 0}, "sparsity=0 is not allowed: sparsity must be finite and at least 1"),
        ({"dimension": 0}, "dimension=0 is not allowed"),
        ({"dimension": 10.5}, "dimension=10.5 is not allowed: dimension must be a whole number, e.g. 10"),
        ({"measurements": -3}, "measurements=-3 is not allowed"),
        ({"measurements": "many"}, "measurements must be a number, not 'many'"),
        ({"depth": 0}, "depth=0 is not allowed"),
        ({"depth": 1.5}, "depth must be a whole number"),
        ({"seed": -1}, "seed=-1 is not allowed: seed must be finite and at least 0"),
        ({"seed": 0.5}, "seed must be a whole number"),
        ({"seed": float("nan")}, "seed=nan is not allowed"),
        ({"coherence": 1.1}, "coherence=1.1 is not allowed: coherence must be finite and at least 0 and at most 1"),
        ({"coherence": -0.1}, "coherence=-0.1 is not allowed"),
        ({"signal_to_noise": 0}, "signal_to_noise=0 is not allowed: signal_to_noise must be finite and above 0"),
        ({"signal_to_noise": float("nan")}, "signal_to_noise=nan is not allowed"),
        ({"init_scale": -1}, "init_scale=-1 is not allowed"),
        ({"init_scale": float("inf")}, "init_scale=inf is not allowed"),
        ({"basis": "cosin"}, "unknown basis 'cosin': did you mean 'cosine'"),
        ({"normalise": "column"}, "unknown normalise 'column': did you mean 'columns'"),
        ({"init_kind": "gausian"}, "unknown init_kind 'gausian': did you mean 'gaussian'"),
    ],
    ids=str,
)
def test_sparse_recovery_refuses_what_it_cannot_use(change, message):
    with pytest.raises(InputError, match=message):
        lb.problems.SparseRecovery(**(SMALL | change))


def test_an_unknown_choice_is_an_unknown_name():
    with pytest.raises(UnknownNameError, match="Known: cosine, identity, random"):
        lb.problems.SparseRecovery(**SMALL, basis="wavelet")


def test_large_seeds_are_kept_exactly():
    assert sparse(seed=2**53 + 1).seed == 2**53 + 1


NAN = float("nan")


@pytest.mark.parametrize(
    ("design", "targets", "options", "message"),
    [
        ([], [], {}, r"design has shape \(0,\): design must have 2 dimensions"),
        (np.zeros((0, 3)), [], {}, r"design is empty \(shape \(0, 3\)\)"),
        (np.zeros((3, 0)), [1, 2, 3], {}, r"design is empty \(shape \(3, 0\)\)"),
        ([[1.0, NAN]], [1.0], {}, "design has 1 entries that are NaN or infinite: clean the data first"),
        ([[1.0, 2.0]], [np.inf], {}, "targets has 1 entries that are NaN or infinite"),
        ([1.0, 2.0], [1.0], {}, r"design has shape \(2,\): design must have 2 dimensions"),
        ([[1.0, 2.0]], [[1.0]], {}, r"targets has shape \(1, 1\): targets must have 1 dimension$"),
        ([[1.0, 2.0]], [1.0, 2.0], {}, "targets has 2 entries and design 1 rows: give one target a row"),
        ([[1.0, 2.0]], [1.0], {"truth": [1.0]}, "truth has 1 entries and design 2 columns"),
        ([[1.0, 2.0]], [1.0], {"init": [1.0] * 3}, "init has 3 entries and design 2 columns"),
        ([[1.0, 2.0]], [1.0], {"init": [1.0, NAN]}, "init has 1 entries that are NaN"),
        ([["a", "b"]], [1.0], {}, "design must be an array of numbers, not list"),
        ([[1.0], [1.0, 2.0]], [1.0], {}, "design must be an array of numbers, not list"),
        (None, [1.0], {}, "design has"),
    ],
)
def test_linear_regression_refuses_what_it_cannot_use(design, targets, options, message):
    with pytest.raises(InputError, match=message):
        lb.problems.LinearRegression(design, targets, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": 0}, "features=0 is not allowed"),
        ({"samples": 2.5}, "samples must be a whole number"),
        ({"noise": -1}, "noise=-1 is not allowed"),
        ({"init_scale": NAN}, "init_scale=nan is not allowed"),
        ({"seed": -1}, "seed=-1 is not allowed"),
    ],
    ids=str,
)
def test_random_linear_regression_refuses_what_it_cannot_use(options, message):
    with pytest.raises(InputError, match=message):
        lb.problems.LinearRegression.random(**options)


def test_least_squares_of_any_function_has_the_gradient_of_finite_differences():
    """Rung 2: central differences; their error at 1e-5 is about 1e-10 of the third derivative plus rounding 1e-11."""
    case = PROBLEMS[-1]
    params = moved(case.problem.init())
    gradient = case.problem.gradient(params)
    for part, values in params.items():
        for i in range(len(values)):
            up, down = (params | {part: values.at[i].add(h)} for h in (1e-5, -1e-5))
            slope = float(case.problem.loss(up) - case.problem.loss(down)) / 2e-5
            assert float(gradient[part][i]) == pytest.approx(slope, abs=1e-8)


def test_least_squares_measures_from_its_start():
    problem = PROBLEMS[-1].problem
    assert float(problem.train_error(problem.init())) == pytest.approx(1, rel=1e-14)
    assert float(problem.test_error(problem.init())) == float(problem.test(problem.init()))
    untested = lb.problems.LeastSquares(problem.function, problem.init())
    assert np.isnan(untested.test_error(problem.init()))


@pytest.mark.parametrize(
    ("residuals", "init", "test", "message"),
    [
        (3, jnp.ones(2), None, "residuals must be a function of the parameters, not int"),
        (lambda w: w, jnp.ones(2), "accuracy", "test must be a function of the parameters, not str"),
        (lambda w: w, {}, None, "init has no arrays"),
        (lambda w: w["a"], {"a": jnp.array([1.0, NAN])}, None, r"init has NaN or infinite entries at \['a'\]"),
        (jnp.sum, jnp.ones(2), None, r"residuals\(init\) has shape \(\): return a non-empty vector"),
        (lambda w: jnp.outer(w, w), jnp.ones(2), None, r"residuals\(init\) has shape \(2, 2\)"),
        (lambda w: w[:0], jnp.ones(2), None, r"residuals\(init\) has shape \(0,\)"),
        (lambda w: jnp.log(w - 1.0), jnp.ones(2), None, r"residuals\(init\) has NaN or infinite entries"),
        (lambda w: w, jnp.ones(2), lambda w: w, r"test\(init\) must be one number"),
    ],
)
def test_least_squares_refuses_what_it_cannot_use(residuals, init, test, message):
    with pytest.raises(InputError, match=message):
        lb.problems.LeastSquares(residuals, init, test=test)


def test_least_squares_runs_in_float64_from_whole_numbers():
    assert lb.problems.LeastSquares(lambda w: w - 1.5, np.array([1, 2])).init().dtype == jnp.float64


def test_least_squares_runs_in_float64_from_float32():
    assert lb.problems.LeastSquares(lambda w: w - 1.5, np.ones(2, np.float32)).init().dtype == jnp.float64


def test_problems_of_different_functions_differ():
    start = jnp.array([3.0])
    first, second = (lb.problems.LeastSquares(f, start) for f in (lambda w: w - 1.0, lambda w: w - 2.0))
    assert first != second


def test_a_curve_is_what_it_says():
    """The problem that the tests of milestones use: its test error after `k` steps is the formula at `k`."""
    problem = curve(0.6, 0.5, 5e-3, 1e-4)
    for step in (0, 10, 500):
        params = problem.init() | {"w": jnp.array([1 - 0.99**step])}
        assert float(problem.test_error(params)) == pytest.approx(
            0.6 + 0.5 * np.cos(5e-3 * step) - 1e-4 * step, abs=1e-9
        )


def test_errors_are_absolute_where_there_is_nothing_to_be_relative_to():
    problem = lb.problems.LinearRegression([[3.0, 4.0]], [0.0], truth=[0.0, 0.0], init=[1.0, 1.0])
    assert float(problem.train_error(problem.init())) == 7.0
    assert float(problem.test_error(problem.init())) == pytest.approx(np.sqrt(2))
