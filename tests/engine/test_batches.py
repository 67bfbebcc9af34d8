"""A batch gives what its runs give alone, and the same structure compiles once."""

from __future__ import annotations

import time

import pytest
from cases import METHODS, sparse
from plain import RATE, same_run

import latebloom as lb
from latebloom.engine import scheduler
from latebloom.engine.outcome import Ending
from latebloom.engine.scheduler import schedule
from latebloom.engine.shard import Shard
from latebloom.engine.training import TrainJob
from latebloom.errors import LatebloomWarning

# Batches

SEEDS = (1, 2, 3, 4, 5)
STEPS = (3_000, 700, 1, 2_000, 0)
PROBLEMS = tuple(sparse(seed=seed, init_scale=10.0 ** (-seed)) for seed in SEEDS)
RATES = tuple(0.05 + 0.02 * seed for seed in SEEDS)
STRENGTHS = tuple(1e-3 * seed for seed in SEEDS)
LOOSE = {"memorised_at": 0.05, "generalised_at": 0.3}


@pytest.fixture(scope="module")
def alone():
    jobs = zip(PROBLEMS, RATES, STRENGTHS, STEPS, strict=True)
    return [lb.train(p, lb.GradientDescent(r), lb.L1(s), steps=n, **LOOSE) for p, r, s, n in jobs]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_batch_gives_bit_for_bit_what_its_runs_give_alone(alone, size):
    """Seeds, strengths, learning rates, initial scales, numbers of steps differ; some sizes leave a core idle."""
    cells = list(zip(PROBLEMS, RATES, STRENGTHS, STEPS, strict=True))[:size]
    batch = lb.run([TrainJob(p, lb.GradientDescent(r), lb.L1(s), steps=n, **LOOSE) for p, r, s, n in cells])
    assert len(batch) == size
    for together, single in zip(batch, alone, strict=False):
        assert together.configuration == single.configuration
        assert same_run(together, single)
    assert not same_run(alone[0], alone[1])


@pytest.mark.parametrize("case", [case for case in METHODS if case.name in {"projected", "fista", "adam"}], ids=str)
def test_methods_with_memory_give_bit_for_bit_in_a_batch(case):
    # Thresholds out of reach: nothing to pin, which halves what is compiled.
    penalty, never = lb.L1(1e-3), {"memorised_at": 1e-30, "generalised_at": 1e-30}
    jobs = [(PROBLEMS[0], 900), (PROBLEMS[1], 400), (PROBLEMS[2], 650)]
    batch = lb.run([TrainJob(p, case.method, penalty, steps=n, **never) for p, n in jobs])
    for together, (problem, steps) in zip(batch, jobs, strict=True):
        assert same_run(together, lb.train(problem, case.method, penalty, steps=steps, **never))


def test_a_batch_of_many_structures_gives_what_its_runs_give_alone(alone):
    problems = [PROBLEMS[0], sparse(depth=2, init_scale=1.0), PROBLEMS[1]]
    methods = [lb.GradientDescent(rate) for rate in (RATES[0], RATE, RATES[1])]
    penalties = [lb.L1(STRENGTHS[0]), lb.L2(1e-3), lb.L1(STRENGTHS[1])]
    cells = zip(problems, methods, penalties, (3_000, 500, 700), strict=True)
    first, deep, second = lb.run([TrainJob(p, m, h, steps=n, **LOOSE) for p, m, h, n in cells])
    assert same_run(first, alone[0])
    assert same_run(second, alone[1])
    assert same_run(deep, lb.train(problems[1], methods[1], penalties[1], steps=500, **LOOSE))


def test_one_run_of_a_batch_that_breaks_leaves_the_others_alone(alone):
    cells = [
        (PROBLEMS[0], RATES[0], STRENGTHS[0], 3_000),
        (PROBLEMS[0], 5.0, 1e-3, 3_000),
        (PROBLEMS[1], RATES[1], STRENGTHS[1], 700),
    ]
    jobs = [TrainJob(p, lb.GradientDescent(r), lb.L1(s), steps=n, **LOOSE) for p, r, s, n in cells]
    with pytest.warns(LatebloomWarning, match="the run will diverge"):
        batch = lb.run(jobs)
    assert same_run(batch[0], alone[0])
    assert same_run(batch[2], alone[1])
    assert batch[1].outcome.ending is Ending.DIVERGED


def test_the_result_has_the_container_of_the_jobs(alone):
    job = TrainJob(PROBLEMS[1], lb.GradientDescent(RATES[1]), lb.L1(STRENGTHS[1]), steps=STEPS[1], **LOOSE)
    flow = lb.FlowJob(PROBLEMS[1], lb.L2(1e-3), time=10.0)
    assert same_run(lb.run(job), alone[1])
    by_name = lb.run({"steps": job, "flow": flow})
    assert list(by_name) == ["steps", "flow"]
    assert same_run(by_name["steps"], alone[1])
    both = lb.run([flow, job])
    assert [run.clock for run in both] == ["time", "step"]
    assert same_run(both[1], alone[1])
    assert lb.run([]) == []


def test_records_are_seen_as_they_are_made():
    """Every scheduled record once, in order, under the number of its job; none of a lane that only fills a shard."""
    jobs = [
        TrainJob(p, lb.GradientDescent(RATE), lb.L1(1e-3), steps=n)
        for p, n in zip(PROBLEMS[:3], (900, 50, 300), strict=True)
    ]
    seen: dict[int, list[int]] = {}
    runs = schedule(jobs, emit=lambda number, rows: seen.setdefault(number, []).extend(rows["step"].tolist()))
    assert set(seen) == {0, 1, 2}
    for number, run in enumerate(runs):
        assert seen[number] == sorted(set(seen[number]))
        assert seen[number][-1] == run["step"][-1]
        assert set(seen[number]) <= set(run["step"].tolist())


def test_the_last_runs_of_a_batch_take_turns(monkeypatch):
    """Five runs on two cores: the fifth does not wait until the third or the fourth has ended."""
    monkeypatch.setattr(scheduler, "cores", lambda: 2)
    monkeypatch.setattr(Shard, "call_seconds", 1e-3)
    seen: list[int] = []
    jobs = [TrainJob(problem, lb.GradientDescent(RATE), lb.L1(1e-3), steps=50_000) for problem in PROBLEMS]
    runs = schedule(jobs, emit=lambda number, rows: seen.append(number))
    assert all(run.outcome.ending is Ending.FINISHED for run in runs)
    last = list(dict.fromkeys(seen))[-1]
    ends = sorted(len(seen) - seen[::-1].index(number) for number in range(5) if number != last)
    assert seen.index(last) < ends[2]


def test_a_failing_observer_is_not_silent():
    def fail(number, rows):
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        schedule([TrainJob(sparse(), lb.GradientDescent(RATE), lb.L1(1e-3), steps=100)], emit=fail)


def test_many_records_per_decade_do_not_let_the_quota_of_steps_grow_without_bound():
    """Calls that stop because their table of records is full are quick: the quota of the next was eight times as large,
    call after call, until it was no integer of 64 bits."""
    run = lb.train(sparse(), lb.GradientDescent(RATE), lb.L1(1e-4), steps=20_000, records_per_decade=600)
    assert run.outcome.ending is Ending.FINISHED
    assert len(run["step"]) > 20 * 64


# What is compiled


def test_a_second_run_of_one_structure_compiles_nothing(compiles):
    options = {"memorised_at": 0.05, "generalised_at": 0.3}
    first = lb.train(sparse(), lb.GradientDescent(RATE), lb.L1(1e-3), steps=3_000, **options)
    with compiles() as count:
        for problem, rate, strength, steps in (
            (sparse(seed=7), RATE, 1e-3, 3_000),
            (sparse(sparsity=3, init_scale=1.0, signal_to_noise=10.0), RATE, 1e-3, 3_000),
            (sparse(), 0.07, 1e-3, 3_000),
            (sparse(), RATE, 3e-3, 3_000),
            (sparse(), RATE, 1e-3, 4_321),
        ):
            again = lb.train(problem, lb.GradientDescent(rate), lb.L1(strength), steps=steps, **options)
            assert again.configuration != first.configuration
        lb.train(sparse(), lb.GradientDescent(RATE), lb.L1(1e-3), steps=3_000, memorised_at=0.04, generalised_at=0.2)
    assert count() == 0


def test_the_count_of_compiled_programs_counts(compiles):
    with compiles() as count:
        lb.train(sparse(measurements=11), lb.GradientDescent(RATE), lb.L1(1e-3), steps=3)
    assert count() > 0


def test_a_failing_listener_stops_the_others():
    """A full disk at the first record must not cost the rest of a long batch."""

    def full(number: int, rows: object) -> None:
        if number == 0:
            raise OSError(28, "No space left on device")

    long = TrainJob(lb.problems.SparseRecovery(10, 2, 6), lb.GradientDescent(RATE), lb.L1(1e-5), steps=10**9)
    started = time.monotonic()
    with pytest.raises(OSError, match="No space left"):
        schedule([TrainJob(sparse(), lb.GradientDescent(RATE), lb.L1(1e-5), steps=1000), long], emit=full)
    assert time.monotonic() - started < 60  # 1e9 steps would take minutes
