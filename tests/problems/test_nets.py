"""The diagonal linear network, the ReLU network of one variable, and the probes of what they compute."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.errors import CapabilityError, InputError
from latebloom.probes.function import FunctionValues, Kinks, kinks
from latebloom.problems.networks.relu_net import GRID, TEACHER, ReluRegression
from latebloom.problems.vector.diagonal_net import FORMS, DiagonalNet


def diagonal(**changes) -> DiagonalNet:
    return DiagonalNet(**({"frequencies": 8, "samples": 6, "cosines": (0, 2), "sines": (5,), "seed": 1} | changes))


NETS = (*(pytest.param(diagonal(form=form), id=form) for form in FORMS), pytest.param(ReluRegression(), id="relu"))


@pytest.mark.parametrize("problem", NETS)
def test_gradient_is_autodiff(problem):
    """Rung 2: the hand-written gradient against JAX's derivative of the loss."""
    params = problem.init()
    np.testing.assert_allclose(problem.gradient(params), jax.grad(problem.loss)(params), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("problem", NETS)
def test_the_model_is_homogeneous_of_degree_two(problem):
    params = problem.init()
    found = problem.predict(1.5 * params, GRID)
    np.testing.assert_allclose(found, 2.25 * problem.predict(params, GRID), rtol=1e-12, atol=1e-12)
    assert problem.degree == 2
    assert not problem.linear


@pytest.mark.parametrize("problem", NETS)
def test_the_loss_is_the_mean_square_over_two(problem):
    """The paper's `1/(2n) Σ`, from the predictions at the samples."""
    truth = problem.teacher if isinstance(problem, ReluRegression) else None
    values = (
        problem.function(problem.truth, problem.points) if truth is None else problem.predict(truth, problem.points)
    )
    gaps = np.asarray(problem.predict(problem.init(), problem.points) - values)
    assert float(problem.loss(problem.init())) == pytest.approx(np.mean(gaps**2) / 2, rel=1e-12)


def test_the_series_is_the_printed_one():
    problem, x = DiagonalNet(), np.linspace(-1, 1, 7)
    expected = 1 + np.cos(6 * np.pi * x / 2) + np.sin(21 * np.pi * x / 2)
    np.testing.assert_allclose(problem.function(problem.truth, x), expected, atol=1e-13)
    assert problem.design.shape == (12, 61)
    assert float(jnp.abs(problem.points).max()) <= 1


def test_forms_agree_in_rotated_coordinates():
    """`u v = (p² - q²) / 2` with p, q the rotation of u, v by 45 degrees."""
    u, v = params = diagonal().init()
    rotated = jnp.stack([u + v, u - v]) / np.sqrt(2)
    product, difference = diagonal(form="product"), diagonal(form="difference")
    np.testing.assert_allclose(product.end_to_end(params), difference.end_to_end(rotated) / 2, rtol=1e-12, atol=1e-15)


def test_the_start_has_its_variance():
    """122 and 300 entries: relative deviation of a variance √(2/N), 4 sigma."""
    assert float(jnp.var(DiagonalNet().init())) == pytest.approx(0.1, rel=4 * np.sqrt(2 / 122))
    assert float(jnp.var(ReluRegression().init())) == pytest.approx(4.0, rel=4 * np.sqrt(2 / 300))


def test_the_start_does_not_change_the_data():
    np.testing.assert_array_equal(diagonal().design, diagonal(init_variance=3.0, form="difference").design)
    np.testing.assert_array_equal(ReluRegression().values, ReluRegression(width=7, init_variance=1.0).values)


def test_basis_pursuit_recovers_most_draws():
    """Rung 3: about 84 % of draws; 24 draws allow for 3 sigma below."""
    problems = [DiagonalNet(seed=seed) for seed in range(24)]
    assert np.mean([lb.oracles.recovers(lb.oracles.basis_pursuit(p), p.truth) for p in problems]) >= 0.62


def test_the_flow_ends_at_the_lasso():
    """Rung 2: the minimiser of `F + λ/2 |w|²` is the Lasso solution of strength λ, by another algorithm."""
    problem = diagonal(init_variance=0.1)
    end = lb.flow(problem, weight_decay=1e-2, time=1e5, progress=False).params
    oracle = lb.oracles.lasso(problem, 1e-2).solution
    np.testing.assert_allclose(problem.end_to_end(end), oracle, atol=1e-6)


def test_the_teacher_fits_itself():
    problem = ReluRegression()
    assert float(problem.test_error(problem.teacher)) == 0
    assert float(problem.train_error(jnp.asarray(TEACHER))) == 0
    assert float(problem.test_error(jnp.zeros((3, 4)))) == 1


def test_sharpness_is_the_curvature_along_the_worst_direction():
    """Rung 2: power iteration with finite differences of the gradient; 1e-6 is the step, kinks aside."""
    problem = ReluRegression(width=8)
    w, v = problem.init(), jnp.ones((3, 8))
    gradient = jax.jit(problem.gradient)
    for _ in range(60):
        v = (gradient(w + 1e-6 * v / jnp.linalg.norm(v)) - gradient(w)) / 1e-6
    assert problem.sharpness(w) == pytest.approx(float(jnp.linalg.norm(v)), rel=1e-4)


def test_kinks_are_counted_merged_and_weighed():
    u, v, b = [1.0, 1.0, 1.0, 1e-3, 5.0], [1.0, -1.0, 1.0, 1.0, 1.0], [0.5, -0.509, -1.0, 0.0, 9.0]
    params = jnp.array([u, v, b])
    # -0.5 and -0.509 are one kink of slope 2, 1 another, 0 is too weak and -9 outside.
    assert float(Kinks().measure(None, None, params)) == 2
    assert float(Kinks(resolution=0.0).measure(None, None, params)) == 3
    assert float(Kinks(tolerance=0.0).measure(None, None, params)) == 3
    centres, bends = kinks(params, 0.02)
    np.testing.assert_allclose(centres[:1], -0.5045, atol=1e-12)
    np.testing.assert_allclose(bends[:3], [2.0, 1e-3, 1.0], atol=1e-12)


def test_opposite_bends_cancel_and_flat_units_have_none():
    params = jnp.array([[1.0, -1.0, 3.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert float(Kinks().measure(None, None, params)) == 0


def test_function_values_are_a_column_of_a_run():
    problem = ReluRegression(width=8)
    run = lb.train(problem, lb.GradientDescent(1e-4), steps=3, probes=[FunctionValues([0.0, 1.0])], progress=False)
    np.testing.assert_allclose(run["function_values"][-1], problem.predict(run.params, [0.0, 1.0]), rtol=1e-12)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: diagonal(cosines=(9,)), "cosines=9 is not allowed.*at most 8"),
        (lambda: diagonal(sines=(0,)), "sines=0 is not allowed.*at least 1"),
        (lambda: diagonal(cosines=(2, 2)), "names a frequency twice"),
        (lambda: diagonal(sines=5), "must be a tuple of frequencies"),
        (lambda: diagonal(form="sum"), "unknown form 'sum'"),
        (lambda: diagonal(init_variance=-1), "init_variance=-1 is not allowed"),
        (lambda: ReluRegression(width=0), "width=0 is not allowed"),
        (lambda: ReluRegression(teacher=np.ones((2, 3))), "give three rows, u, v and b"),
        (lambda: ReluRegression(teacher=[[1.0], [np.nan], [0.0]]), "teacher has 1 entries that are NaN"),
        (lambda: FunctionValues([]), "points is empty"),
        (lambda: Kinks(tolerance=-1.0), "tolerance=-1.0 is not allowed"),
    ],
)
def test_bad_input_is_refused(build, words):
    with pytest.raises(InputError, match=words):
        build()


@pytest.mark.parametrize("probe", [FunctionValues([0.0]), Kinks()], ids=lambda probe: probe.column)
def test_probes_refuse_problems_without_a_function(probe):
    with pytest.raises(CapabilityError, match=r"needs a .*leave the probe out"):
        probe.check(lb.problems.SparseRecovery(), None)
