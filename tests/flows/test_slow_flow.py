"""`slow_flow` against closed forms, SciPy and `flow` at small λ; degenerate limits, metrics and endings."""

from __future__ import annotations

import signal
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import completion
from jax.flatten_util import ravel_pytree
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import latebloom as lb
from latebloom.engine.outcome import Ending
from latebloom.probes import ALWAYS, Components, Trajectory
from latebloom.zero_loss.normal_equations import DENSE

UNTIL = 8.0


def regression(seed: int = 0, **changes: Any) -> lb.problems.LinearRegression:
    """Five equations, eight unknowns; every test that can uses these sizes, so that they share compiled programs."""
    return lb.problems.LinearRegression.random(
        **({"features": 8, "samples": 5, "init_scale": 3.0, "seed": seed} | changes)
    )


def factors(seed: int = 1) -> lb.problems.MatrixCompletion:
    """Thirty residuals of which six are zero for ever, in 55 parameters."""
    return completion(width=5, init_scale=0.7, truth_norm=3.0, seed=seed)


def slow_flow(problem=None, **options) -> lb.Run:
    defaults = {"slow_time": UNTIL, "probes": [Components()], "progress": False}
    return lb.slow_flow(regression() if problem is None else problem, **(defaults | options))


# Closed forms


def regression_path(problem, slow_times) -> np.ndarray:
    """`w_ls + e^-s (Φ(w0) - w_ls)`, with Φ the orthogonal projection onto `X w = y`."""
    design, start = np.asarray(problem.design), np.asarray(problem.init())
    inverse = np.linalg.pinv(design)
    least = inverse @ np.asarray(problem.targets)
    limit = start - inverse @ (design @ start - np.asarray(problem.targets))
    return least + np.exp(-np.asarray(slow_times))[:, None] * (limit - least)


def test_linear_regression_is_the_closed_form_at_every_record():
    """Rung 1; the error follows the tolerance."""
    problem, gaps = regression(), []
    tolerances = (1e-3, 1e-5, 1e-7)
    for rtol in tolerances:
        run = slow_flow(problem, rtol=rtol)
        assert run.outcome.ending is Ending.FINISHED
        gaps.append(np.abs(run["components"] - regression_path(problem, run["slow_time"])).max())
    assert gaps[1] < 1e-4
    # A step's error estimate is of third order and its error of fourth: globally tol to tol^(2/3).
    assert 0.6 < np.polyfit(np.log(tolerances), np.log(gaps), 1)[0] < 1.2


def test_the_milestones_are_those_of_the_closed_form():
    problem = regression()
    error = lambda s: float(problem.test_error(regression_path(problem, [s])[0]))  # noqa: E731
    threshold = np.sqrt(error(0.0) * error(UNTIL))
    run = slow_flow(problem, generalised_at=threshold, rtol=1e-7)
    generalised = run.milestones.generalised
    assert run.milestones.memorised.when == 0
    assert generalised.clock == "slow_time"
    assert generalised.when == pytest.approx(brentq(lambda s: error(s) - threshold, 0.0, UNTIL), rel=1e-5)
    assert generalised.time is None
    assert f"generalised at slow time {generalised.when:.5g}" in str(run.milestones)
    shown = run.milestones.to_json(None)["generalised"]
    assert shown["time"] is None
    assert shown["slow_time"] == generalised.when


def product(w):
    return jnp.array([w[0] * w[1] - 1.0])


HYPERBOLA = lb.problems.LeastSquares(product, jnp.array([0.3, 2.5]), label="hyperbola")


def hyperbola_path(slow_times) -> np.ndarray:
    """On `w1 w2 = 1` the slow flow of |w|²/2 is `w1² - w2² = c(s)` with `c' = -2c·...`, solved for u = log w1.

    `w = (e^u, e^-u)` has tangent `(e^u, -e^-u)` of squared length `2 cosh 2u` and `<w, tangent> = 2 sinh 2u`, so
    `u' = -tanh 2u` and `sinh 2u = e^-2s sinh 2u0`.
    """
    gap = 0.3**2 - 2.5**2  # kept by the unregularised flow
    squared = (gap + np.hypot(gap, 2.0)) / 2
    u = np.arcsinh(np.exp(-2 * np.asarray(slow_times)) * np.sinh(np.log(squared))) / 2
    return np.column_stack([np.exp(u), np.exp(-u)])


def test_a_hyperbola_is_the_closed_form():
    run = slow_flow(HYPERBOLA, probes=[Trajectory()], rtol=1e-7)
    np.testing.assert_allclose(run["parameters"], hyperbola_path(run["slow_time"]), atol=1e-6)


def test_starting_the_closed_form_elsewhere_would_be_seen():
    """The start is Φ(w0), the end of the flow, and not the point of the set that is nearest to w0."""
    run = slow_flow(HYPERBOLA, probes=[Trajectory()], rtol=1e-7)
    nearest = lb.zero_loss.retraction(HYPERBOLA, HYPERBOLA.init())
    assert np.linalg.norm(run["parameters"][0] - nearest) > 1e-3


# Independent implementations


def by_scipy(problem, start, slow_times, metric=1.0) -> np.ndarray:
    """The projected field by NumPy's least squares and DOP853, without any retraction."""
    unravel = ravel_pytree(problem.init())[1]
    jacobian = jax.jit(jax.jacobian(lambda w: problem.residuals(unravel(w))))

    def field(_, w):
        root = np.sqrt(metric)
        scaled = np.asarray(jacobian(w)) * root
        return -root * (root * w - np.linalg.pinv(scaled, rcond=1e-10) @ (scaled @ (root * w)))

    answer = solve_ivp(field, (0, slow_times[-1]), start, "DOP853", t_eval=slow_times, rtol=1e-8, atol=1e-10)
    return answer.y.T


def test_matrix_completion_is_that_of_scipy():
    """Rung 2."""
    problem = factors()
    run = slow_flow(problem, slow_time=4.0, probes=[Trajectory()], rtol=1e-7)
    rows = np.arange(0, len(run["slow_time"]), 40)
    expected = by_scipy(problem, run["parameters"][0], run["slow_time"][rows])
    np.testing.assert_allclose(run["parameters"][rows], expected, atol=2e-5)
    assert run["train_error"].max() < 1e-5


def preconditioned(problem, metric, weight_decay, until) -> np.ndarray:
    """`w' = -D(∇F + λw)` by SciPy's LSODA."""
    slope = jax.jit(lambda w: -metric * (problem.gradient(w) + weight_decay * w))
    answer = solve_ivp(
        lambda t, w: np.asarray(slope(w)), (0, until), np.asarray(problem.init()), "LSODA", rtol=1e-10, atol=1e-12
    )
    return answer.y[:, -1]


def test_a_metric_is_the_limit_of_the_preconditioned_flow():
    """Rung 2: the gap to `w' = -D(∇F + λw)` at slow time 1 falls as λ."""
    metric = np.array([3.0, 0.5])
    run = slow_flow(HYPERBOLA, slow_time=1.0, probes=[Trajectory()], rtol=1e-8, metric=metric)
    gaps = [np.linalg.norm(preconditioned(HYPERBOLA, metric, s, 1 / s) - run.params) for s in (1e-2, 1e-3)]
    assert gaps[1] < 3e-3
    assert np.log10(gaps[0] / gaps[1]) == pytest.approx(1, abs=0.1)
    plain = slow_flow(HYPERBOLA, slow_time=1.0, probes=[Trajectory()])
    assert np.linalg.norm(plain.params - run.params) > 10 * gaps[1]


def test_many_residuals_by_conjugate_gradients_are_those_of_scipy():
    problem = completion(shape=(7, 7), observed=30, width=4, init_scale=0.7, truth_norm=3.0)
    assert problem.residuals(problem.init()).size > DENSE
    run = slow_flow(problem, slow_time=1.0, probes=[Trajectory()], rtol=1e-6)
    expected = by_scipy(problem, run["parameters"][0], np.array([0.0, 1.0]))[-1]
    np.testing.assert_allclose(run["parameters"][-1], expected, atol=1e-4)


# Degenerate limits


def test_a_limit_where_the_jacobian_vanishes_is_approached():
    """`w1 w2 = 0`: along an axis to the origin, `w = e^-s Φ(w0)`, where J = 0."""
    cross = lb.problems.LeastSquares(lambda w: w[:1] * w[1:], jnp.array([1.2, 2.2]), label="cross")
    run = slow_flow(cross, slow_time=30.0, probes=[Trajectory()])
    assert run.outcome.ending is Ending.FINISHED
    start = run["parameters"][0]
    np.testing.assert_allclose(start, [0.0, np.sqrt(2.2**2 - 1.2**2)], atol=1e-4)
    assert np.linalg.norm(run.params) < 1e-6
    middle = run["slow_time"] < 3
    np.testing.assert_allclose(run["parameters"][middle, 1], start[1] * np.exp(-run["slow_time"][middle]), rtol=1e-3)


def test_a_limit_of_low_rank_is_the_minimum_nuclear_norm():
    """The rank falls from 5 to 2 and J loses rank with it; the limit is the oracle's."""
    problem = factors()
    run = slow_flow(problem, slow_time=60.0, probes=[Trajectory()])
    assert run.outcome.ending is Ending.FINISHED
    answer = lb.oracles.min_nuclear_norm(problem)
    matrix = np.asarray(problem.end_to_end(run.params))
    assert np.linalg.norm(matrix - answer.solution) < 2e-2 * np.linalg.norm(answer.solution)
    unravel = ravel_pytree(problem.init())[1]
    first, last = (float(lb.zero_loss.kkt_residual(problem, unravel(run["parameters"][row]))) for row in (0, -1))
    assert last < 1e-2 * first
    assert run["train_error"][-1] < 1e-9


# What is recorded


def test_the_last_record_is_measured_at_the_parameters():
    problem = regression()
    run = slow_flow(problem)
    for probe in (*ALWAYS, Components()):
        expected = probe.measure(problem, lb.L2(1.0), jnp.asarray(run.params))
        np.testing.assert_allclose(run[probe.column][-1], expected, rtol=1e-12, atol=1e-18, err_msg=probe.column)
    assert set(run.columns) == {"slow_time"} | {probe.column for probe in (*ALWAYS, Components())}
    assert run["slow_time"][0] == 0
    assert run["slow_time"][-1] == UNTIL == run.outcome.step
    assert run.clock == "slow_time"
    assert run.provenance["steps"] < 60
    np.testing.assert_allclose(run.record(slow_time=1.0)["slow_time"], 1.0, rtol=0.05)


def test_the_strength_of_the_penalty_drops_out():
    one, other = slow_flow(), slow_flow(penalty=lb.L2(1e-3))
    np.testing.assert_allclose(one.params, other.params, rtol=1e-12)


def test_a_second_slow_flow_compiles_nothing(compiles):
    slow_flow()
    with compiles() as count:
        slow_flow(
            regression(7), slow_time=5.0, rtol=1e-5, atol=1e-8, memorised_at=0.1, max_gradients=10**6, residual=1e-9
        )
        slow_flow(penalty=lb.L2(0.3))
    assert count() == 0


def test_a_slow_flow_is_stored_and_drawn(tmp_path):
    from latebloom.store import Store

    job, store = lb.SlowFlowJob(regression(), None, slow_time=UNTIL, probes=[Components()]), Store(tmp_path / "store")
    first, second = lb.run(job, store=store), lb.run(job, store=store)
    np.testing.assert_array_equal(first["components"], second["components"])
    assert second.clock == "slow_time"
    assert second.milestones == first.milestones
    assert "slow time" in second.plot().axes[0].get_xlabel()


# Endings


def test_a_slow_flow_that_never_began_is_stored_and_drawn(tmp_path):
    from latebloom.store import Store

    problem = lb.problems.LeastSquares(lambda w: jnp.array([w[0], w[0] - 1.0]), jnp.ones(2), name="no zero loss")
    job, store = lb.SlowFlowJob(problem, None, slow_time=UNTIL), Store(tmp_path / "store")
    first, second = lb.run(job, store=store), lb.run(job, store=store)
    assert first.outcome == second.outcome
    assert second.outcome.ending is Ending.NO_ZERO_LOSS
    assert second.plot().axes


def test_no_zero_loss_says_how_far_it_got():
    tall = regression(features=4, samples=9, noise=0.5)
    run = slow_flow(tall)
    least = np.linalg.lstsq(np.asarray(tall.design), np.asarray(tall.targets))[1][0]
    assert run.outcome.ending is Ending.NO_ZERO_LOSS
    assert run.outcome.failed
    assert f"|r| = {np.sqrt(least):.3g} where its gradient vanishes (9 residuals, 4 parameters)" in run.outcome.sentence
    assert len(run["slow_time"]) == 1


def test_a_budget_spent_on_the_way_to_zero_loss():
    run = slow_flow(max_gradients=100)
    assert run.outcome.ending is Ending.NO_ZERO_LOSS
    assert "raise max_gradients" in run.outcome.sentence


def test_a_budget_spent_on_the_way():
    whole = slow_flow()
    run = slow_flow(max_gradients=whole.provenance["gradients"] - 40)
    assert run.outcome.ending is Ending.BUDGET
    assert 0 < run.outcome.step < UNTIL
    np.testing.assert_array_equal(run["components"][-1], run.params)


def root(w):
    return jnp.sqrt(w[:1] - 0.5) * (w[:1] - 4.0)


def test_a_loss_that_becomes_nan_ends_the_flow_there():
    """From 1 the flow comes to 1/2 and there is no loss beyond."""
    run = slow_flow(lb.problems.LeastSquares(root, jnp.ones(2), label="root"), probes=())
    assert run.outcome.ending in {Ending.NOT_FINITE, Ending.NO_ZERO_LOSS}
    assert np.isfinite(run.params).all()


def test_ctrl_c_returns_what_was_done():
    slow_flow(rtol=1e-12, atol=1e-13)
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    run = slow_flow(regression(3), slow_time=5e5, rtol=1e-12, atol=1e-13)
    timer.cancel()
    assert run.outcome.ending is Ending.INTERRUPTED
    assert "interrupted at slow time" in run.outcome.sentence
