"""What was published has its checksums; what has gone, or was moved aside, is told and stops nothing."""

from __future__ import annotations

import errno
import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latebloom.errors import InputError, LatebloomError, LatebloomWarning
from latebloom.store import DamagedError, GoneError, Store, StoredRun, StoreError
from latebloom.store import run as run_module

Put = Callable[..., StoredRun]


@pytest.mark.parametrize("summary", [{"n": 1}, {"complete": False}])
def test_every_file_of_a_published_run_has_its_sum(store: Store, summary: dict[str, Any]) -> None:
    with store.begin({"a": 1}) as live:
        live.append({"x": np.arange(3)})
        (live.folder / "more").mkdir()
        (live.folder / "more" / "notes.txt").write_text("of another program")
        (live.folder / "state.npz").write_bytes(b"taken by who goes on")
        run = live.finish({"x": np.arange(3)}, summary, {"w": np.ones(2)})
    document = json.loads((run.folder / "checksums.json").read_text())
    own = document.pop("sha256")
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    assert own == hashlib.sha256(text.encode()).hexdigest()
    names = ["arrays.npz", "configuration.json", "more/notes.txt", "records.parquet", "summary.json"]
    sums = {name: hashlib.sha256((run.folder / name).read_bytes()).hexdigest() for name in names}
    assert document == {"format": 1, "files": sums}
    (run.folder / "state.npz").unlink()
    (run.folder / "left by somebody.txt").write_text("no harm")
    assert store.examine().counts == {"sound": 1}


def test_a_file_of_others_is_looked_at_too(store: Store) -> None:
    with store.begin({"a": 1}) as live:
        (live.folder / "notes.txt").write_text("of another program")
        run = live.finish({"x": np.arange(3)}, {})
    (run.folder / "notes.txt").write_text("of another programme")
    with pytest.warns(LatebloomWarning, match=r"notes.txt is not what was published"):
        assert store.find({"a": 1}) is None


def test_a_stream_beside_what_was_published_is_not_believed(store: Store, put: Put) -> None:
    run = put(a=1)
    with store.begin({"a": 2}) as live:
        live.append({"step": np.arange(99)})
        (run.folder / "records.arrows").write_bytes((live.folder / "records.arrows").read_bytes())
    found = store.find({"a": 1})
    assert found is not None
    assert len(found.columns["step"]) == 5


def test_an_examination_moves_nothing(store: Store, put: Put) -> None:
    good, bad, old = put(a=1), put({"complete": False}, a=2), put(a=3)
    (bad.folder / "arrays.npz").write_bytes(b"")
    (old.folder / "checksums.json").unlink()
    with store.begin({"a": 4}) as live:
        live.append({"x": np.zeros(3)})
    examination = store.examine()
    assert examination.counts == {"sound": 1, "damaged": 1, "unsealed": 2}
    assert [(finding.id, finding.state) for finding in examination.bad] == [(bad.id, "partial")]
    assert store.health()["damaged"] == 1
    assert store.get(good.id) == good
    assert bad.folder.exists()
    assert not (store.path / "damaged").exists()


def test_a_killed_run_that_was_sealed_is_recovered_only_if_it_is_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "no")

    for number in range(2):
        with store.begin({"a": number}) as live, monkeypatch.context() as patch:
            patch.setattr(Path, "rename", refuse)
            with pytest.raises(StoreError, match="Operation not permitted"):
                live.finish({"x": np.arange(3)}, {"n": number})
    whole, edited = sorted(store.runs(), key=lambda run: run.configuration["a"])
    (edited.folder / "summary.json").write_text('{"n": 7}')
    assert store.recover(whole.id).summary == {"n": 0}
    with pytest.raises(DamagedError, match=r"summary\.json is not what was published"):
        store.recover(edited.id)


def test_a_run_that_went_away_says_so(store: Store, put: Put) -> None:
    run = put(a=1)
    (listed,) = store.runs()
    store.delete(run.id)
    with pytest.raises(GoneError, match=rf"^run {run.id} was deleted or moved meanwhile: see `latebloom runs list`$"):
        _ = listed.columns


def test_a_damaged_run_on_a_disk_that_refuses_stays(store: Store, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    run, other = put(a=1), put(a=2)
    (run.folder / "summary.json").write_text("{}")

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "no")

    monkeypatch.setattr(run_module, "make_folder", refuse)
    with pytest.warns(LatebloomWarning, match=r"is damaged .*: left in place \(Read-only file system\)"):
        assert store.runs() == [other]
    with pytest.warns(LatebloomWarning, match="left in place"):
        assert store.find({"a": 1}) is None


@pytest.mark.parametrize("state", ["live", "abandoned"])
def test_a_damaged_run_that_is_being_written_is_not_moved(store: Store, put: Put, state: str) -> None:
    other, live = put(a=1), store.begin({"a": 2})
    live.append({"x": np.zeros(3)})
    (live.folder / "configuration.json").write_text("[")
    if state == "abandoned":
        live.close()
    with pytest.warns(LatebloomWarning, match="left in place" if state == "live" else "moved to"):
        assert store.runs() == [other]
    assert live.folder.exists() is (state == "live")
    live.close()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("~nouser", r"^store='~nouser': there is no such user; write the path in full$"),
        ("", r"^store='' names no folder: give one, or leave it out for your own$"),
        ("a\0b", r"is not a path: give the folder as text$"),
        (5, r"^store=5 is not a path: give the folder as text$"),
    ],
)
def test_a_store_that_cannot_be_is_refused(path: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Store(path)


def test_a_store_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file' is not a folder: give a folder, which is made if it is not there$"):
        Store(tmp_path / "file")


def delete_many(path: str, ready: Any) -> None:
    """Deletes whatever it sees until there is nothing left, as another process would."""
    store = Store(path)
    ready.wait()
    while found := store.runs():
        for run in found:
            with suppress(LatebloomError):  # the other was quicker
                store.delete(run.id)


def test_two_processes_delete_while_this_one_reads(store: Store, put: Put) -> None:
    """No traceback on either side, no warning (they are errors here), and in the end nothing is left."""
    for number in range(25):
        put(a=number)
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    workers = [context.Process(target=delete_many, args=(str(store.path), ready)) for _ in range(2)]
    for worker in workers:
        worker.start()
    ready.set()
    while store.runs():
        for number in range(25):
            store.find({"a": number})
        store.examine()
        store.health()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert os.listdir(store.path / "runs") == []  # noqa: PTH208
    assert not (store.path / "damaged").exists()
