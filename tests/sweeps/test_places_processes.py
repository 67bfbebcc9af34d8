"""Workers in processes of their own that are killed, stopped, or left behind by their parent."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import deadly
import pytest
from plain import same_run

import latebloom as lb
from latebloom.core.threads import rounding_cores
from latebloom.errors import InputError
from latebloom.sweeps.places.here import Here
from latebloom.sweeps.places.processes import DeadError, Processes, Worker
from latebloom.sweeps.places.worker import _answer
from latebloom.sweeps.shards import Done, run_shard

pytestmark = pytest.mark.xdist_group("places")
TESTS = Path(__file__).parents[1]
PATIENCE = 120.0  # seconds after which something that ought to happen has not


def until(what) -> None:
    """Waits for something that another process does."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def gone(pid: int) -> bool:
    """Whether there is no such process, or only what is left of one that nobody has asked after."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def states(store: Path) -> list[str]:
    """Of the runs that are there."""
    return [run.state for run in lb.Store(store).runs()]


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict[str, lb.Run]:
    """Every run of the sweep by its id, computed in this process and without interruption."""
    store = tmp_path_factory.mktemp("alone")
    made: list[Done] = []
    Here(1).run(run_shard, deadly.shards(store), made.append, threading.Event())
    return {key: lb.load(key, store) for one in made for key in one.ids if key}


@pytest.fixture(scope="module")
def place() -> Iterator[Processes]:
    """Two workers, who take seconds to begin and stay from one test to the next."""
    with Processes(2) as two:
        yield two


def test_a_worker_that_is_killed_loses_its_unfinished_runs_only_and_no_bit_differs(tmp_path, alone, place):
    made: list[Done] = []
    store = tmp_path / "store"
    place.run(deadly.dying_once(tmp_path), deadly.shards(store), made.append, threading.Event())
    assert (tmp_path / "died").exists()
    made.sort(key=lambda one: one.number)
    assert [key for one in made for key in one.ids] == list(alone)
    assert [one.failed for one in made] == [{}, {}, {}]
    # Of the second shard one run was over: in the store, or waiting for the others of its second.
    assert [one.computed for one in made] in ([2, 2, 1], [2, 3, 1])
    assert all(same_run(alone[key], lb.load(key, store)) for key in alone)
    assert states(store) == ["finished"] * 6


def test_told_to_stop_workers_save_and_leave(tmp_path, place):
    cancel, made = threading.Event(), []
    watch = threading.Thread(target=lambda: (until(lambda: states(tmp_path) == ["live"] * 2), cancel.set()))
    watch.start()
    place.run(run_shard, deadly.shards(tmp_path, sweep=deadly.ENDLESS, cut=((0,), (1,))), made.append, cancel)
    watch.join()
    assert sorted((one.number, one.ids, one.interrupted) for one in made) == [(0, (None,), True), (1, (None,), True)]
    assert states(tmp_path) == ["partial"] * 2
    assert all((run.folder / "state.npz").exists() for run in lb.Store(tmp_path).runs())


def test_a_worker_that_dies_says_how():
    worker = Worker()
    worker.process.kill()
    with pytest.raises(DeadError, match="of SIGKILL, as when memory runs out"):
        worker.ask(run_shard, deadly.shards(Path())[0])
    worker.leave()
    worker.wait(PATIENCE)


def test_a_cell_that_kills_every_worker_fails_alone(monkeypatch, tmp_path, alone):
    def ask(self, work, shard):
        if 3 in shard.cells:
            raise DeadError("of SIGKILL")
        return "done", work(shard)

    monkeypatch.setattr(Worker, "ask", ask)
    made: list[Done] = []
    with Processes(1) as one_worker:
        one_worker.run(run_shard, deadly.shards(tmp_path, cut=((2, 3),)), made.append, threading.Event())
    (one,) = made
    assert one.ids == (list(alone)[2], None)
    assert "3 workers died over it, the last of SIGKILL" in one.failed.pop(3)
    assert not one.failed


def test_what_the_work_raises_is_raised_here(monkeypatch, tmp_path):
    shards, made = deadly.shards(tmp_path), []
    kind, error = _answer(pickle.dumps((deadly.raises, shards[0])))
    assert kind == "error"
    monkeypatch.setattr(Worker, "ask", lambda *_: (kind, error))
    with Processes(2) as two, pytest.raises(InputError, match="shard 0 has an error of its own"):
        two.run(deadly.raises, shards, made.append, threading.Event())
    assert not made


PARENT = """
import sys, threading, deadly
from pathlib import Path
from latebloom.sweeps.places.processes import Processes
from latebloom.sweeps.shards import run_shard
if True:  # not guarded by __name__: a worker does not run it again
    tasks = deadly.shards(Path(sys.argv[1]), sweep=deadly.ENDLESS, cut=((0,),))
    Processes(1).run(run_shard, tasks, print, threading.Event())
"""


def test_a_parent_that_is_killed_leaves_no_worker_behind(tmp_path):
    path = os.pathsep.join([str(TESTS), *sys.path])
    with subprocess.Popen([sys.executable, "-", str(tmp_path)], stdin=subprocess.PIPE,
                          env=os.environ | {"PYTHONPATH": path}) as parent:  # fmt: skip
        assert parent.stdin is not None
        parent.stdin.write(PARENT.encode())
        parent.stdin.close()
        until(lambda: states(tmp_path) == ["live"])
        (owner,) = (tmp_path / "live").glob("*/owner.json")
        worker = json.loads(owner.read_text())["pid"]
        assert worker != parent.pid
        assert not gone(worker)
        parent.send_signal(signal.SIGKILL)
    until(lambda: gone(worker))
    assert states(tmp_path) == ["partial"]  # saved, and not abandoned


def test_a_worker_rounds_as_its_parent():
    """What XLA reads is what it is told, whichever cores the worker has."""
    worker = Worker()
    try:
        environment = Path(f"/proc/{worker.process.pid}/environ").read_bytes().split(b"\0")
        assert f"PJRT_NPROC={rounding_cores()}".encode() in environment
    finally:
        worker.leave()
        worker.wait(PATIENCE)
