"""Several processes on one store, and processes that are killed."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latebloom.errors import InputError
from latebloom.store import DamagedError, Store, StoreError
from latebloom.store import layout as layout_module
from latebloom.store import live as live_module
from latebloom.store.layout import Layout
from latebloom.store.live import recover_run

WRITER = """
import sys, numpy as np
from latebloom.store import Store
live = Store(sys.argv[1]).begin({"seed": 1})
for i in range(10**9):
    live.append({"step": np.arange(1000 * i, 1000 * (i + 1)), "norms": np.full((1000, 3), float(i))})
    if i == 3:
        print("go", flush=True)
"""


@pytest.fixture
def killed(store: Store) -> Store:
    """A store in which a process was killed in the middle of its records."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(store.path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "go\n"
        assert [run.state for run in store.runs()] == ["live"]
        with pytest.raises(InputError, match=r"is still being written: stop its process first"):
            store.delete(store.runs()[0].id)
        with pytest.raises(InputError, match=r"is live: only an abandoned run can be recovered"):
            store.recover(store.runs()[0].id)
        child.send_signal(signal.SIGKILL)
    return store


def test_a_killed_run_is_recovered_up_to_its_last_whole_batch(killed: Store) -> None:
    (run,) = killed.runs()
    assert (run.state, run.configuration) == ("abandoned", {"seed": 1})
    rows = len(run.columns["step"])
    assert rows >= 4000
    assert rows % 1000 == 0
    assert run.columns["step"].tolist() == list(range(rows))
    partial = killed.recover(run.id)
    assert partial.summary == {"complete": False, "recovered": True}
    np.testing.assert_array_equal(partial.columns["norms"], run.columns["norms"])
    assert [(r.id, r.state) for r in killed.runs()] == [(partial.id, "partial")]
    assert killed.find({"seed": 1}) is None


@pytest.mark.parametrize("lost", [1, 7, 8, 9, 500, 10_000])
def test_a_stream_cut_anywhere_keeps_its_whole_batches(store: Store, lost: int) -> None:
    with store.begin({"a": 1}) as live:
        for i in range(3):
            live.append({"x": np.full(1000, float(i))})
    path = live.folder / "records.arrows"
    whole = path.stat().st_size
    os.truncate(path, whole - lost)
    batches = 3 - (lost > 8) - (lost > 8 + 8000)  # the end mark has 8 bytes, a batch 8000 and a header
    assert store.runs()[0].columns["x"].tolist() == [float(i) for i in range(batches) for _ in range(1000)]


def test_a_stream_without_a_whole_batch_cannot_be_recovered(store: Store) -> None:
    with store.begin({"a": 1}) as live:
        live.append({"x": np.zeros(10)})
    os.truncate(live.folder / "records.arrows", 3)
    (run,) = store.runs()
    with pytest.raises(StoreError, match=rf"run {run.id} is damaged .* remove it with `latebloom runs delete"):
        store.recover(run.id)
    assert store.runs() == [run]


def test_a_stream_with_its_first_batch_cut_has_no_record(store: Store) -> None:
    with store.begin({"a": 1}) as live:
        live.append({"x": np.zeros(1000)})
    os.truncate(live.folder / "records.arrows", 5000)
    (run,) = store.runs()
    with pytest.raises(StoreError, match=rf"run {run.id} has no whole record to recover: remove it with"):
        store.recover(run.id)
    assert store.runs() == [run]


def test_of_two_recoveries_one_is_told(store: Store) -> None:
    with store.begin({"a": 1}) as live:
        live.append({"x": np.arange(3)})
    (seen_by_both,) = store.runs()
    assert seen_by_both.columns["x"].tolist() == [0, 1, 2]
    recover_run(Layout(store.path), seen_by_both)
    with pytest.raises(StoreError, match=rf"run {seen_by_both.id} was recovered or deleted meanwhile: see"):
        recover_run(Layout(store.path), seen_by_both)
    assert [run.state for run in store.runs()] == ["partial"]


def test_a_run_being_recovered_has_an_owner(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.begin({"a": 1}) as live:
        live.append({"x": np.arange(3)})
    states = []
    real = live_module.write_table

    def look(path: Path, table: Any) -> None:
        states.extend(run.state for run in store.runs())
        real(path, table)

    monkeypatch.setattr(live_module, "write_table", look)
    assert store.recover(store.runs()[0].id).state == "partial"
    assert states == ["live"]


def test_a_run_killed_just_before_its_publication_is_not_partial(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.begin({"a": 1}) as live, monkeypatch.context() as patch:
        patch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(PermissionError(1, "no")))
        with pytest.raises(StoreError, match=r"Operation not permitted"):
            live.finish({"x": np.arange(3)}, {"n": 1})
    (run,) = store.runs()
    assert run.state == "abandoned"
    assert store.recover(run.id).summary == {"n": 1}
    assert store.find({"a": 1}) is not None


@pytest.mark.parametrize("is_damaged", [True, False])
def test_a_run_that_cannot_be_published_again_can_still_be_recovered(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_damaged: bool
) -> None:
    """Killed just before its publication; then its summary is damaged, or the disk refuses once more."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "no")

    with store.begin({"a": 1}) as live, monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        with pytest.raises(StoreError, match=r"Operation not permitted"):
            live.finish({"x": np.arange(3)}, {"n": 1})
    (run,) = store.runs()
    if is_damaged:
        (run.folder / "summary.json").write_text("{")
        with pytest.raises(DamagedError, match=rf"run {run.id} is damaged .* remove it with `latebloom runs delete"):
            store.recover(run.id)
        assert store.delete(run.id) == run.id
    else:
        with monkeypatch.context() as patch:
            patch.setattr(live_module, "renamed", refuse)
            with pytest.raises(StoreError, match=r"Operation not permitted"):
                store.recover(run.id)
        assert store.recover(store.runs()[0].id).summary == {"n": 1}


@pytest.mark.parametrize("owner", ["", "{", "[]"])
def test_a_run_without_a_readable_owner_is_abandoned(store: Store, owner: str) -> None:
    live = store.begin({"a": 1})
    live.append({"x": np.arange(3)})
    (live.folder / "owner.json").write_text(owner)
    assert store.runs()[0].state == "abandoned"
    live.close()


@pytest.mark.parametrize("pid", [10**30, -1, 0, "1", None])
def test_no_process_has_an_impossible_number(store: Store, pid: object) -> None:
    live = store.begin({"a": 1})
    live.append({"x": np.arange(3)})
    path = live.folder / "owner.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "pid": pid, "started": None}))
    assert store.runs()[0].state == "abandoned"
    live.close()


def test_a_draft_that_gets_its_name_during_a_listing_hides_no_owner(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = store.begin({"a": 1})
    real = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda folder: iter([*real(folder), folder / ".summary.json-0"]))
    assert store.runs()[0].state == "live"
    monkeypatch.setattr(layout_module, "_host", lambda: "elsewhere")
    assert store.runs()[0].state == "live"
    monkeypatch.undo()
    live.close()


def test_a_process_number_used_again_is_not_the_owner(store: Store) -> None:
    live = store.begin({"a": 1})
    live.append({"x": np.arange(3)})
    path = live.folder / "owner.json"
    owner = json.loads(path.read_text())
    assert owner["pid"] == os.getpid()
    assert store.runs()[0].state == "live"
    path.write_text(json.dumps({**owner, "started": "1"}))
    assert store.runs()[0].state == "abandoned"
    live.close()


def test_a_run_of_another_machine_is_live_until_it_is_silent(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    live = store.begin({"a": 1})
    live.append({"x": np.arange(3)})
    monkeypatch.setattr(layout_module, "_host", lambda: "elsewhere")
    assert store.runs()[0].state == "live"
    monkeypatch.setattr(layout_module, "_SILENCE", -1.0)
    assert store.runs()[0].state == "abandoned"
    live.close()


def publish_many(path: str, worker: int, barrier_folder: str) -> None:
    """Twenty runs that every worker writes, and twenty of its own; listings in between."""
    store = Store(path)
    (Path(barrier_folder) / str(worker)).touch()
    while len(list(Path(barrier_folder).iterdir())) < 2:  # start together, so that they do collide
        pass
    for i in range(20):
        for configuration in ({"shared": i}, {"own": i, "worker": worker}):
            with store.begin(configuration) as live:
                columns = {"x": np.arange(50.0) + i}
                live.append(columns)
                run = live.finish(columns, {"worker": worker})
            assert run.columns["x"].tolist() == columns["x"].tolist()
        if i % 5 == 0:
            store.runs()


def test_two_processes_publish_at_once(store: Store, tmp_path: Path) -> None:
    barrier = tmp_path / "barrier"
    barrier.mkdir()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=publish_many, args=(str(store.path), w, str(barrier))) for w in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    wanted = [{"shared": i} for i in range(20)] + [{"own": i, "worker": w} for i in range(20) for w in range(2)]
    assert all(store.find(configuration) is not None for configuration in wanted)
    assert store.health()["runs"] == {"finished": 60, "partial": 0, "live": 0, "abandoned": 0}
    assert store.health()["damaged"] == 0
    assert len(store.runs()) == 60
    leftovers = [*(store.path / "live").iterdir(), *(store.path / "runs").glob(".*")]
    assert leftovers == []
