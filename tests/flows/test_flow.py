"""`flow` against closed forms, SciPy and `train`; crossings, kinks and endings."""

from __future__ import annotations

from functools import cache
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
from latebloom.engine.scheduler import schedule
from latebloom.flows import FlowJob
from latebloom.probes import ALWAYS, Components, GradientRatio
from latebloom.store import Store

DECAY, UNTIL = 1e-2, 1e3


def regression(seed: int = 0, **changes: Any) -> lb.problems.LinearRegression:
    """Five equations, eight unknowns; every test that can uses these sizes, so that they share compiled programs."""
    return lb.problems.LinearRegression.random(
        **({"features": 8, "samples": 5, "init_scale": 3.0, "seed": seed} | changes)
    )


def factors(seed: int = 1) -> lb.problems.MatrixCompletion:
    return completion(width=3, init_scale=0.5, seed=seed)


def flow(problem=None, **options) -> lb.Run:
    defaults = {"weight_decay": DECAY, "time": UNTIL, "probes": [Components()], "progress": False}
    return lb.flow(regression() if problem is None else problem, **(defaults | options))


# Closed form


def closed_form(problem, times, weight_decay=DECAY) -> np.ndarray:
    """`w(t) = w* + exp(-t(XᵀX + λI)) (w_0 - w*)` in the eigenbasis, a row for every time."""
    design = np.asarray(problem.design)
    values, basis = np.linalg.eigh(design.T @ design + weight_decay * np.eye(design.shape[1]))
    limit = basis.T @ (design.T @ np.asarray(problem.targets)) / values
    start = basis.T @ np.asarray(problem.init())
    return (limit + np.exp(-np.atleast_1d(times)[:, None] * values) * (start - limit)) @ basis.T


def gap(run, problem) -> float:
    return float(np.abs(run["components"] - closed_form(problem, run["time"])).max())


def test_the_records_are_those_of_the_closed_form():
    """Rung 1, at every record over nine decades of time; the error follows the tolerance."""
    # From 1e-5 on: above, the 50 records a decade shorten the steps more than the tolerance does.
    problem, tolerances = regression(), np.array([1e-5, 1e-6, 1e-7, 1e-8])
    gaps = np.array([gap(flow(problem, rtol=rtol, atol=1e-3 * rtol), problem) for rtol in tolerances])
    # A step's error is of third order, that of the whole flow of second: between tol^(2/3) and tol.
    assert 0.5 < np.polyfit(np.log(tolerances), np.log(gaps), 1)[0] < 1.2
    assert (gaps < 10 * tolerances ** (2 / 3)).all()
    assert gap(flow(problem), problem) < 1e-3


def test_the_milestones_are_crossings_of_the_closed_form():
    problem = regression()
    path = closed_form(problem, [0.0, UNTIL])
    errors = {"memorised_at": problem.train_error, "generalised_at": problem.test_error}
    # Thresholds in the middle of where each error comes from and goes to.
    middle = {name: float(np.sqrt(error(path[0]) * error(path[1]))) for name, error in errors.items()}
    run = flow(problem, rtol=1e-7, atol=1e-10, **middle)
    for name, error in errors.items():
        above = lambda t, error=error, name=name: float(error(closed_form(problem, t)[0])) - middle[name]  # noqa: E731
        milestone = getattr(run.milestones, name.removesuffix("_at"))
        assert milestone.clock == "time"
        assert milestone.first.pinned
        # 1e-5: the tolerance of the flow to the power 2/3, and what it accumulates.
        assert milestone.time == pytest.approx(brentq(above, 0.0, UNTIL, xtol=1e-12), rel=1e-5)
        assert milestone.first == milestone.stable
        assert milestone.lost is None
    assert run.milestones.delay == run.milestones.generalised.time - run.milestones.memorised.time


def test_without_weight_decay_the_null_space_stays():
    problem = regression()
    run = flow(problem, weight_decay=0.0)
    _, _, basis = np.linalg.svd(np.asarray(problem.design))
    np.testing.assert_allclose(basis[5:] @ run.params, basis[5:] @ np.asarray(problem.init()), atol=1e-12)


# Independent implementations


def by_scipy(problem, weight_decay, times, method="LSODA") -> list[Any]:
    """The parameters at these times."""
    start, unravel = ravel_pytree(problem.init())
    slope = jax.jit(lambda w: -ravel_pytree(problem.gradient(unravel(w)))[0] - weight_decay * w)
    answer = solve_ivp(
        lambda t, w: np.asarray(slope(w)),
        (0, times[-1]),
        np.asarray(start),
        method,
        t_eval=times,
        rtol=1e-10,
        atol=1e-12,
    )
    return [unravel(jnp.asarray(w)) for w in answer.y.T]


@pytest.mark.parametrize("method", ["LSODA", "BDF"])
def test_matrix_completion_is_that_of_scipy(method):
    """Rung 2."""
    problem = factors()
    run = flow(problem, weight_decay=1e-3, time=1e4, rtol=1e-6, atol=1e-9, probes=())
    rows = np.arange(0, len(run["time"]), 40)
    rows = rows if rows[-1] == len(run["time"]) - 1 else np.append(rows, len(run["time"]) - 1)
    reference = by_scipy(problem, 1e-3, run["time"][rows], method)
    for column in ("train_error", "test_error"):
        expected = [float(getattr(problem, column)(params)) for params in reference]
        np.testing.assert_allclose(run[column][rows], expected, rtol=1e-3, atol=1e-5)
    for name, layer in run.params.items():
        np.testing.assert_allclose(layer, reference[-1][name], atol=1e-4)


def test_train_approaches_the_flow_linearly_in_its_learning_rate():
    problem, until = factors(), 20.0
    end = flow(problem, weight_decay=1e-2, time=until, rtol=1e-8, atol=1e-11, probes=()).params
    rates = np.array([4e-2, 2e-2, 1e-2])
    gaps = []
    for rate in rates:
        run = lb.train(problem, lb.GradientDescent(rate), lb.L2(1e-2), steps=round(until / rate), progress=False)
        gaps.append(max(np.abs(run.params[name] - end[name]).max() for name in end))
    assert np.polyfit(np.log(rates), np.log(gaps), 1)[0] == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("solver", ["tsit5", "dopri8", "kvaerno3"])
def test_other_solvers_agree(solver):
    problem = regression()
    run = flow(problem, solver=solver, rtol=1e-7, atol=1e-10)
    assert run.outcome.ending is Ending.FINISHED
    assert run.configuration["dynamics"]["solver"] == solver
    assert gap(run, problem) < 1e-5
    ours = flow(problem, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(run.params, ours.params, rtol=0, atol=1e-5)


# What is recorded


def test_the_last_record_is_measured_at_the_parameters():
    problem, penalty, probes = regression(), lb.L2(DECAY), (Components(), GradientRatio())
    run = flow(problem, weight_decay=0.0, penalty=penalty, probes=probes)
    for probe in (*ALWAYS, *probes):
        expected = probe.measure(problem, penalty, jnp.asarray(run.params))
        np.testing.assert_allclose(run[probe.column][-1], expected, rtol=1e-12, atol=1e-18, err_msg=probe.column)
    assert set(run.columns) == {"time", "slow_time"} | {probe.column for probe in (*ALWAYS, *probes)}
    np.testing.assert_allclose(run["components"][-1], run.params, rtol=1e-15)


def test_the_clocks():
    run = flow(learning_rate=1e-2)
    assert run["time"][0] == 0
    assert run["time"][-1] == UNTIL == run.outcome.step
    assert (np.diff(run["time"]) > 0).all()
    np.testing.assert_allclose(run["slow_time"], DECAY * run["time"], rtol=1e-15)
    np.testing.assert_allclose(run["step"], run["time"] / 1e-2, rtol=1e-15)
    assert ((run["time"] >= 1) & (run["time"] < 10)).sum() >= 50
    assert "step" not in flow().columns


def test_weight_decay_is_the_l2_penalty():
    same(flow(), flow(weight_decay=0.0, penalty=lb.L2(DECAY)))


def same(one: lb.Run, other: lb.Run) -> None:
    assert one.configuration == other.configuration
    assert one.columns.keys() == other.columns.keys()
    for name in one.columns:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    jax.tree.map(np.testing.assert_array_equal, one.params, other.params)
    assert one.outcome == other.outcome
    assert one.milestones == other.milestones


def test_a_batch_is_its_single_flows():
    jobs = [
        FlowJob(regression(seed), lb.L2(decay), time=UNTIL, probes=[Components()])
        for seed in (0, 1)
        for decay in (1e-2, 1e-3)
    ]
    batch = lb.run(jobs, progress=False)
    for job, run in zip(jobs, batch, strict=True):
        same(run, lb.run(job, progress=False))
    assert len({run.params.tobytes() for run in batch}) == 4


def test_records_are_reported_as_they_are_made():
    seen: list[np.ndarray] = []
    job = FlowJob(regression(), lb.L2(DECAY), time=UNTIL, probes=[Components()])
    (run,) = schedule([job], emit=lambda number, rows: seen.append(rows["time"]), progress=False)
    np.testing.assert_array_equal(np.concatenate(seen), run["time"])
    assert len(seen) > 5


def test_a_second_flow_compiles_nothing(compiles):
    flow()
    with compiles() as count:
        flow(regression(7, noise=0.1), time=77.0, rtol=1e-5, atol=1e-8, memorised_at=0.1, max_gradients=10**6)
    assert count() == 0


def test_another_weight_decay_compiles_nothing(compiles):
    flow()
    with compiles() as count:
        flow(weight_decay=3e-3)
    assert count() == 0


@pytest.mark.parametrize(
    "job",
    [
        FlowJob(regression(), lb.L2(DECAY), time=UNTIL),
        FlowJob(regression(), lb.L2(DECAY), time=UNTIL, solver="tsit5"),
        lb.SlowFlowJob(regression(), None, slow_time=8.0),
    ],
    ids=["stabilised", "tsit5", "slow"],
)
def test_the_steps_are_compiled_once(job):
    """A start of other types than what follows it would compile them again: it did, 2 s of the first answer."""
    (batch,) = job.batches({0: job}, 1)
    batch.compile()
    start = batch.trees()["progress"]
    after = batch._advance(start, batch.times[:0], 0)[0]
    types = [[getattr(leaf, "aval", leaf) for leaf in jax.tree.leaves(tree)] for tree in (start, after)]
    assert types[0] == types[1]


# Kinks


def relu_net(params):
    inputs = jnp.linspace(-1.0, 1.0, 7)
    hidden = jax.nn.relu(params["in"][:, None] * inputs + params["bias"][:, None])
    return params["out"] @ hidden - jnp.sin(3 * inputs)


def net() -> lb.problems.LeastSquares:
    random = np.random.default_rng(3)
    start = {"in": random.normal(size=6), "bias": 0.5 * random.normal(size=6), "out": 0.5 * random.normal(size=6)}
    return lb.problems.LeastSquares(relu_net, start, label="relu")


@cache
def small_steps(until: float, rate: float) -> Any:
    """The relu net by gradient descent with a small learning rate."""
    return lb.train(net(), lb.GradientDescent(rate), lb.L2(1e-3), steps=round(until / rate), progress=False)


def test_a_flow_passes_kinks():
    """A relu net: units switch on and off at single points."""
    run = flow(net(), weight_decay=1e-3, time=100.0, probes=(), max_gradients=2_000_000)
    assert run.outcome.ending is Ending.FINISHED
    reference = small_steps(100.0, 1e-3)
    for name, layer in run.params.items():
        np.testing.assert_allclose(layer, reference.params[name], atol=2e-2)
    assert run["train_loss"][-1] == pytest.approx(reference["train_loss"][-1], rel=2e-2)


# Endings


def test_a_spent_budget_keeps_what_was_done():
    whole, run = flow(), flow(max_gradients=500)
    assert run.outcome.ending is Ending.BUDGET
    assert run.outcome.sentence.startswith("budget of 500 gradients spent at time")
    assert "raise max_gradients" in run.outcome.sentence
    assert not run.outcome.failed
    assert 0 < run["time"][-1] == run.outcome.step < UNTIL
    np.testing.assert_array_equal(run["components"][-1], run.params)
    made = len(run["time"]) - 1
    np.testing.assert_array_equal(run["components"][:made], whole["components"][:made])
    # A step may go over it, by its own stages.
    assert 500 <= run.provenance["gradients"] < 700


def root(params):
    return jnp.sqrt(params - 0.5)


def test_a_loss_that_becomes_nan_ends_the_flow_there():
    """`w' = -1/2` from 1 comes to 1/2, and there is no loss beyond."""
    problem = lb.problems.LeastSquares(root, jnp.ones(1), label="root")
    run = flow(problem, weight_decay=0.0, time=10.0, probes=())
    assert run.outcome.ending is Ending.NOT_FINITE
    assert run.outcome.failed
    assert run.outcome.step == pytest.approx(1.0, rel=1e-3)
    assert run.outcome.sentence.startswith("no finite step from time")
    assert np.isfinite(run["train_loss"]).all()
    assert np.isfinite(run.params).all()


def test_a_loss_that_overflows_at_the_start_ends_there():
    problem = lb.problems.LeastSquares(lambda w: w - 1.0, jnp.array([1e200]), label="far")
    run = flow(problem, weight_decay=0.0, time=10.0, probes=())
    assert run.outcome.ending is Ending.NOT_FINITE
    assert run.outcome.step == 0
    assert len(run["time"]) == 1


def test_a_start_at_rest_stays():
    problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0], truth=[1.0, 1.0], init=[1.0, 1.0])
    run = flow(problem, weight_decay=0.0, probes=())
    assert run.outcome.ending is Ending.FINISHED
    np.testing.assert_array_equal(run.params, [1.0, 1.0])


# Kept and drawn


def test_a_flow_is_saved_and_loaded(tmp_path):
    run, store = flow(memorised_at=0.1), Store(tmp_path)
    same(run, lb.load(run.save(store), store))


def test_a_flow_as_a_table():
    table = flow().to_frame()
    assert {"time", "slow_time", "train_error", "components[7]"} <= set(table.columns)
    assert len(table) == len(flow()["time"])


def test_a_flow_is_drawn():
    import matplotlib.pyplot as plt

    figure = flow(memorised_at=0.1).plot()
    assert figure.axes
    plt.close(figure)


def test_a_record_of_a_flow_is_looked_up_by_its_time():
    run = flow()
    assert run.record(time=UNTIL)["time"] == UNTIL


def test_a_flow_reads_as_a_sentence():
    text = repr(flow(memorised_at=0.1))
    assert "finished at time 1000" in text
    assert "memorised at time" in text


def test_mechanism_weight_decay_is_what_moves_the_null_space():
    """A claim that can fail: without decay the distance of the closed form is not met."""
    problem = regression()
    assert gap(flow(problem, weight_decay=0.0), problem) > 0.1


# Batches


def test_a_batch_over_weight_decay_and_scale_is_its_single_flows():
    cells = [(regression(init_scale=1.0), DECAY), (regression(init_scale=3.0), 2 * DECAY)]
    jobs = [FlowJob(problem, lb.L2(decay), time=UNTIL, probes=[Components()]) for problem, decay in cells]
    for run, (problem, decay) in zip(lb.run(jobs, progress=False), cells, strict=True):
        same(run, flow(problem, weight_decay=decay))
