"""Runs that cannot be meant are refused in one sentence, before anything runs; so is what a run does not have."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from cases import curve, sparse
from refusals import Refusal, refusals

import latebloom as lb
from latebloom.engine.job import AbstractJob
from latebloom.engine.milestones import Watch, find
from latebloom.errors import InputError
from latebloom.problems import MatrixRegression, ObservedEntries

NAN, INF = float("nan"), float("inf")
JOB = lb.TrainJob(sparse(), lb.GradientDescent(0.1), lb.L1(1e-3), steps=100)
WATCH = Watch("generalised", "test_error", 0.1)
WITHOUT_A_TEST = (
    lb.problems.LinearRegression([[1.0, 1.0]], [2.0]),
    ObservedEntries((2, 2), np.eye(2, dtype=bool), [1.0, 2.0]),
    MatrixRegression(np.ones((1, 2, 2)), [1.0]),
)


def _train(**changes: Any) -> Any:
    return lb.train(**({"problem": sparse(), "method": lb.GradientDescent(0.1), "steps": 10} | changes))


def _read(**changes: Any) -> Any:
    return AbstractJob.read(JOB.configuration() | changes)


def _found(steps: list[int], values: list[float]) -> Any:
    return find(WATCH, np.array(steps), np.array(values))


@cache
def _run() -> lb.Run:
    return lb.train(sparse(), lb.GradientDescent(0.1), lb.L1(1e-4), steps=20)


def _at(column: str, **clock: Any) -> Any:
    return _run().at(column, **clock)


REFUSED = [
    *((_train, {"steps": steps}, f"steps={steps!r} is not allowed") for steps in (-1, 1.5, NAN, 10**20)),
    *((_train, {"steps": steps}, "steps must be a number") for steps in ("many", None)),
    (_train, {"steps": 10**400}, "steps is a number of 401 digits: steps must fit a float"),
    *((_train, {"records_per_decade": n}, f"records_per_decade={n} is not allowed") for n in (0, -1, 2.5)),
    (_train, {"stop_at": "generalized"}, "unknown event 'generalized': did you mean 'generalised'"),
    *(
        (_train, {"problem": problem, "stop_at": "generalised"}, "stop_at='generalised' needs a test measure")
        for problem in WITHOUT_A_TEST
    ),
    (_train, {"memorised_at": 0}, "memorised_at=0 is not allowed: …must be …above 0"),
    (_train, {"problem": "sparse"}, "problem must be a problem record, not str"),
    (_train, {"method": 0.1}, "method must be a method record, not float"),
    (_train, {"penalty": 1e-3}, "penalty must be a penalty record such as L1(1e-5), not float"),
    (
        _train,
        {"problem": curve(1.0, 0.0, 0.0), "penalty": lb.OnParts(lb.L2(1e-3), "curv")},
        "unknown part 'curv': did you mean 'curve'",
    ),
    (lb.run, (["sparse_recovery"],), "jobs must be TrainJob, FlowJob or SlowFlowJob, not str"),
    (lb.run, {"jobs": [JOB], "workers": 0}, "workers=0 is not allowed"),
    (_read, {"engine": 0}, "made by another version"),
    (_read, {"kind": "fly"}, "unknown kind of job"),
    (JOB.but, ({"step": 3},), "field of a train job"),
    (JOB.but, ({"method.learning_rat": 3},), "did you mean 'learning_rate'"),
    (JOB.but, ({"stop_at.x": 3},), "stop_at is None and has no parameters"),
    (lb.grid, (JOB, {"steps": []}), "has no values"),
    (lb.grid, (JOB, {"steps": [1, 1]}), "give each value once"),
    *(
        (_found, (steps, values), f"as many values as steps and at least one: got {len(steps)} and {len(values)}")
        for steps, values in (([], []), ([0, 1], [1.0]), ([0], [1.0, 2.0]))
    ),
    *(
        (Watch, ("generalised", "test_error", threshold), f"generalised threshold={threshold} is not allowed")
        for threshold in (0, -1, NAN, INF)
    ),
    (Watch, ("generalised", "test_error", "low"), "generalised threshold must be a number"),
    (_at, "train_error", "run.at needs one clock: give step=… or time=… or slow_time=…"),
    (lambda **clocks: _run().record(**clocks), {"step": 1, "time": 2.0}, "needs one clock"),
    (_at, {"column": "train_error", "log_time": 1.0}, "unknown column 'log_time'"),
    (_at, {"column": "train_error", "step": 0}, "step=0 is not allowed"),
    (_at, {"column": "train_eror", "step": 3}, "did you mean 'train_error'"),
    (lambda column: _run()[column], "tets_error", "unknown column 'tets_error': did you mean 'test_error'"),
]


@refusals({InputError: REFUSED})
def test_a_run_that_cannot_be_meant_is_refused(refusal: Refusal):
    refusal.check()
