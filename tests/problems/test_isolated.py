"""Isolated dynamics: the cost against an explicit least squares, its gradient against autodiff and plain NumPy."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import TanhNet, net

import latebloom as lb
from latebloom.catalog.geometry import printed
from latebloom.problems import FastPart, Isolated

DECAYS = (0.0, 1e-3, 0.5)


PROBLEMS = (pytest.param(net(), id="modular"), pytest.param(TanhNet(), id="tanh"))


def test_a_draw_whose_matrix_lapack_calls_singular_is_no_crash():
    """At seed 3 rounding makes the 12x12 matrix of rank 8 exactly singular: the printed formula has no value there."""
    gaps = printed.compare(3)
    assert np.isinf(gaps["column_rank"][0])
    assert gaps["row_rank"][0] < 1e-10


def test_measures_in_a_loop_share_one_factorisation():
    """A record of a run asks for the loss and two errors; were the ridge computed in the loop, each would factorise."""
    isolated = Isolated(net(), 1e-3)

    @jax.jit
    def measure(problem, first):
        read = lambda w: problem.loss(w) + problem.train_error(w) + problem.test_error(w)  # noqa: E731
        return jax.lax.fori_loop(0, 3, lambda _, w: w + read(w), first)

    program = measure.lower(isolated, isolated.init()).compile()
    assert program.as_text().count("lapack_dpotrf_ffi") == 1


def test_gradient_is_equation_21_in_numpy():
    """Rung 2: the printed formula with an inverse, and with A = (HHᵀ + λI)⁻¹ for the paper's λ = weight_decay / 2."""
    problem = net()
    inputs, targets, first = (np.asarray(x) for x in (problem.inputs, problem.targets, problem.init()["first"]))
    limit = printed.bracket(inputs, targets, first) - first
    np.testing.assert_allclose(-Isolated(problem).gradient(jnp.asarray(first)), limit, rtol=1e-9, atol=1e-10)
    before, decay = inputs @ first, 0.3
    hidden = np.maximum(before, 0)
    inverse = np.linalg.inv(hidden @ hidden.T + decay * np.eye(len(hidden)))
    ridge = inputs.T @ ((inverse @ targets @ targets.T @ inverse @ hidden) * (before > 0)) - first
    np.testing.assert_allclose(-Isolated(problem, 2 * decay).gradient(jnp.asarray(first)), ridge, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("weight_decay", DECAYS[1:])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_cost_is_the_joint_minimum(problem, weight_decay):
    """Rung 1: R is F + λ/2|θ|² at an explicit ridge regression (lstsq on stacked rows), and nothing is below it."""
    isolated = Isolated(problem, weight_decay)
    first = isolated.init()
    hidden, targets = np.asarray(problem.features(first)), np.asarray(problem.targets)
    width = hidden.shape[1]
    rows = np.vstack([np.sqrt(problem.weight) * hidden, np.sqrt(weight_decay) * np.eye(width)])
    right = np.vstack([np.sqrt(problem.weight) * targets, np.zeros((width, targets.shape[1]))])
    second = np.linalg.lstsq(rows, right, rcond=None)[0]
    np.testing.assert_allclose(isolated.complete(first)["second"], second, atol=1e-9)

    def joint(second):
        params = {"first": first, "second": second}
        return float(problem.loss(params) + lb.L2(weight_decay).value(params))

    assert weight_decay * float(isolated.loss(first)) == pytest.approx(joint(second), rel=1e-10)
    bump = np.random.default_rng(3).normal(size=second.shape)
    assert all(joint(second + step * bump) > joint(second) for step in (-1e-3, 1e-3))


def test_gradient_is_the_envelope():
    """Theorem 5.1: the gradient of R is the partial derivative of the joint objective at the best second part."""
    problem, weight_decay = net(), 0.05
    isolated = Isolated(problem, weight_decay)
    params = isolated.complete(isolated.init())
    total = jax.tree.map(lambda g, h: g + h, problem.gradient(params), lb.L2(weight_decay).subgradient(params))
    np.testing.assert_allclose(weight_decay * isolated.gradient(isolated.init()), total["first"], atol=1e-11)
    assert float(jnp.abs(total["second"]).max()) < 1e-11


def test_the_limit_interpolates_with_least_norm():
    problem = net()
    isolated = Isolated(problem)
    first = isolated.init()
    second = np.linalg.pinv(np.asarray(problem.features(first))) @ np.asarray(problem.targets)
    np.testing.assert_allclose(isolated.complete(first)["second"], second, atol=1e-9)
    np.testing.assert_allclose(second, problem.init()["second"], atol=1e-9)
    assert float(isolated.loss(first)) == pytest.approx((np.sum(np.asarray(first) ** 2) + np.sum(second**2)) / 2)
    assert float(isolated.train_error(first)) < 1e-9
    near = Isolated(problem, 1e-9)
    assert float(near.loss(first)) == pytest.approx(float(isolated.loss(first)), rel=1e-5)


def test_train_is_the_euler_iteration_of_the_paper():
    problem, rate = net(), 1e-3
    isolated = Isolated(problem)
    run = lb.train(isolated, lb.GradientDescent(rate), steps=50, progress=False)
    first = np.asarray(problem.init()["first"])
    for _ in range(50):
        first = first + rate * (printed.bracket(np.asarray(problem.inputs), np.asarray(problem.targets), first) - first)
    np.testing.assert_allclose(run.params, first, atol=1e-9)
    assert run["train_error"].max() < 1e-9
    assert run.milestones.memorised.when == 0


def test_flow_lowers_the_cost():
    run = lb.flow(Isolated(net()), time=0.5, rtol=1e-2, atol=1e-3, records_per_decade=10, progress=False)
    assert run.outcome.sentence == "finished at time 0.5"
    assert np.diff(run["train_loss"]).max() < 1e-6 * run["train_loss"][0]


def test_a_faster_part_is_a_larger_learning_rate_on_it():
    """Rung 2: κ times the step on one part, decay included, by hand."""
    problem, speed, rate, decay = net(second="zero"), 9.0, 1e-3, 0.2
    faster = FastPart(problem, "second", speed)
    run = lb.train(faster, lb.GradientDescent(rate), faster.decay(decay), steps=20, progress=False)
    params = {name: np.asarray(part) for name, part in problem.init().items()}
    for _ in range(20):
        slope = problem.gradient(params)
        rates = {"first": rate, "second": speed * rate}
        params = {name: w - rates[name] * (np.asarray(slope[name]) + decay * w) for name, w in params.items()}
    found = faster.original({name: jnp.asarray(part) for name, part in run.params.items()})
    for name in params:
        np.testing.assert_allclose(found[name], params[name], atol=1e-12)
    assert run.final["test_error"] == float(problem.test_error(params))


def test_an_infinitely_fast_second_part_is_the_isolated_dynamics():
    """Rung 2, SciPy's integrator: the gap to the isolated flow falls as 1/κ, so ten times the speed, a tenth of it."""
    from jax.flatten_util import ravel_pytree
    from scipy.integrate import solve_ivp

    problem, decay, until = TanhNet(), 0.1, 0.2

    def end(what, penalty, start, time):
        flat, back = ravel_pytree(start)

        @jax.jit
        def field(_, w):
            slope = ravel_pytree(what.gradient(back(w)))[0]
            return -slope if penalty is None else -slope - ravel_pytree(penalty.subgradient(back(w)))[0]

        return back(solve_ivp(field, (0, time), np.asarray(flat), method="LSODA", rtol=1e-8, atol=1e-10).y[:, -1])

    isolated = Isolated(problem, decay)
    limit, best = end(isolated, None, isolated.init(), until), isolated.complete(isolated.init())
    gaps = []
    for speed in (30.0, 300.0):
        faster = FastPart(problem, "second", speed)
        start = best | {"second": best["second"] / np.sqrt(speed)}
        first = end(faster, faster.decay(decay), start, until / decay)["first"]
        gaps.append(float(jnp.abs(first["kernel"] - limit["kernel"]).max()))
    assert 6 < gaps[0] / gaps[1] < 14


def test_a_ridge_makes_up_for_narrow_features():
    isolated = Isolated(net(width=10), 0.1)
    assert np.isfinite(isolated.loss(isolated.init()))
    assert float(isolated.train_error(isolated.init())) > 0.01
