"""The table's file makes questions quick and never makes their answers wrong."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from stored_documents import summary, trained

from latebloom.errors import LatebloomWarning
from latebloom.store import Store, StoredRun
from latebloom.store import index as index_module
from latebloom.store import table as table_module
from latebloom.store.formats import read_json, write_json
from latebloom.store.layout import Layout

Put = Callable[..., StoredRun]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is written after every change, and documents are read two at a time."""
    monkeypatch.setattr(table_module, "LATER", 0)
    monkeypatch.setattr(table_module, "AT_ONCE", 2)


@pytest.fixture
def five(store: Store, put: Put) -> list[StoredRun]:
    runs = [put(summary(t2=1950 + n), **trained(penalty=f"l1[strength={n}]")) for n in range(5)]
    assert ids(store) == [run.id for run in runs]
    return runs


def ids(store: Store, where: str | None = None) -> list[str]:
    return store.frame(where, columns=["id"])["id"].tolist()


def file_of(store: Store) -> Path:
    return Layout(store.path).table


def refuse(*_: object) -> None:
    raise AssertionError("the file should have answered")


def test_a_question_opens_no_run(store: Store, five: list[StoredRun], monkeypatch: pytest.MonkeyPatch) -> None:
    before = store.frame()
    monkeypatch.setattr(table_module, "_opened", lambda layout, names: iter(()) if not names else refuse())
    assert store.frame().equals(before)
    assert ids(store, "strength > 2") == [run.id for run in five[3:]]


def test_only_what_is_shown_is_looked_at(store: Store, five: list[StoredRun], monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    real = table_module.stamp_of
    monkeypatch.setattr(
        table_module, "stamp_of", lambda state, folder: looked.append(folder.name) or real(state, folder)
    )
    assert ids(store, "strength = 3") == looked == [five[3].id]


def test_the_table_follows_the_folders(store: Store, put: Put, five: list[StoredRun], tmp_path: Path) -> None:
    everything = [run.id for run in five]
    shutil.move(five[1].folder, tmp_path / "away")
    assert ids(store) == [everything[0], *everything[2:]]
    shutil.move(tmp_path / "away", five[1].folder)
    assert ids(store) == everything
    put(summary(t2=7), replace=True, **trained(penalty="l1[strength=2]"))
    assert store.frame("strength = 2")["t2"].tolist() == [7]
    assert ids(store, "t2 = 1952") == []
    new = put(summary(), **trained("q"))
    assert ids(store)[-1] == new.id
    store.delete(new.id)
    with store.begin(trained("q")) as live:
        live.append({"step": np.arange(3)})
        assert ids(store, "outcome = 'live'") == [live.id]
    assert ids(store, "outcome = 'abandoned'") == [live.id]
    assert store.recover(live.id).id in ids(store, "outcome = 'recovered'")


def test_an_edited_run_that_is_chosen_is_read_again(store: Store, five: list[StoredRun]) -> None:
    path = five[2].folder / "summary.json"
    path.write_text(path.read_text().replace("1952", "1960"))
    with pytest.warns(LatebloomWarning, match=r"is damaged \(summary.json is not what was published"):
        assert ids(store, "t2 = 1952 or strength = 0") == [five[0].id]
    assert ids(store) == [run.id for run in five if run != five[2]]


def test_an_edited_run_without_checksums_is_chosen_by_what_it_says_now(store: Store, five: list[StoredRun]) -> None:
    for run in five:
        (run.folder / "checksums.json").unlink()
    told = read_json(five[2].folder / "summary.json")
    told["milestones"]["generalised"]["first"]["step"] = 5
    write_json(five[2].folder / "summary.json", told)
    assert ids(store, "t2 = 1952") == []
    assert ids(store, "t2 = 5") == [five[2].id]


def test_a_copied_store_is_compared_and_not_read(
    store: Store, five: list[StoredRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, copy = store.frame(), Store(shutil.copytree(store.path, tmp_path / "copy"))
    with monkeypatch.context() as patch:
        patch.setattr(table_module, "_opened", lambda layout, names: iter(()) if not names else refuse())
        assert copy.frame().equals(before)
        looked: list[str] = []
        patch.setattr(table_module, "_stale", lambda layout, rows: looked.extend(rows["id"].to_pylist()) or set())
        assert ids(copy, "strength = 1") == looked  # its inodes are known by now
    shutil.copytree(five[0].folder, tmp_path / "kept")
    path = copy.path / "runs" / five[0].id / "summary.json"
    os.utime(path, (1, 1))
    assert ids(copy)[0] == five[0].id


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(bytes(data))


def of_another_version(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(table_module.FORMAT, b"latebloom table 9\n"))


def become_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [Path.unlink, cut, flip, of_another_version, become_a_folder, Path.touch])
@pytest.mark.parametrize("has_index", [True, False])
def test_a_broken_file_changes_nothing(
    store: Store, five: list[StoredRun], damage: Callable[[Path], None], has_index: bool
) -> None:
    before = store.frame()
    damage(file_of(store))
    if not has_index:
        store.index().drop()
    assert store.frame().equals(before)
    assert store.frame().equals(before)


@pytest.mark.parametrize("later", [0, 3, 100])
def test_new_runs_wait_for_the_file_and_are_there(
    store: Store, put: Put, five: list[StoredRun], monkeypatch: pytest.MonkeyPatch, later: int
) -> None:
    monkeypatch.setattr(table_module, "LATER", later)
    monkeypatch.setattr(table_module, "SHARE", 100)
    new = [put(summary(), **trained(f"q[seed={n}]")).id for n in range(4)]
    assert ids(store) == [*(run.id for run in five), *new]
    assert len(table_module.read_file(file_of(store))) == (5 if later == 100 else 9)
    monkeypatch.setattr(index_module, "read_or_set_aside", refuse)
    assert ids(store)[5:] == new  # of the index


def test_a_disk_that_refuses_is_no_matter(
    store: Store, put: Put, five: list[StoredRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "full")

    new = put(summary(), **trained("q"))
    monkeypatch.setattr(table_module, "durable", full)
    assert ids(store)[-1] == new.id


def test_rebuilding_forgets_the_file(store: Store, five: list[StoredRun]) -> None:
    assert store.rebuild_index() == 5
    assert not file_of(store).exists()
    assert len(store.frame()) == 5
