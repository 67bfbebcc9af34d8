"""Ctrl-C, SIGTERM, and events that end a run."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from cases import completion, sparse

import latebloom as lb
from latebloom.core.interrupts import raising
from latebloom.engine.outcome import Ending
from latebloom.engine.scheduler import schedule
from latebloom.problems import DiagonalClassifier, SparseSigns

LONG = {
    "train": lb.TrainJob(sparse(), lb.GradientDescent(0.1), lb.L1(1e-3), steps=10**12),
    "flow": lb.FlowJob(completion(depth=2, width=3, init_scale=0.5), lb.L2(1e-6), time=1e12, rtol=1e-9, atol=1e-12),
    "slow flow": lb.SlowFlowJob(completion(depth=2, width=3, init_scale=0.5), slow_time=1e9, rtol=1e-9),
    "dual flow": lb.FlowJob(
        DiagonalClassifier(SparseSigns(2000, 60, test_samples=10)), lb.L2(1e-6), time=1e9, rtol=1e-12, atol=1e-12
    ),
}


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
@pytest.mark.parametrize("name", LONG)
def test_a_signal_is_heard_and_what_was_done_is_kept(name, signum):
    heard: list[float] = []

    def send(number, rows):
        if not heard:
            heard.append(time.monotonic())
            os.kill(os.getpid(), signum)

    before = signal.getsignal(signum)
    (run,) = schedule([LONG[name]], emit=send, progress=False)
    assert run.outcome.ending is Ending.INTERRUPTED
    assert "what was done is kept" in run.outcome.sentence
    assert len(run[run.clock]) >= 1
    assert signal.getsignal(signum) is before
    assert time.monotonic() - heard[0] < 30  # not a timing: it would go on for hours


def test_a_job_whose_turn_did_not_come_has_a_run_without_records(capsys):
    jobs = [LONG["train"]] + [LONG["train"].but({"problem.measurements": n}) for n in (5, 6, 7)]

    def interrupt(*_):
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)
    lb.run(LONG["train"].but({"steps": 10}), progress=False)  # compiled
    timer.start()
    runs = lb.run(jobs, workers=1, progress=False)
    timer.join()
    assert [run.outcome.ending for run in runs] == [Ending.INTERRUPTED, *[Ending.NOT_BEGUN] * 3]
    waiting = runs[-1]
    assert waiting.final == {}
    assert (waiting.t1, waiting.t2) == (None, None)
    assert not waiting.outcome.complete
    assert waiting.configuration == jobs[-1].configuration()
    said = "interrupted with 0 of 4 runs finished, 1 under way, 3 not begun; the runs so far are returned"
    assert said in capsys.readouterr().err


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.1)


def test_a_signal_whose_exception_is_swallowed_ends_the_next_work():
    """As JAX's callback in the garbage collector swallows it, between the start of a command and its runs."""
    with raising():
        with pytest.raises(KeyboardInterrupt):
            terminate()
        (run,) = schedule([LONG["train"]], progress=False)
    assert run.outcome.ending is Ending.NOT_BEGUN
    assert lb.run(LONG["train"].but({"steps": 10}), progress=False).outcome.ending is Ending.FINISHED


def test_elsewhere_than_in_the_main_thread_nobody_listens():
    found: list[lb.Run] = []
    job = LONG["train"].but({"steps": 100})
    thread = threading.Thread(target=lambda: found.append(lb.run(job, progress=False)))
    thread.start()
    thread.join()
    assert found[0].outcome.ending is Ending.FINISHED


# Events


EVENTS = {
    "train": lb.TrainJob(sparse(), lb.GradientDescent(0.1), lb.L1(1e-3), steps=20_000, memorised_at=0.05),
    "flow": lb.FlowJob(completion(depth=2, width=3, init_scale=0.5), lb.L2(1e-3), time=1e4, memorised_at=0.05),
    "dual flow": lb.FlowJob(DiagonalClassifier(SparseSigns(200, 30, sparsity=1, test_samples=500)), time=1e3),
}


@pytest.mark.parametrize("name", EVENTS)
def test_stop_at_ends_the_run_with_the_record_that_saw_it(name):
    """Up to there it is the run that would have gone on, and its last record is where it stands."""
    job = EVENTS[name]
    whole, stopped = lb.run([job, job.but({"stop_at": "memorised"})], progress=False)
    assert stopped.outcome.ending is Ending.STOPPED
    assert stopped.outcome.sentence.startswith("stopped at ")
    assert stopped.t1 == whole.t1
    clock = stopped.clock
    assert stopped.final["train_error"] <= job.memorised_at
    assert whole.t1 <= stopped[clock][-1] < whole[clock][-1]
    count = len(stopped[clock]) - 1
    np.testing.assert_array_equal(stopped["train_error"][:count], whole["train_error"][:count])
    assert (stopped["train_error"][:count] > job.memorised_at).all() or name == "train"
    measured = float(job.problem.train_error(stopped.params))
    assert stopped.final["train_error"] == pytest.approx(measured, rel=1e-9, abs=1e-12)


def test_a_slow_flow_stops_when_it_has_generalised():
    problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0], truth=[1.0, 1.0], init=[-1.0, 1.0])
    run = lb.slow_flow(problem, slow_time=10.0, generalised_at=0.1, stop_at="generalised", progress=False)
    assert run.outcome.ending is Ending.STOPPED
    assert run.t2 == pytest.approx(np.log(10.0), rel=1e-3)  # |w - 1| = e^-s, relative
    assert run.t2 <= run["slow_time"][-1] < 10.0


@pytest.mark.parametrize("name", ["train", "flow"])
def test_an_event_that_does_not_come_is_said(name):
    job = EVENTS[name].but({"memorised_at": 1e-30, "stop_at": "memorised"})
    run = lb.run(job, progress=False)
    assert run.outcome.ending is Ending.BUDGET
    assert "not memorised yet" in run.outcome.sentence
