"""A disk that refuses gives one line that says what to type."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latebloom.store import Store, StoredRun, StoreError
from latebloom.store import live as live_module

Put = Callable[..., StoredRun]

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
FULL_TEXT = r"^cannot write to the store at \S+ \(No space left on device\): choose another with --store DIR$"


class FullFile:
    """A file on a disk that takes `room` more bytes."""

    def __init__(self, file: Any, room: int) -> None:
        self.file, self.room = file, room

    def write(self, data: memoryview) -> int:
        if not self.room:
            raise FULL
        written = self.file.write(data[: self.room])
        self.room -= written
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def test_a_store_below_a_file_is_not_writable(tmp_path: Path) -> None:
    # Not by permissions: these tests may run as root.
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "store")
    text = r"^cannot write to the store at \S+file/store \(Not a directory\): choose another with --store DIR$"
    with pytest.raises(StoreError, match=text):
        store.begin({"a": 1})
    assert store.find({"a": 1}) is None
    assert store.runs() == []
    assert store.rebuild_index() == 0
    health = store.health()
    assert (health["exists"], health["writable"], health["index"]) == (False, False, "missing")


def test_a_full_disk_in_append_keeps_the_whole_batches(store: Store) -> None:
    live = store.begin({"a": 1})
    live.append({"x": np.arange(4.0)})
    writer, size = live._stream, (live.folder / "records.arrows").stat().st_size
    file = writer._file
    writer._file = FullFile(file, room=50)  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(StoreError, match=FULL_TEXT):
        live.append({"x": np.arange(4.0, 8.0)})
    assert (live.folder / "records.arrows").stat().st_size == size
    assert store.runs()[0].columns["x"].tolist() == [0, 1, 2, 3]
    writer._file = file  # somebody makes room
    live.append({"x": np.arange(8.0, 9.0)})
    live.close()
    (run,) = store.runs()
    assert run.state == "abandoned"
    assert run.columns["x"].tolist() == [0, 1, 2, 3, 8]


def test_closing_on_a_full_disk_keeps_the_batches(store: Store) -> None:
    live = store.begin({"a": 1})
    live.append({"x": np.arange(4.0)})
    live._stream._file = FullFile(live._stream._file, room=0)  # pyright: ignore[reportAttributeAccessIssue]
    live.close()
    assert store.runs()[0].columns["x"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("function", ["write_table", "write_arrays", "write_json"])
def test_a_full_disk_in_finish_keeps_the_stream(store: Store, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    live = store.begin({"a": 1})
    live.append({"x": np.arange(4.0)})

    def refuse(*_: Any) -> None:
        raise FULL

    with monkeypatch.context() as patch:
        patch.setattr(live_module, function, refuse)
        with pytest.raises(StoreError, match=FULL_TEXT):
            live.finish({"x": np.arange(6.0)}, {})
    live.close()
    (run,) = store.runs()
    assert run.state == "abandoned"
    assert run.columns["x"].tolist() == [0, 1, 2, 3]
    assert store.find({"a": 1}) is None
    assert store.recover(run.id).state == "partial"


def test_a_failed_write_leaves_no_draft(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    live = store.begin({"a": 1})

    def refuse(_: int) -> None:
        raise FULL

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(StoreError, match=FULL_TEXT):
            live.finish({"x": np.arange(6.0)}, {})
    assert sorted(path.name for path in live.folder.iterdir()) == ["configuration.json", "owner.json"]
    assert live.finish({"x": np.arange(6.0)}, {}).state == "finished"


def test_a_failed_recovery_loses_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.begin({"a": 1}) as live:
        live.append({"x": np.arange(4.0)})

    def refuse(*_: Any) -> None:
        raise FULL

    with monkeypatch.context() as patch:
        patch.setattr(live_module, "write_table", refuse)
        with pytest.raises(StoreError, match=FULL_TEXT):
            store.recover(store.runs()[0].id)
    run = store.recover(store.runs()[0].id)
    assert run.columns["x"].tolist() == [0, 1, 2, 3]


def test_no_permission_is_not_damage(store: Store, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    run = put(a=1)

    def refuse(*_: Any, **__: Any) -> str:
        raise PermissionError(errno.EACCES, "no")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", refuse)
        with pytest.raises(StoreError, match=r"^cannot read \S+ \(Permission denied\): check its permissions"):
            store.find({"a": 1})
    assert store.find({"a": 1}) == run
