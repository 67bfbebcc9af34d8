"""Nothing that happens to the files breaks the store, and nothing is deleted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from latebloom.errors import LatebloomWarning
from latebloom.store import DamagedError, Store, StoredRun
from latebloom.store.formats import read_json, write_json

Put = Callable[..., StoredRun]


def halve(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def flip_a_bit(path: Path) -> None:
    # Bit rot in the first data page; the footer, at the end, is left alone.
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(bytes(data))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def edit(path: Path) -> None:
    write_json(path, {**read_json(path), "seed": 8})


def become_a_list(path: Path) -> None:
    path.write_text("[1, 2]")


def become_bytes(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00{")


def nest_deep(path: Path) -> None:
    path.write_text('{"a": ' * 100_000)


CASES = [
    ("records.parquet", halve),
    ("records.parquet", flip_a_bit),
    ("records.parquet", empty),
    ("records.parquet", Path.unlink),
    ("arrays.npz", halve),
    ("arrays.npz", Path.unlink),
    ("arrays.npz", empty),
    ("summary.json", halve),
    ("summary.json", Path.unlink),
    ("summary.json", empty),
    ("summary.json", become_a_list),
    ("summary.json", become_bytes),
    ("summary.json", nest_deep),
    ("configuration.json", halve),
    ("configuration.json", Path.unlink),
    ("configuration.json", edit),
]


@pytest.mark.parametrize(("name", "damage"), CASES)
def test_find_moves_a_damaged_run_aside(store: Store, put: Put, name: str, damage: Callable[[Path], None]) -> None:
    run = put(seed=7)
    damage(run.folder / name)
    with pytest.warns(LatebloomWarning, match=rf"run {run.id} is damaged \(.+\): moved to .*{run.id}-1") as caught:
        assert store.find({"seed": 7}) is None
    assert "\n" not in str(caught[0].message)
    assert not run.folder.exists()
    assert (store.path / "damaged" / f"{run.id}-1").is_dir()
    assert store.find({"seed": 7}) is None  # without a second warning: warnings are errors here
    assert put(seed=7).state == "finished"
    found = store.find({"seed": 7})
    assert found is not None
    assert found.columns["step"].tolist() == [0, 1, 2, 3, 4]


def test_damage_twice_gets_two_places(store: Store, put: Put) -> None:
    for number in (1, 2):
        halve(put(a=1).folder / "records.parquet")
        with pytest.warns(LatebloomWarning, match=rf"moved to .*-{number};"):
            store.find({"a": 1})
    assert store.health()["damaged"] == 2


def test_finish_does_not_give_way_to_a_damaged_run(store: Store, put: Put) -> None:
    halve(put({"n": 1}, a=1).folder / "records.parquet")
    with pytest.warns(LatebloomWarning, match=r"moved to"):
        assert put({"n": 2}, a=1).summary == {"n": 2}


@pytest.mark.parametrize("has_index", [True, False])
def test_a_listing_goes_on_without_the_damaged_run(store: Store, put: Put, has_index: bool) -> None:
    good, bad = put(a=1), put(a=2)
    if has_index:
        assert len(store.runs()) == 2
    halve(bad.folder / "summary.json")
    with pytest.warns(LatebloomWarning, match=rf"run {bad.id} is damaged"):
        assert store.runs() == [good]
    assert store.runs() == [good]


def test_reading_lazily_from_a_damaged_run_says_what_to_do(store: Store, put: Put) -> None:
    run: StoredRun = put(a=1)
    halve(run.folder / "records.parquet")
    halve(run.folder / "arrays.npz")
    (listed,) = store.runs()  # a listing opens no Parquet
    with pytest.raises(DamagedError, match=rf"run {run.id} is damaged .*: run it again, or remove it with"):
        _ = listed.columns
    with pytest.raises(DamagedError, match=rf"run {run.id} is damaged"):
        _ = listed.arrays
    assert store.delete(run.id) == run.id
    assert store.runs() == []


def test_a_flipped_bit_in_an_array_is_noticed_when_it_is_read(store: Store, put: Put) -> None:
    run = put(a=1)
    data = bytearray((run.folder / "arrays.npz").read_bytes())
    data[data.index(np.ones(1).tobytes()) + 3] ^= 1
    (run.folder / "arrays.npz").write_bytes(bytes(data))
    with pytest.raises(
        DamagedError, match=r"is damaged \(arrays.npz is not what was published: its checksum differs\)"
    ):
        _ = store.get(run.id).arrays
    (run.folder / "checksums.json").unlink()  # a run of before there were checksums
    found = store.find({"a": 1})  # which looks at the archive's table of contents only
    assert found is not None
    with pytest.raises(DamagedError, match=rf"run {run.id} is damaged \(Bad CRC-32"):
        _ = found.arrays


def test_what_is_not_a_run_is_left_alone(store: Store, put: Put) -> None:
    run = put(a=1)
    (store.path / "runs" / "notes").mkdir()
    (store.path / "runs" / "notes.txt").write_text("mine")
    assert store.runs() == [run]
    assert (store.path / "runs" / "notes").is_dir()


def test_an_exception_leaves_the_records_on_disk(store: Store) -> None:
    def crash() -> None:
        with store.begin({"a": 1}) as live:
            live.append({"step": np.arange(3)})
            live.append({"step": np.arange(3, 5)})
            raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        crash()
    (run,) = store.runs()
    assert (run.state, run.summary, run.arrays) == ("abandoned", {}, {})
    assert run.columns["step"].tolist() == [0, 1, 2, 3, 4]


def test_a_run_that_recorded_nothing_leaves_nothing(store: Store) -> None:
    with store.begin({"a": 1}):
        assert [run.state for run in store.runs()] == ["live"]
    assert store.runs() == []
