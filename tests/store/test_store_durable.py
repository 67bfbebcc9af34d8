"""What has its name is whole and on the disk: no reader sees half a file, and a power cut takes nothing back.

A power cut cannot be had in a test, so the calls to the system are written down in their order.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from latebloom.store import Store, StoreError
from latebloom.store.atomic import durable
from latebloom.store.formats import read_json, write_json

FILES = ["arrays.npz", "checksums.json", "configuration.json", "records.parquet", "summary.json"]


class Call(NamedTuple):
    """One call to the system: what was done to which path, where it went, and the bytes that were there."""

    what: str
    path: Path
    target: Path | None = None
    size: int = 0


@pytest.fixture
def journal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Call]:
    """Every fsync, rename and unlink below `tmp_path` from now on."""
    calls: list[Call] = []
    real = {name: getattr(os, name) for name in ("fsync", "rename", "replace", "unlink")}

    def path_of(descriptor: int) -> Path:
        status = os.fstat(descriptor)
        return next(path for path in [tmp_path, *tmp_path.rglob("*")] if os.path.samestat(path.stat(), status))

    def fsync(descriptor: int) -> None:
        calls.append(Call("fsync", path_of(descriptor), None, os.fstat(descriptor).st_size))
        real["fsync"](descriptor)

    def rename(source: Any, target: Any, **options: Any) -> None:
        calls.append(Call("rename", Path(source), Path(target), Path(source).stat().st_size))
        real["rename"](source, target, **options)

    def unlink(path: Any, **options: Any) -> None:
        calls.append(Call("unlink", Path(path)))
        real["unlink"](path, **options)

    for name, patched in {"fsync": fsync, "rename": rename, "replace": rename, "unlink": unlink}.items():
        monkeypatch.setattr(os, name, patched)
    return calls


def position(calls: list[Call], wanted: Callable[[Call], bool], *, after: int = -1) -> int:
    """Where the first such call after another is."""
    found = [number for number, call in enumerate(calls) if number > after and wanted(call)]
    assert found, f"no such call after number {after} of {calls}"
    return found[0]


def synced(path: Path) -> Callable[[Call], bool]:
    return lambda call: (call.what, call.path) == ("fsync", path)


def named(path: Path) -> Callable[[Call], bool]:
    return lambda call: (call.what, call.target) == ("rename", path)


def test_a_run_is_on_the_disk_before_it_has_its_name(store: Store, journal: list[Call]) -> None:
    with store.begin({"a": 1}) as live:
        live.append({"x": np.arange(3)})
        run = live.finish({"x": np.arange(3)}, {"n": 1}, {"w": np.ones(2)})
    published = position(journal, named(run.folder))
    assert journal[published].path == live.folder
    for name in FILES:
        renamed = position(journal, named(live.folder / name))
        draft = journal[renamed]
        written = journal[position(journal, synced(draft.path))]
        assert position(journal, synced(draft.path)) < renamed, f"{name} had its name before its contents"
        assert written.size == draft.size > 0, f"{name} was written to after it was brought to the disk"
        assert position(journal, synced(live.folder), after=renamed) < published, f"the name of {name} can be lost"
    position(journal, synced(run.folder.parent), after=published)


def test_the_stream_goes_only_when_the_records_are_safe(store: Store, journal: list[Call]) -> None:
    with store.begin({"a": 1}) as live:
        live.append({"x": np.arange(3)})
        live.finish({"x": np.arange(3)}, {})
    gone = position(journal, lambda call: (call.what, call.path.name) == ("unlink", "records.arrows"))
    summary = position(journal, named(live.folder / "summary.json"))
    assert summary < position(journal, synced(live.folder), after=summary) < gone
    # And it stays away: a stream that a power cut brings back would be read in place of the records.
    again = position(journal, synced(live.folder), after=gone)
    assert again < position(journal, lambda call: call.path == live.folder and call.what == "rename")


@pytest.mark.parametrize("summary", [{}, {"complete": False}])
def test_a_new_store_survives_from_its_first_run_on(
    store: Store, journal: list[Call], tmp_path: Path, summary: dict[str, Any]
) -> None:
    with store.begin({"a": 1}) as live:
        run = live.finish({"x": np.arange(3)}, summary)
    written = position(journal, named(live.folder / "summary.json"))
    for folder in [tmp_path, tmp_path / "below", store.path]:  # where `below`, `store` and `live` are made
        assert position(journal, synced(folder)) < written
    position(journal, synced(store.path), after=written)  # and `runs` or `partial`
    position(journal, synced(run.folder.parent), after=written)


def test_a_file_has_its_old_contents_until_the_new_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with durable(path) as file:
        file.write(b"new, and")
        file.flush()
        assert path.read_bytes() == b"old"
        file.write(b" longer")
    assert path.read_bytes() == b"new, and longer"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError(28, "full"), KeyboardInterrupt()])
def test_a_file_that_is_not_finished_leaves_the_old_one(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def interrupted() -> None:
        with durable(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)):
        interrupted()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    documents = [{"values": [n] * 20_000 * (n + 1)} for n in range(2)]
    write_json(path, documents[0])

    def rewrite() -> None:
        for n in range(30):
            write_json(path, documents[n % 2])

    writer = threading.Thread(target=rewrite)
    writer.start()
    while writer.is_alive():
        assert read_json(path) in documents
    writer.join()


@pytest.mark.parametrize("allowed", range(8))
def test_a_run_is_whole_or_not_there_wherever_it_stops(
    store: Store, monkeypatch: pytest.MonkeyPatch, allowed: int
) -> None:
    """A run has seven renames: owner, configuration, records, arrays, summary, checksums, and the folder's own."""
    real, left = os.rename, list(range(allowed))

    def rename(source: Any, target: Any) -> None:
        if not left:
            raise PermissionError(1, "no")
        left.pop()
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        patch.setattr(os, "replace", rename)
        stopped = pytest.raises(StoreError, match="Operation not permitted") if allowed < 7 else nullcontext()
        with stopped:
            store.begin({"a": 1}).finish({"x": np.arange(3)}, {"n": 1}, {"w": np.ones(2)})
    found = store.find({"a": 1})
    assert (found is not None) == (allowed == 7)
    assert found is None or (found.summary, found.columns["x"].tolist()) == ({"n": 1}, [0, 1, 2])
