"""The contenders of the flow benchmark compute the same thing. Nothing here looks at a clock."""

from __future__ import annotations

import json

import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.bench import flow


def test_the_torch_loop_is_the_iteration_of_train():
    pytest.importorskip("torch")
    job = flow.task()
    run = lb.train(job.problem, lb.GradientDescent(flow.LEARNING_RATE), lb.L2(1e-3), steps=100, progress=False)
    for name, layer in flow.torch_descent(job, 100).items():
        np.testing.assert_allclose(layer, run.params[name], atol=1e-9)


def test_the_numpy_field_and_the_jacobian_are_those_of_the_flow():
    job = flow.task()
    np.testing.assert_allclose(job.field(job.start), job.slope(jnp.asarray(job.start)), atol=1e-12)
    direction = np.random.default_rng(0).normal(size=400)
    difference = (job.field(job.start + 1e-6 * direction) - job.field(job.start - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(job.jacobian(job.start) @ direction, difference, rtol=1e-5, atol=1e-4)


def test_scipy_ends_where_ours_does():
    job = flow.task(time=10.0)
    run = job.run(rtol=1e-6)
    answer = flow.by_scipy(job, "LSODA", run["time"][[100, -1]], rtol=1e-8, cap=np.inf)
    # The error of a flow of second order is its tolerance to the power 2/3.
    np.testing.assert_allclose(answer.errors, run["test_error"][[100, -1]], atol=1e-4)
    assert answer.reached == 10.0


def test_a_slow_contender_is_stopped_and_its_time_is_a_lower_bound():
    job = flow.task()
    answer = flow.by_scipy(job, "Radau", np.array([1.0, 1e5]), rtol=1e-6, cap=0.05)
    assert len(answer.errors) == 0
    assert 0 < answer.reached < 1e5
    mine = flow.Answer(1e-3, np.ones(2), 10, 1e5)
    result = flow._compare("SciPy's Radau", mine, answer, 1e-6, np.ones(2), job)
    assert "a lower bound" in result.note
    assert result.meets


def test_what_is_not_accurate_meets_no_target():
    mine, theirs = flow.Answer(1e-3, np.ones(2), 10, 1e5), flow.Answer(1.0, np.zeros(2), 10, 1e5)
    assert not flow._compare("LSODA", mine, theirs, 1e-3, np.zeros(2), flow.task()).meets
    assert flow._compare("LSODA", mine, theirs, 1e-3, np.ones(2), flow.task()).meets


def test_every_comparison_has_its_target(monkeypatch):
    """One contender of each kind, to a short time."""
    monkeypatch.setattr(flow, "SCIPY", {"LSODA": 1e-3})
    monkeypatch.setattr(
        flow, "by_diffrax", lambda job, solver, times, *, rtol, time: flow.Answer(1.0, np.zeros(0), 1, time)
    )
    results = flow.measure(time=10.0, steps=100, torch_steps=10, cap=1.0, strengths=(1e-1, 1e-2), repeats=1)
    targets = [result.target for result in results]
    assert targets[:3] == ["at least 100", "at least 150", "at least 3000"]
    assert set(targets[3:-1]) == {"at least 1"}
    assert targets[-1] == "0.5 ± 0.1"
    assert "extrapolated from 100 of 1,000 steps" in results[0].note
    json.dumps([result.to_json() for result in results], allow_nan=False)
