"""Descent on the logarithm of the loss: closed form, plain descent with rate η/F, losses of 1e-1000, and `log_time`."""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.engine import milestones
from latebloom.probes import TrainLogLoss
from latebloom.problems import DiagonalClassifier, LabelledPoints, SparseSigns

RATE = 0.05
DATA = SparseSigns(dimension=12, samples=6, test_samples=50, seed=3)


def one_point(depth=1):
    """`F = e^{-(u^L - v^L)}`."""
    return DiagonalClassifier(LabelledPoints([[1.0]], [1]), depth=depth, loss_kind="exponential")


@pytest.fixture(scope="module")
def late():
    """A diagonal network long after its loss has left the floats."""
    problem = DiagonalClassifier(DATA, init_scale=0.3)
    method = lb.LogLossDescent(RATE)
    return problem, lb.train(problem, method, steps=400, probes=[TrainLogLoss()], memorised_at=1e-9, generalised_at=0.3)


def test_closed_form_linear_descent_and_a_geometric_sum():
    """`log F` is linear in the step, and the time is `Σ η e^{2ηk}`, past 10^(10^2)."""
    eta, steps = 0.25, 4000
    run = lb.train(one_point(), lb.LogLossDescent(eta), steps=steps, probes=[TrainLogLoss()])
    k = run["step"]
    np.testing.assert_allclose(run["train_log_loss"], -2.0 * eta * k, rtol=1e-12)
    ratio = 2 * eta
    expected = np.log(eta) + ratio * k[1:] + np.log1p(-np.exp(-ratio * k[1:])) - np.log(np.expm1(ratio))
    np.testing.assert_allclose(run["log_time"][1:], expected, rtol=1e-12)
    assert run["log_time"][0] == -np.inf
    assert run.final["log_time"] / np.log(10) > 800
    assert run.final["train_loss"] == 0.0
    assert run.outcome.sentence == "finished after 4,000 steps"


@pytest.mark.parametrize("kind", ["logistic", "exponential"])
def test_plain_descent_with_the_rate_over_the_loss(kind):
    """Rung 2: while the loss is a float, every step is `w - (η/F) ∇F` in NumPy, and the time is `Σ η/F`."""
    problem = DiagonalClassifier(DATA, init_scale=0.3, loss_kind=kind)
    method, params = lb.LogLossDescent(RATE), problem.init()
    state = method.init(problem, None, params)
    step, time = jax.jit(lambda p, s: method.step(problem, None, p, s)), 0.0
    while (loss := float(problem.loss(params))) > 1e-100:
        mine = np.asarray(params) - RATE / loss * np.asarray(problem.gradient(params))
        time += RATE / loss
        params, state = step(params, state)
        np.testing.assert_allclose(params, mine, rtol=1e-11)
    assert float(state) == pytest.approx(np.log(time), rel=1e-12)


def test_a_loss_of_1e_minus_1000():
    """At `F = 10^-1000` the direction is that of the nearest point, where the plain gradient is exactly zero."""
    problem = one_point(depth=2)
    params = jnp.array([[np.sqrt(1000 * np.log(10))], [0.0]])
    assert float(problem.log_loss(params)) == pytest.approx(-1000 * np.log(10), rel=1e-14)
    assert float(problem.loss(params)) == 0.0
    assert not np.any(problem.gradient(params))
    method = lb.LogLossDescent(RATE)
    moved, log_time = method.step(problem, None, params, method.init(problem, None, params))
    np.testing.assert_allclose(moved, (1 + 2 * RATE) * params, rtol=1e-14)  # ∇ log F = -2u
    assert float(log_time) == pytest.approx(1000 * np.log(10) + np.log(RATE), rel=1e-14)


def test_single_precision_keeps_a_double_clock():
    method = lb.LogLossDescent(RATE)
    problem = one_point()
    params = problem.init().astype(jnp.float32)
    assert method.step(problem, None, params, method.init(problem, None, params))[1].dtype == jnp.float64


def test_columns_and_milestones(late):
    _, run = late
    assert list(run.columns)[:2] == ["step", "log_time"]
    assert "time" not in run.columns
    assert run.final["train_loss"] == 0.0
    assert run.final["train_log_loss"] < -1000 * np.log(10)
    assert np.all(np.diff(run["log_time"]) > 0)
    memorised = run.milestones.memorised
    assert memorised is not None
    assert memorised.log_time == run["log_time"][run["step"] == memorised.step].item()
    assert f"step {memorised.step:,} (log time {memorised.log_time:.5g})" in str(run.milestones)
    shown = run.milestones.to_json(run.provenance["learning_rate"])["memorised"]
    assert shown["log_time"] == memorised.log_time
    assert shown["time"] == pytest.approx(np.exp(memorised.log_time))
    assert run.to_frame()["log_time"].tolist() == run["log_time"].tolist()
    assert np.isfinite(np.asarray(run.params)).all()


def test_times_that_are_no_float_are_null():
    steps = np.arange(4)
    seen = milestones.find(milestones.Watch("memorised", "train_error", 0.1), steps, np.array([1, 0.5, 0.05, 0.01]))
    shown = milestones.with_log_time(seen, steps, 5e3 * steps).to_json(None)
    assert shown is not None
    assert (shown["step"], shown["time"], shown["log_time"]) == (2, None, 1e4)


def test_store_and_exports(late, tmp_path):
    _, run = late
    store = lb.Store(tmp_path / "store")
    name = run.save(store)
    back = lb.load(name, store)
    assert list(back.columns) == list(run.columns)
    np.testing.assert_array_equal(back["log_time"], run["log_time"])
    assert back.milestones == run.milestones
    for suffix in ("csv", "json", "parquet"):
        store.export(name, tmp_path / f"run.{suffix}")
    exported = json.loads((tmp_path / "run.json").read_text())
    assert exported["columns"]["log_time"][0] == "-Infinity"
    assert exported["columns"]["log_time"][-1] == run["log_time"][-1]
    header, first, *_ = (tmp_path / "run.csv").read_text().splitlines()
    assert header.startswith("step,log_time,")
    assert first.startswith("0,-inf,")


def test_plots_against_the_logarithm_of_time(late):
    _, run = late
    left, right = run.plot().axes
    for axis in (left, right):
        assert axis.get_xscale() == "log"
        assert axis.get_xlabel() == r"$\log t$"
        assert axis.get_xlim()[0] == 1
    np.testing.assert_array_equal(left.lines[0].get_xdata(), run["log_time"])
