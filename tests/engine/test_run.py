"""Reading values off a run: t1 and t2, between records, at records, the first record at which something holds."""

from __future__ import annotations

import numpy as np
import pytest
from cases import completion, sparse

import latebloom as lb
from latebloom.errors import InputError, UnknownNameError


@pytest.fixture(scope="module")
def run():
    return lb.train(
        sparse(), lb.GradientDescent(0.1), lb.L1(1e-4), steps=2_000, memorised_at=0.05, probes=[lb.probes.Components()]
    )


@pytest.fixture(scope="module")
def flow():
    problem = completion(depth=2, width=3, init_scale=0.5)
    return lb.flow(problem, weight_decay=1e-2, time=1e3, memorised_at=0.05, progress=False)


def test_t1_and_t2_are_the_milestones_on_the_own_clock(run, flow):
    assert run.t1 == run.milestones.memorised.step
    assert isinstance(run.t1, int)
    assert run.t2 is None or run.t2 == run.milestones.generalised.step
    assert flow.t1 == flow.milestones.memorised.time
    without_truth = lb.problems.LinearRegression([[1.0, 1.0]], [2.0])
    assert lb.train(without_truth, lb.GradientDescent(0.1), steps=10).t2 is None


def test_between_records_it_is_linear_in_the_logarithm_of_the_clock(run):
    step, error = run["step"], run["train_error"]
    for k in (5, 40, len(step) - 2):
        assert run.at("train_error", step=float(step[k])) == pytest.approx(error[k], rel=1e-12)
        middle = np.sqrt(float(step[k]) * float(step[k + 1]))
        assert run.at("train_error", step=middle) == pytest.approx((error[k] + error[k + 1]) / 2, rel=1e-12)
        assert run.at("train_error", time=0.1 * middle) == pytest.approx((error[k] + error[k + 1]) / 2, rel=1e-9)
    assert run.at("components", step=30.5).shape == (20,)
    assert run.at("train_error", step=1e9) == error[-1]


def test_a_record_is_the_last_one_at_or_before(run, flow):
    assert run.record(step=10**9)["step"] == 2_000
    assert run.record(step=0)["train_error"] == run["train_error"][0]
    assert flow.record(time=1e3)["time"] == 1e3
    between = (flow["time"][7] + flow["time"][8]) / 2
    assert flow.record(time=between)["time"] == flow["time"][7]


def test_the_first_record_at_which_a_condition_holds(run, flow):
    below = run["train_error"] < 0.5
    assert run.first(below) == run["step"][np.flatnonzero(below)[0]]
    assert isinstance(run.first(below), int)
    assert flow.first(flow["train_error"] < 0) is None
    assert isinstance(flow.first(flow["train_error"] < 0.5), float)


def test_one_clock_that_the_run_has(run):
    with pytest.raises(InputError, match=r"run.at needs one clock: give step=… or time=… or slow_time=…"):
        run.at("train_error")
    with pytest.raises(InputError, match="needs one clock"):
        run.record(step=1, time=2.0)
    with pytest.raises(UnknownNameError, match="unknown column 'log_time'"):
        run.at("train_error", log_time=1.0)
    with pytest.raises(InputError, match="step=0 is not allowed"):
        run.at("train_error", step=0)
    with pytest.raises(UnknownNameError, match="did you mean 'train_error'"):
        run.at("train_eror", step=3)
