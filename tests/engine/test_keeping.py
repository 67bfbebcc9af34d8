"""A run in a store goes on where it was, from the furthest state, to the numbers of one left alone."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import sparse
from plain import same_run

import latebloom as lb
from latebloom.engine import keeping
from latebloom.engine.job import AbstractJob
from latebloom.engine.keeping import Keeper
from latebloom.engine.outcome import Ending
from latebloom.engine.shard import Shard
from latebloom.engine.storage import interruption, resume, run_stored
from latebloom.errors import InputError, LatebloomWarning
from latebloom.store import Store, StoreError, states
from latebloom.store.group import draft

JOB = lb.TrainJob(sparse(), lb.GradientDescent(0.1), lb.L1(1e-3), steps=3_000, memorised_at=0.05, generalised_at=0.3)


class Killed(BaseException):
    """Nothing after it is done, as after SIGKILL."""


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """A state after the first call and at the end, however short the run."""
    monkeypatch.setattr(keeping, "SOON", 0.0)


@pytest.fixture(scope="module")
def alone():
    return lb.run(JOB, progress=False)


@contextmanager
def killed(after: int, monkeypatch, how: Any = None):
    """The process dies once so many states are written: what is on the disk then stays as it is."""
    advanced, count = Keeper.advanced, [0]

    def fatal(self, batch):
        advanced(self, batch)
        count[0] += 1
        if count[0] == after:
            if how is not None:
                return how()
            for live in self.live.values():
                live._stream._file.close()
                (live.folder / "owner.json").unlink()
            raise Killed
        return None

    with monkeypatch.context() as patch:
        patch.setattr(keeping, "EVERY", 0.0)
        patch.setattr(keeping, "SHARE", float("inf"))
        patch.setattr(Shard, "call_seconds", 1e-4)
        patch.setattr(Keeper, "advanced", fatal)
        if how is None:
            patch.setattr(Keeper, "close", lambda self: None)
            with pytest.raises(Killed):
                yield
        else:
            yield


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def killed_run(job: AbstractJob, store: Path, monkeypatch, after: int = 3) -> None:
    with killed(after, monkeypatch):
        lb.run(job, store=store, progress=False)


def states_of(store: Path) -> list[str]:
    return [run.state for run in Store(store).runs()]


def at(store: Path) -> float:
    (folder,) = [path.parent for path in store.glob("*/*/state.npz")]
    return states.read_facts(folder)["at"]


def test_killed_again_and_again_it_gets_further_and_ends_as_if_nothing_had_happened(
    tmp_path, monkeypatch, capsys, alone
):
    reached = []
    for _ in range(3):
        killed_run(JOB, tmp_path, monkeypatch)
        assert states_of(tmp_path) == ["abandoned"]  # what it went on from is not kept beside
        reached.append(at(tmp_path))
    assert reached == sorted(set(reached))
    run = lb.run(JOB, store=tmp_path, progress=False)
    assert same_run(run, alone)
    assert same_run(lb.load(JOB.key, tmp_path), alone)
    assert states_of(tmp_path) == ["finished"]
    assert f"latebloom: goes on from step {reached[-1]:,}\n" in capsys.readouterr().err
    assert (run.provenance["parts"], run.provenance["gradients"]) == (4, alone.provenance["gradients"])


def test_seconds_add_up_over_the_parts(tmp_path, monkeypatch):
    killed_run(JOB, tmp_path, monkeypatch)
    (folder,) = [path.parent for path in tmp_path.glob("live/*/state.npz")]
    first = states.read_facts(folder)["seconds"]
    assert 0 < first < lb.run(JOB, store=tmp_path, progress=False).provenance["seconds"]


def test_ctrl_c_is_said_in_a_line_and_the_same_call_goes_on(tmp_path, monkeypatch, capsys, alone):
    with killed(3, monkeypatch, interrupt):
        run = lb.run(JOB.but({"steps": 10**9}), store=tmp_path, progress=False)
    assert run.outcome.ending is Ending.INTERRUPTED
    said = f"interrupted at step {run.outcome.step:,} of 1,000,000,000; kept, the same call goes on from there\n"
    assert capsys.readouterr().err == f"latebloom: {said}"
    assert states_of(tmp_path) == ["partial"]
    with killed(3, monkeypatch, interrupt):
        further = lb.run(JOB.but({"steps": 10**9}), store=tmp_path, progress=False)
    assert further.outcome.step > run.outcome.step
    assert states_of(tmp_path) == ["partial"]  # the first is replaced
    assert interruption([JOB], [run], kept=False).endswith("of 3,000; the run so far is returned")
    assert not interruption([JOB], [alone], kept=False)


def test_what_a_living_process_writes_is_left_alone(tmp_path, monkeypatch, alone):
    killed_run(JOB, tmp_path, monkeypatch)
    (folder,) = (tmp_path / "live").iterdir()
    from latebloom.store.layout import sign

    sign(folder)  # this process lives
    assert same_run(lb.run(JOB, store=tmp_path, progress=False), alone)
    assert sorted(states_of(tmp_path)) == ["finished", "live"]
    assert (folder / "state.npz").exists()


def test_of_two_processes_one_takes_the_state_and_both_end_alike(tmp_path, monkeypatch, alone):
    killed_run(JOB, tmp_path, monkeypatch)
    taken, seen = states.take, []

    def taken_before(source, target):
        seen.append((source / "state.npz").unlink())  # by another process, just now
        return taken(source, target)

    monkeypatch.setattr(states, "take", taken_before)
    run = lb.run(JOB, store=tmp_path, progress=False)
    assert len(seen) == 1
    assert "parts" not in run.provenance
    assert same_run(run, alone)


@pytest.mark.parametrize("damage", ["cut", "flipped", "shape", "empty"])
def test_a_state_that_cannot_be_used_is_said_and_the_run_starts_anew(tmp_path, monkeypatch, alone, damage):
    killed_run(JOB, tmp_path, monkeypatch)
    (path,) = tmp_path.glob("live/*/state.npz")
    data = bytearray(path.read_bytes())
    if damage == "shape":
        state = states.read_state(path.parent)
        state.about["state"]["progress"]["tree"][0][2] = [7]
        states.write_state(path.parent, state.about, state.arrays)
    elif damage == "flipped":
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    else:
        path.write_bytes(data[: 0 if damage == "empty" else len(data) // 2])
    with pytest.warns(
        LatebloomWarning, match=rf"the state of run {path.parent.name} cannot be used .*: it starts anew"
    ):
        run = lb.run(JOB, store=tmp_path, progress=False)
    assert same_run(run, alone)
    assert "parts" not in run.provenance


def test_a_disk_that_is_too_full_for_a_state_is_said_once(tmp_path, monkeypatch, alone):
    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("latebloom.store.live.write_state", refuse)
    with pytest.warns(LatebloomWarning, match="No space left on device.*the run goes on") as said:
        run = lb.run(JOB, store=tmp_path, progress=False)
    assert len(said) == 1
    assert same_run(run, alone)


# Longer runs


def test_more_steps_continue_a_finished_run(tmp_path, capsys, alone):
    short = lb.run(JOB.but({"steps": 1_717}), store=tmp_path, progress=False)
    assert 1_717 not in alone["step"]  # its last record is none of the longer run's
    run = lb.run(JOB, store=tmp_path, progress=False)
    assert same_run(run, alone)
    assert "goes on from step 1,717" in capsys.readouterr().err
    assert run.provenance["parts"] == 2
    assert same_run(lb.load(JOB.but({"steps": 1_717}).key, tmp_path), short)  # the shorter one stays
    other = JOB.but({"steps": 2_000, "generalised_at": 0.2})  # other records: another run
    assert "parts" not in lb.run(other, store=tmp_path, progress=False).provenance


def test_a_longer_flow_starts_anew(tmp_path):
    job = lb.FlowJob(sparse(depth=2), lb.L2(1e-3), time=10.0)
    lb.run(job, store=tmp_path, progress=False)
    assert not list(tmp_path.glob("runs/*/state.npz"))
    longer = lb.run(job.but({"time": 20.0}), store=tmp_path, progress=False)
    assert "parts" not in longer.provenance


def test_a_run_of_a_moment_keeps_no_state(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "SOON", 1e6)
    lb.run(JOB, store=tmp_path, progress=False)
    assert not list(tmp_path.glob("runs/*/state.npz"))


# Several runs


def test_each_run_of_a_list_is_published_when_it_is_over(tmp_path, monkeypatch):
    jobs = [JOB.but({"steps": 10}), JOB.but({"problem.measurements": 11, "steps": 10**9})]

    told = []

    def while_the_other_goes_on(self, batch):
        if not told and list(tmp_path.glob("runs/*/summary.json")):
            told.append(interrupt())

    monkeypatch.setattr(Keeper, "advanced", while_the_other_goes_on)
    endings = [run.outcome.ending for run in lb.run(jobs, store=tmp_path, workers=2, progress=False)]
    assert endings == [Ending.FINISHED, Ending.INTERRUPTED]


def test_renewed_runs_replace_what_is_stored_once(tmp_path, monkeypatch, alone):
    store = Store(tmp_path)
    first, _ = run_stored([JOB], store, progress=False)
    killed_run(JOB.but({"problem.seed": 5}), tmp_path, monkeypatch)
    renewed: set[str] = set()
    (again,), computed = run_stored([JOB], store, renewed=renewed, progress=False)
    assert (computed, renewed) == (1, {JOB.key})
    assert again.provenance["seconds"] != first[0].provenance["seconds"]
    assert lb.load(JOB.key, tmp_path).provenance == again.provenance
    assert run_stored([JOB], store, renewed=renewed, progress=False)[1] == 0
    other, _ = run_stored([JOB.but({"problem.seed": 5})], store, renewed=renewed, progress=False)
    assert "parts" not in other[0].provenance
    assert set(states_of(tmp_path)) == {"finished"}


# By id


def test_resume_by_id(tmp_path, monkeypatch, alone):
    killed_run(JOB, tmp_path, monkeypatch)
    (left,) = Store(tmp_path).runs()
    job, run = resume(left.id, tmp_path)
    assert job == JOB
    assert same_run(run, alone)
    with pytest.raises(InputError, match="is finished: for more steps"):
        resume(JOB.key, tmp_path)


def test_a_killed_run_can_be_loaded(tmp_path, monkeypatch):
    job = JOB.but({"memorised_at": 0.9})  # after a few steps
    alone = lb.run(job, progress=False)
    killed_run(job, tmp_path, monkeypatch)
    store = Store(tmp_path)
    (left,) = store.runs()
    for recovered in (False, True):
        run = lb.load(store.recover(left.id).id if recovered else left.id, tmp_path)
        last = run["step"][-1]
        assert run.outcome.ending is Ending.INTERRUPTED
        assert run.outcome.sentence.startswith(f"killed, recovered at step {last:,}")
        rows = np.searchsorted(alone["step"], run["step"])
        assert all(np.array_equal(run[name], alone[name][rows]) for name in run.columns)
        assert run.columns.keys() == alone.columns.keys()
        assert run.params.shape == alone.params.shape
        low, high = run.milestones.memorised.first.bracket
        assert low < alone.t1 <= high
    assert same_run(lb.run(job, store=tmp_path, progress=False), alone)  # a recovered run goes on, too
    assert states_of(tmp_path) == ["finished"]


# A script of one's own

SCRIPT = """
import sys
import jax, numpy as np, latebloom as lb

inputs = np.random.default_rng(0).normal(size=(4, 6))
shift = float(sys.argv[1])

def residuals(w):
    return jax.nn.relu(inputs @ w) - shift

problem = lb.problems.LeastSquares(residuals, np.full(6, 0.1), test=lambda w: abs(w - shift).max())
run = lb.train(problem, lb.GradientDescent(0.01), steps=50, store=True)
print(run.provenance["seconds"], run.final["train_loss"])
"""


def test_a_script_run_twice_computes_nothing_the_second_time(tmp_path):
    def call(shift: str, seed: str) -> str:
        environment = {**os.environ, "LATEBLOOM_STORE": str(tmp_path), "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", SCRIPT, shift]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    first = call("1.0", "1")
    assert call("1.0", "2") == first  # to the seconds it took
    assert call("1.5", "1").split()[1] != first.split()[1]
    assert states_of(tmp_path) == ["finished"] * 2


def test_what_is_over_at_once_is_published_together(tmp_path, monkeypatch):
    """Nothing of it is streamed, and one wait for the disk brings all of it there."""
    groups, begun = [], []
    real = Store.publish_all
    monkeypatch.setattr(keeping, "SOON", 3.0)
    monkeypatch.setattr(Store, "publish_all", lambda store, runs: groups.append(len(runs)) or real(store, runs))
    monkeypatch.setattr(Store, "begin", lambda *_: begun.append(1))
    monkeypatch.setattr(keeping, "GROUP", 60.0)
    monkeypatch.setattr(keeping, "EARLY", 60.0)
    jobs = [JOB.but({"problem.seed": seed}) for seed in range(1, 6)]
    runs = lb.run(jobs, store=tmp_path, progress=False)
    assert (groups, begun) == ([5], [])
    assert states_of(tmp_path) == ["finished"] * 5
    for job, run in zip(jobs, runs, strict=True):
        assert same_run(lb.load(job.key, tmp_path), run)


def test_what_waits_is_published_when_it_is_due_or_many(tmp_path, monkeypatch):
    groups, done = [], threading.Event()
    monkeypatch.setattr(Store, "publish_all", lambda _, runs: groups.append(len(runs)))
    monkeypatch.setattr(Store, "supersede", lambda *_: done.set())
    monkeypatch.setattr(keeping, "GROUP", 600.0)
    monkeypatch.setattr(keeping, "MANY", 3)
    over = keeping.Over(Store(tmp_path))
    for number in range(3):
        over.add(draft({"n": number}, {}, {}), None)
    assert groups == [3]
    done.clear()
    monkeypatch.setattr(keeping, "GROUP", 0.01)
    over.add(draft({"n": 3}, {}, {}), None)
    assert done.wait(60)  # nobody comes by
    over.publish()
    assert groups == [3, 1, 0]


def test_a_disk_that_refuses_a_group_is_said_to_who_comes_next(tmp_path, monkeypatch):
    refused = threading.Event()

    def refuse(*_):
        refused.set()
        raise StoreError("full")

    monkeypatch.setattr(Store, "publish_all", refuse)
    monkeypatch.setattr(keeping, "GROUP", 0.01)
    over = keeping.Over(Store(tmp_path))
    over.add(draft({"n": 0}, {}, {}), None)
    assert refused.wait(60)
    with pytest.raises(StoreError, match="full"):
        over.publish()


def test_what_goes_on_for_long_is_streamed_with_what_it_had_before(tmp_path, monkeypatch):
    """The records of its first moments are on the disk as soon as any are."""
    store = Store(tmp_path)
    keeper = Keeper([JOB], store)
    clock = iter([0.0, 0.5, 2.0])
    monkeypatch.setattr(keeping.time, "monotonic", lambda: next(clock))
    keeper.emit(0, {"step": np.arange(2)})
    keeper.emit(0, {"step": np.arange(2, 4)})
    assert store.runs() == []
    keeper.emit(0, {"step": np.arange(4, 6)})
    (run,) = store.runs()
    assert run.columns["step"].tolist() == list(range(6))
    keeper.close()


def test_an_attempt_goes_when_a_group_replaces_it(tmp_path, monkeypatch, alone):
    killed_run(JOB, tmp_path, monkeypatch)
    (folder,) = tmp_path.glob("live/*")
    (folder / "state.npz").unlink()  # nothing to go on from: it starts anew, and is over at once
    monkeypatch.setattr(keeping, "SOON", 3.0)
    monkeypatch.setattr(keeping, "EARLY", 60.0)
    assert same_run(lb.run(JOB, store=tmp_path, progress=False), alone)
    assert states_of(tmp_path) == ["finished"]


def test_a_longer_run_looks_at_its_own_lineage_only(tmp_path, monkeypatch):
    """However many runs there are; a store of before lineages were written down is looked through once."""
    others = [JOB.but({"problem.seed": seed, "steps": 500}) for seed in (11, 12)]
    lb.run([JOB, *others], store=tmp_path, progress=False)
    looked = []
    real = states.has_state
    monkeypatch.setattr(states, "has_state", lambda folder: looked.append(folder.name) or real(folder))
    longer = JOB.but({"steps": 4_000})
    assert set(keeping.finished_states([longer], Store(tmp_path))) == {longer.key}
    assert set(looked) == {JOB.key}
    shutil.rmtree(tmp_path / "lineages")
    for expected in ({JOB.key, *(job.key for job in others)}, {JOB.key}):
        looked.clear()
        assert set(keeping.finished_states([longer], Store(tmp_path))) == {longer.key}
        assert set(looked) == expected


def test_a_run_copied_from_another_store_is_gone_on_with_once_it_was_listed(tmp_path):
    lb.run(JOB, store=tmp_path / "one", progress=False)
    lb.run(JOB.but({"problem.seed": 11, "steps": 500}), store=tmp_path / "other", progress=False)
    shutil.copytree(tmp_path / "one" / "runs" / JOB.key, tmp_path / "other" / "runs" / JOB.key)
    longer, other = JOB.but({"steps": 4_000}), Store(tmp_path / "other")
    assert keeping.finished_states([longer], other) == {}
    assert len(other.frame()) == 2
    assert set(keeping.finished_states([longer], other)) == {longer.key}
