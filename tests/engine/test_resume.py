"""A run that is paused, and goes on elsewhere from the state it gave, ends bit for bit as if nothing had happened."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from cases import completion, sparse
from plain import same_run

import latebloom as lb
from latebloom.engine.batch import AbstractBatch
from latebloom.engine.states import pack, unpack
from latebloom.problems import DiagonalClassifier, SparseSigns

FACTORS = {"depth": 2, "width": 3, "init_scale": 0.5}
LOOSE = {"memorised_at": 0.05, "generalised_at": 0.3}
NET = lb.problems.EmbeddingMLP(7, 8, dimension=4)
POINTS = DiagonalClassifier(SparseSigns(50, 12, test_samples=20))
JOBS: dict[str, Any] = {
    "train": lb.TrainJob(sparse(), lb.GradientDescent(0.1), lb.L1(1e-3), steps=4_000, **LOOSE),
    "fista": lb.TrainJob(completion(), lb.AcceleratedProximalGradient(0.1), lb.NuclearNorm(1e-3), steps=600, **LOOSE),
    "minibatches": lb.TrainJob(NET, lb.Minibatch(lb.Optax("adam", learning_rate=0.01), 4), lb.L2(1e-4), steps=300),
    "log loss": lb.TrainJob(POINTS, lb.LogLossDescent(0.05), steps=400),
    "label noise": lb.TrainJob(sparse(), lb.LabelNoise(0.005, noise=0.01), steps=600, **LOOSE),
    "flow": lb.FlowJob(completion(**FACTORS), lb.L2(1e-2), time=1e4, **LOOSE),
    "diffrax": lb.FlowJob(completion(**FACTORS), lb.L2(1e-2), time=1e2, solver="tsit5"),
    "slow flow": lb.SlowFlowJob(completion(**FACTORS), slow_time=10.0, **LOOSE),
    "dual flow": lb.FlowJob(POINTS, lb.L2(1e-2), time=1e3),
}


def batch_of(job: Any) -> AbstractBatch:
    (batch,) = type(job).batches({7: job}, 1)
    batch.compile()
    return batch


def to_disk_and_back(batch: AbstractBatch, number: int = 7) -> Any:
    """The state as a file gives it back: nothing is shared with the batch that was paused."""
    state = batch.state(number)
    if state is None:
        return None
    told, arrays = pack(state)
    copies = {name: np.array(array, copy=True) for name, array in arrays.items()}
    return unpack(json.loads(json.dumps(told)), copies, batch.trees())


def seen(rows: list[dict[str, np.ndarray]], clock: str) -> np.ndarray:
    return np.concatenate([table[clock] for table in rows])


@pytest.mark.parametrize("name", [name for name in JOBS if name != "dual flow"])
def test_paused_and_resumed_it_ends_as_if_nothing_had_happened(name):
    job = JOBS[name]
    whole, batch, rows, pauses = lb.run(job, progress=False), batch_of(job), [], 0
    keep = lambda number, table: rows.append(table)  # noqa: E731
    while not batch.advance(1e-4, keep):
        state = to_disk_and_back(batch)
        if state is not None and pauses < 12:
            batch = batch_of(job)
            batch.resume(7, state)
            pauses += 1
    (run,) = batch.finish(keep, cancelled=False)
    assert pauses > 3
    assert same_run(run, whole)
    emitted, recorded = set(seen(rows, job.clock)), set(run[job.clock])
    assert emitted <= recorded
    # Beyond what was streamed an iteration has only the steps to which crossings were pinned: two a milestone.
    assert len(recorded - emitted) <= (4 if job.kind == "train" else 0)


@pytest.mark.parametrize("name", ["flow", "dual flow"])
def test_what_has_nothing_to_go_on_from_begins_anew(name):
    """LSODA has no state, and a flow has none before it stands at its start."""
    job = JOBS[name]
    batch = batch_of(job)
    batch.advance(1e-6, lambda number, table: None)
    assert batch.state(7) is None
    again = batch_of(job)
    again.resume(7, None)
    while not again.advance(0.1, lambda number, table: None):
        pass
    (run,) = again.finish(lambda number, table: None, cancelled=False)
    assert same_run(run, lb.run(job, progress=False))


def test_a_slow_flow_is_paused_on_its_way_to_zero_loss():
    job = JOBS["slow flow"]
    batch = batch_of(job)
    while batch.way is None:
        batch.advance(1e-4, lambda number, table: None)
    batch.quota = 1
    batch.advance(1e-4, lambda number, table: None)
    assert not batch.opened
    state = to_disk_and_back(batch)
    again = batch_of(job)
    again.resume(7, state)
    assert again.spent == batch.spent > 0


def test_the_lanes_of_a_shard_are_resumed_one_by_one():
    """Two runs of one shard: each goes on alone, from its own state."""
    jobs = {n: lb.TrainJob(sparse(seed=n), lb.GradientDescent(0.1), lb.L1(1e-3), steps=2_000) for n in (3, 5)}
    (shard,) = lb.TrainJob.batches(jobs, 1)
    shard.compile()
    for _ in range(3):
        shard.advance(1e-3, lambda number, table: None)
    for number, job in jobs.items():
        (alone,) = lb.TrainJob.batches({number: job}, 1)
        alone.compile()
        alone.resume(number, to_disk_and_back(shard, number))
        while not alone.advance(0.1, lambda number, table: None):
            pass
        (run,) = alone.finish(lambda number, table: None, cancelled=False)
        assert same_run(run, lb.run(job, progress=False))
