"""What is read is what was written, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from latebloom.errors import InputError
from latebloom.store import Store, StoredRun, StoreError, default_path
from latebloom.store.formats import StreamWriter, from_table, read_stream, read_table, to_table, write_table

Put = Callable[..., StoredRun]

DTYPES = ["float64", "float32", "float16", "int64", "int8", "uint64", "bool", "U4", ">f8"]


def assert_identical(a: np.ndarray, b: np.ndarray) -> None:
    """The same shape, kind and bits; NaN equals NaN and 0.0 does not equal -0.0."""
    assert a.shape == b.shape
    if a.dtype.kind == "U":
        assert a.tolist() == b.tolist()
    else:
        native = a.astype(a.dtype.newbyteorder("="))
        assert native.dtype == b.dtype
        assert native.tobytes() == np.ascontiguousarray(b).tobytes()


def test_a_run_comes_back_whole(store: Store) -> None:
    rng = np.random.default_rng(0)
    columns = {
        "step": np.arange(1000),
        "loss": np.exp(-40 * rng.random(1000)),
        "edge": np.tile([math.nan, math.inf, -0.0, 5e-324], 250),
        "singular_values": rng.standard_normal((1000, 7)),
    }
    arrays = {"w": rng.standard_normal((3, 4, 5)), "file": np.float32(2.5), "layer/bias": np.zeros((0, 2))}
    summary = {"outcome": "diverged", "final": {"loss": math.inf}, "milestones": {"generalised": None}}
    configuration = {"learning_rate": 0.1 + 0.2, "until": math.inf}
    with store.begin(configuration) as live:
        live.finish(columns, summary, arrays)

    run = Store(store.path).find(configuration)
    assert run is not None
    assert (run.state, run.configuration, run.summary) == ("finished", configuration, summary)
    assert list(run.columns) == list(columns)
    assert set(run.arrays) == set(arrays)
    for name, column in columns.items():
        assert_identical(column, run.columns[name])
    for name, array in arrays.items():
        assert_identical(np.asarray(array), run.arrays[name])
    names = ["arrays.npz", "checksums.json", "configuration.json", "records.parquet", "summary.json"]
    assert sorted(path.name for path in run.folder.iterdir()) == names
    assert list((store.path / "live").iterdir()) == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), rows=st.integers(0, 6))
def test_any_columns_come_back(tmp_path: Path, data: st.DataObject, rows: int) -> None:
    columns = {}
    for name in data.draw(st.lists(st.sampled_from(["a", "b.c", "d e", "λ"]), unique=True)):
        shape = data.draw(st.sampled_from([(rows,), (rows, 1), (rows, 3)]))
        # No zero byte in text: NumPy drops trailing ones by itself.
        elements = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4)
        dtype = data.draw(st.sampled_from(DTYPES))
        columns[name] = data.draw(hnp.arrays(dtype, shape, elements=elements if dtype == "U4" else None))
    path = tmp_path / "x=1.parquet"
    write_table(path, to_table(columns))
    stream = StreamWriter(tmp_path / "s")
    (tmp_path / "s").unlink(missing_ok=True)
    stream.append(columns)
    stream.close()
    for back in (from_table(read_table(path)), from_table(read_stream(tmp_path / "s"))):
        assert list(back) == list(columns)
        for name, column in columns.items():
            assert_identical(column, back[name])


def test_a_table_without_arrays_is_stored_the_same_way(store: Store) -> None:
    with store.begin({"table": "convex"}) as live:
        live.finish({"gap": np.array([0.5])}, {})
    run = store.find({"table": "convex"})
    assert run is not None
    assert run.columns["gap"].tolist() == [0.5]
    assert run.arrays == {}


def test_find_wants_exactly_the_configuration(store: Store, put: Put) -> None:
    assert store.find({"a": 1}) is None
    assert not store.path.exists()  # asking writes nothing
    run = put(a=1)
    assert store.find({"a": 1}) == run
    assert store.find({"a": 1, "b": 2}) is None


def test_the_second_finish_keeps_the_first_unless_told(store: Store, put: Put) -> None:
    put({"n": 1}, a=1)
    assert put({"n": 2}, a=1).summary == {"n": 1}
    assert put({"n": 3}, a=1, replace=True).summary == {"n": 3}
    assert [run.summary for run in store.runs()] == [{"n": 3}]
    assert list((store.path / "live").iterdir()) == []


def test_a_partial_run_is_listed_and_never_found(store: Store, put: Put) -> None:
    partial = put({"complete": False}, a=1)
    assert partial.state == "partial"
    assert partial.id.startswith(f"{partial.key}-")
    assert store.find({"a": 1}) is None
    put({"complete": False}, a=1)
    finished = put({"complete": True}, a=1)
    assert [run.state for run in store.runs()] == ["partial", "partial", "finished"]
    assert store.get(partial.key) == finished


def test_what_columns_cannot_hold_is_refused_before_anything_is_written(store: Store) -> None:
    with store.begin({}) as live:
        with pytest.raises(InputError, match=r"different lengths, \{'a': 2, 'b': 3\}: give every column one row"):
            live.append({"a": np.zeros(2), "b": np.zeros(3)})
        with pytest.raises(InputError, match=r"column 'a' has shape \(2, 2, 2\): give \(records,\) or"):
            live.append({"a": np.zeros((2, 2, 2))})
        with pytest.raises(InputError, match=r"column 'a' has dtype complex128: .*\.astype\('float64'\)"):
            live.append({"a": np.zeros(2, complex)})
        with pytest.raises(InputError, match=r"array 'w' has dtype object: give numbers"):
            live.finish({}, {}, {"w": np.array([None])})
        live.append({"a": np.zeros(2)})
        with pytest.raises(InputError, match=r"has columns a: int64, the first one had a: double: append the same"):
            live.append({"a": np.zeros(2, int)})
        run = live.finish({"a": np.zeros(2)}, {})
    assert run.columns["a"].tolist() == [0.0, 0.0]
    with pytest.raises(StoreError, match=r"is closed: begin another"):
        live.append({"a": np.zeros(2)})


def test_the_default_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LATEBLOOM_STORE", str(tmp_path))
    assert Store().path == default_path() == tmp_path
    monkeypatch.delenv("LATEBLOOM_STORE")
    assert default_path().parts[-2:] == ("latebloom", "store")
