"""Runs that are published together: each is whole or not there, as if it had been published alone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latebloom.errors import InputError, LatebloomWarning
from latebloom.store import Store, StoredRun, StoreError, atomic
from latebloom.store import checksums as checksums_module
from latebloom.store.formats import read_json
from latebloom.store.group import Draft, draft

Put = Callable[..., StoredRun]
FILES = ["arrays.npz", "checksums.json", "configuration.json", "records.parquet", "summary.json"]


def some(count: int, **summary: Any) -> list[Draft]:
    columns = {"step": np.arange(3), "name": np.array(["a", "b", "ü"])}
    return [draft({"a": number}, columns, {"n": number} | summary, {"w": np.ones(2)}) for number in range(count)]


def test_they_are_what_they_would_be_alone(store: Store, tmp_path: Path) -> None:
    store.publish_all(some(3))
    other = Store(tmp_path / "alone")
    for number in range(3):
        with other.begin({"a": number}) as live:
            columns = {"step": np.arange(3), "name": np.array(["a", "b", "ü"])}
            alone = live.finish(columns, {"n": number}, {"w": np.ones(2)})
        together = store.find({"a": number})
        assert together is not None
        assert sorted(path.name for path in together.folder.iterdir()) == FILES
        for name in FILES:
            if name not in ("arrays.npz", "checksums.json"):  # an archive has the time in it
                assert (together.folder / name).read_bytes() == (alone.folder / name).read_bytes()
        assert together.arrays["w"].tolist() == [1, 1]
    assert store.examine().counts == {"sound": 3}
    assert list((store.path / "live").iterdir()) == []


def test_partial_runs_have_ids_of_their_own(store: Store) -> None:
    drafts = some(1, complete=False) + some(1, complete=False)
    store.publish_all(drafts)
    assert {run.id for run in store.runs()} == {one.id for one in drafts}
    assert {run.state for run in store.runs()} == {"partial"}


def test_the_first_stays_unless_it_is_to_be_replaced(store: Store, put: Put) -> None:
    put({"n": 7}, a=1)
    store.publish_all(some(2))
    assert [store.get(one.key).summary["n"] for one in some(2)] == [0, 7]
    store.publish_all([draft({"a": 1}, {"x": np.arange(2)}, {"n": 8}, replaces=True)])
    assert store.get(some(2)[1].key).summary == {"n": 8}


def test_a_damaged_one_gives_way_and_a_newer_one_does_not(
    store: Store, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    (put(a=0).folder / "arrays.npz").write_bytes(b"")
    newer = put({"n": "newer"}, a=1)
    with monkeypatch.context() as patch:
        patch.setattr(checksums_module, "FORMAT", 2)
        checksums_module.seal(newer.folder)
    with pytest.warns(LatebloomWarning) as caught:
        store.publish_all(some(3))
    assert ["is damaged" in str(one.message) for one in caught] == [True, False]
    assert "what was computed now is not kept" in str(caught[1].message)
    assert read_json(newer.folder / "summary.json") == {"n": "newer"}
    assert store.examine().counts == {"sound": 2, "newer": 1, "set aside": 1}


def test_nothing_makes_no_store(store: Store) -> None:
    store.publish_all([])
    assert not store.path.exists()


def test_what_cannot_be_written_is_refused_before_anything_is(store: Store) -> None:
    with pytest.raises(InputError, match="different lengths"):
        draft({}, {"a": np.zeros(2), "b": np.zeros(3)}, {})
    with pytest.raises(InputError, match=r"summary\.x"):
        draft({}, {}, {"x": object()})
    with pytest.raises(InputError, match="dtype object"):
        draft({}, {}, {}, {"w": np.array([None])})


@pytest.mark.parametrize("count", [2, 40])
def test_all_is_on_the_disk_before_the_first_has_its_name(
    store: Store, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """A few files are brought there one by one, many by one call; after the names their folder is."""
    put_down: list[tuple[str, Path]] = []
    real = {name: getattr(os, name) for name in ("fsync", "rename")}

    def fsync(descriptor: int) -> None:
        put_down.append(("sync", Path(f"/proc/self/fd/{descriptor}").readlink()))
        real["fsync"](descriptor)

    def rename(source: Any, target: Any) -> None:
        put_down.extend([("name", Path(target)), ("from", Path(source))])
        real["rename"](source, target)

    def system(path: Path) -> bool:
        folder = path.parent.parent
        there = {file for file in folder.rglob("*") if file.is_file() and file.name != "owner.json"}
        put_down.extend(("sync", each) for each in [*there, *folder.iterdir()])
        return sync(path)

    sync = atomic.sync_system
    monkeypatch.setattr(atomic, "sync_system", system)
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", rename)
    drafts = some(count)
    store.publish_all(drafts)
    names = [number for number, (what, path) in enumerate(put_down) if what == "name" and path.parent.name == "runs"]
    assert len(names) == count
    for number in names:
        folder = put_down[number + 1][1]
        before = [path for what, path in put_down[: names[0]] if what == "sync"]
        assert {folder / name for name in FILES} | {folder} <= set(before)
    assert ("sync", store.path / "runs") in put_down[names[-1] :]


@pytest.mark.skipif(not atomic.sys.platform.startswith("linux"), reason="syncfs is Linux's")
def test_many_files_are_one_call(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: calls.append(descriptor) or real(descriptor))
    store.publish_all(some(40))
    assert len(calls) < 10  # owner, folders made, `runs` in the end; and none for the 240 files and folders
    assert atomic.sync_system(store.path)


@pytest.mark.parametrize("allowed", range(7))
def test_each_is_whole_or_not_there_wherever_it_stops(
    store: Store, monkeypatch: pytest.MonkeyPatch, allowed: int
) -> None:
    """The renames: owner, group, a run each, and the group on its way out."""
    real, left = os.rename, list(range(allowed))

    def rename(source: Any, target: Any) -> None:
        if not left:
            raise PermissionError(1, "no")
        left.pop()
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        patch.setattr(os, "replace", rename)
        stopped = pytest.raises(StoreError, match="Operation not permitted") if allowed < 6 else nullcontext()
        with stopped:
            store.publish_all(some(3))
    found = [run for number in range(3) if (run := store.find({"a": number}))]
    assert len(found) == min(max(allowed - 2, 0), 3)
    assert all(run.columns["step"].tolist() == [0, 1, 2] for run in found)
    assert store.examine().bad == []
    store.publish_all(some(3))
    assert [store.get(one.key).summary["n"] for one in some(3)] == [0, 1, 2]


def test_what_a_killed_process_left_is_seen_by_nobody_and_goes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("latebloom.store.group.publish", lambda *_, **__: None)
        patch.setattr("latebloom.store.group.discard", lambda _: None)
        store.publish_all(some(2))
    (group,) = (store.path / "live").iterdir()
    assert store.runs() == []
    assert store.attempts() == {}
    assert len(store.frame()) == 0
    store.publish_all(some(1))
    assert group.exists()  # its process, this one, is alive
    owner = json.loads((group / "owner.json").read_text())
    (group / "owner.json").write_text(json.dumps(owner | {"started": "1"}))
    store.publish_all(some(1))
    assert not group.exists()
