"""The index makes listings quick and never makes them wrong."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from latebloom.errors import LatebloomWarning
from latebloom.store import Store, StoredRun
from latebloom.store import index as index_module

Put = Callable[..., StoredRun]


def overwrite(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 100)


def scramble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100:] = bytes(len(data) - 100)
    path.write_bytes(bytes(data))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def become_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def drop_the_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE runs_1")


def spoil_the_rows(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE runs_1 SET summary = '{'")


@pytest.mark.parametrize(
    "damage", [Path.unlink, overwrite, scramble, cut, become_a_folder, drop_the_table, spoil_the_rows]
)
def test_a_broken_index_changes_nothing(store: Store, put: Put, damage: Callable[[Path], None]) -> None:
    for i in range(3):
        put({"n": i, "x": float("inf")}, a=i)
    before = store.runs()
    assert [run.summary["n"] for run in before] == [0, 1, 2]
    damage(store.index().path)
    assert store.runs() == before
    if damage is not become_a_folder:  # a folder is not ours to delete; the store works without an index
        assert len(store.index().load()) == 3
        assert store.health()["index"] == "readable"
    assert store.runs() == before


def test_a_listing_from_the_index_opens_no_run(store: Store, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put(a=1)
    put({"complete": False}, a=2)
    before = store.runs()

    def refuse(*_: object) -> None:
        raise AssertionError("the index should have answered")

    monkeypatch.setattr(index_module, "from_disk", refuse)
    assert store.runs() == before
    assert [run.modified for run in store.runs()] == [run.modified for run in before]
    assert store.runs()[0].columns["step"].tolist() == [0, 1, 2, 3, 4]


def test_the_index_follows_the_folders(store: Store, put: Put, tmp_path: Path) -> None:
    first, second = put(a=1), put(a=2)
    assert store.runs() == [first, second]
    shutil.move(first.folder, tmp_path / "away")
    assert store.runs() == [second]
    assert list(store.index().load()) == [("finished", second.id)]
    shutil.move(tmp_path / "away", first.folder)
    assert store.runs() == [first, second]
    replaced = put({"outcome": "another"}, a=2, replace=True)
    assert store.runs() == [first, replaced]
    (replaced.folder / "summary.json").write_text('{"outcome": "edited in place"}')
    with pytest.warns(LatebloomWarning, match=r"is damaged \(summary.json is not what was published"):
        assert store.runs() == [first]


def test_a_locked_index_changes_nothing(store: Store, put: Put) -> None:
    first = put(a=1)
    assert store.runs() == [first]
    with closing(sqlite3.connect(store.index().path)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        second = put(a=2)
        assert store.runs() == [first, second]
        assert store.health()["index"] == "unreadable"
    assert store.runs() == [first, second]
    assert len(store.index().load()) == 2


def test_rebuilding_counts_the_runs(store: Store, put: Put) -> None:
    assert store.rebuild_index() == 0
    assert not store.path.exists()
    put(a=1)
    put(a=2)
    assert store.health()["index"] == "missing"
    assert store.rebuild_index() == 2
    assert len(store.index().load()) == 2
