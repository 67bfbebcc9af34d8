"""Looking up, deleting, exporting and reporting."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from latebloom.errors import InputError, UnknownNameError
from latebloom.store import Store, StoredRun, StoreError

Put = Callable[..., StoredRun]


@pytest.fixture
def wide(store: Store) -> StoredRun:
    """A run with a matrix column and numbers that are hard to print."""
    columns = {
        "loss": np.array([0.1 + 0.2, math.nan, 1e-300]),
        "top": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, math.inf]]),
        "phase": np.array(["memorised", "a,b", "ü"]),
    }
    with store.begin({"weight_decay": 1e-3}) as live:
        return live.finish(columns, {"final": {"loss": math.nan}})


def test_a_run_is_found_by_the_beginning_of_its_id(store: Store, put: Put) -> None:
    runs = [put(a=i) for i in range(20)]  # more than 16: two of them share their first digit
    digits = [run.id[0] for run in runs]
    shared = next(digit for digit in digits if digits.count(digit) > 1)
    assert store.get(runs[3].id[:12]) == runs[3]
    with pytest.raises(InputError, match=rf"run id '{shared}' is ambiguous: {digits.count(shared)} runs begin with it"):
        store.get(shared)
    typo = "zz" + runs[3].id[2:]
    with pytest.raises(UnknownNameError, match=rf"unknown run '{typo}': did you mean '{runs[3].id}'\? See all 20 with"):
        store.get(typo)


def test_nothing_is_not_a_prefix(store: Store, put: Put) -> None:
    put(a=1)
    with pytest.raises(UnknownNameError, match=r"unknown run ''"):
        store.delete("")
    assert len(store.runs()) == 1


def test_delete(store: Store, put: Put) -> None:
    kept, gone = put(a=1), put({"complete": False}, a=2)
    assert store.delete(gone.id) == gone.id
    assert store.runs() == [kept]
    assert not gone.folder.exists()
    assert list((store.path / "partial").iterdir()) == []
    with pytest.raises(UnknownNameError, match=rf"unknown run '{gone.id}'"):
        store.delete(gone.id)


def test_a_deletion_that_is_killed_has_deleted(store: Store, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    run = put(a=1)
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    store.delete(run.id)
    assert store.find({"a": 1}) is None
    assert store.runs() == []
    assert put(a=1) == run


def test_export_to_csv(store: Store, wide: StoredRun, tmp_path: Path) -> None:
    path = store.export(wide.id, tmp_path / "out.csv")
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["loss", "top[0]", "top[1]", "phase"]
    assert rows == [
        ["0.30000000000000004", "1.0", "2.0", "memorised"],
        ["nan", "3.0", "4.0", "a,b"],
        ["1e-300", "5.0", "inf", "ü"],
    ]
    assert pd.read_csv(path)["top[1]"].tolist() == [2.0, 4.0, math.inf]


def test_export_to_parquet(store: Store, wide: StoredRun, tmp_path: Path) -> None:
    table = pq.read_table(store.export(wide.id, tmp_path / "out.PARQUET"))
    assert table["top"].to_pylist() == [[1.0, 2.0], [3.0, 4.0], [5.0, math.inf]]
    assert json.loads(table.schema.metadata[b"latebloom"])["configuration"] == {"weight_decay": 1e-3}


def test_export_to_json(store: Store, wide: StoredRun, tmp_path: Path) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    text = store.export(wide.id, str(tmp_path / "out.json")).read_text(encoding="utf-8")
    document = json.loads(text, parse_constant=refuse)
    assert (document["id"], document["state"]) == (wide.id, "finished")
    assert document["summary"] == {"final": {"loss": "NaN"}}
    assert document["columns"]["loss"] == [0.1 + 0.2, "NaN", 1e-300]
    assert document["columns"]["top"][2] == [5.0, "Infinity"]


def test_export_refuses_what_it_cannot_write(store: Store, wide: StoredRun, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'run\.xlsx': its suffix must be one of \.csv, \.parquet, \.json; write run"):
        store.export(wide.id, tmp_path / "run.xlsx")
    with pytest.raises(StoreError, match=r"cannot write \S+ \(No such file or directory\): choose another file"):
        store.export(wide.id, tmp_path / "missing" / "run.csv")
    assert not (tmp_path / "missing").exists()


def test_health(store: Store, put: Put) -> None:
    assert store.health() == {
        "path": str(store.path),
        "exists": False,
        "writable": True,
        "runs": {"finished": 0, "partial": 0, "live": 0, "abandoned": 0},
        "damaged": 0,
        "bytes": 0,
        "index": "missing",
    }
    assert not store.path.exists()  # a report changes nothing
    put(a=1)
    put({"complete": False}, a=2)
    with store.begin({"a": 3}) as live:
        live.append({"x": np.zeros(3)})
        assert store.health()["runs"]["live"] == 1
    health = store.health()
    assert health["runs"] == {"finished": 1, "partial": 1, "live": 0, "abandoned": 1}
    assert health["bytes"] == sum(file.stat().st_size for file in store.path.rglob("*") if file.is_file())
