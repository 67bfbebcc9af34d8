"""One run, or a table of many, as a file for other programs: CSV, Parquet or JSON, by the suffix."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from latebloom.core.json import plain
from latebloom.errors import InputError, check_choice
from latebloom.store.atomic import durable
from latebloom.store.errors import StoreError, reason
from latebloom.store.formats import to_table
from latebloom.store.run import StoredRun

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def export_run(run: StoredRun, path: Path, kind: str | None = None) -> Path:
    """Write `run` to `path`, replacing what is there, and return the path; the suffix says how, unless `kind` does."""
    return _write(path, _writer(path, kind, _WRITERS), run)


def export_frame(frame: pd.DataFrame, path: Path, kind: str | None = None) -> Path:
    """Write a table of runs, a row each, in the same way."""
    return _write(path, _writer(path, kind, _FRAME_WRITERS), frame)


def frame_bytes(frame: pd.DataFrame, kind: str = "csv") -> bytes:
    """What `export_frame` would write to a file."""
    file = io.BytesIO()
    _FRAME_WRITERS[check_choice("format", kind, _FRAME_WRITERS)](frame, file)
    return file.getvalue()


def _writer(path: Path, kind: str | None, writers: Mapping[str, Any]) -> Any:
    write = (
        writers.get(path.suffix.lower().lstrip(".")) if kind is None else writers[check_choice("format", kind, writers)]
    )
    if write is None:
        known = ", ".join(f".{name}" for name in writers)
        raise InputError(
            f"cannot export to {path.name!r}: its suffix must be one of {known}; write {path.stem or 'run'}.csv"
        )
    return write


def _write(path: Path, write: Callable[[Any, IO[bytes]], None], what: Any) -> Path:
    try:
        with durable(path) as file:
            write(what, file)
    except OSError as error:
        raise StoreError(f"cannot write {path} ({reason(error)}): choose another file") from error
    return path


def export_bytes(run: StoredRun, kind: str = "csv") -> bytes:
    """What `export_run` would write to a file."""
    file = io.BytesIO()
    _WRITERS[check_choice("format", kind, _WRITERS)](run, file)
    return file.getvalue()


def _write_csv(run: StoredRun, file: IO[bytes]) -> None:
    """Floats in their shortest exact text as doubles; a matrix `norms` becomes `norms[0]`, `norms[1]`, …"""
    import pandas as pd

    flat = {name: values for column in run.columns.items() for name, values in _flat(*column)}
    pd.DataFrame(flat).to_csv(file, index=False, na_rep="nan", lineterminator="\n", encoding="utf-8")


def _write_parquet(run: StoredRun, file: IO[bytes]) -> None:
    """The columns, with the rest as JSON in the metadata of the file."""
    import pyarrow.parquet as pq

    table = to_table(run.columns).replace_schema_metadata({"latebloom": json.dumps(_description(run))})
    pq.write_table(table, file)


def _write_json(run: StoredRun, file: IO[bytes]) -> None:
    document = {**_description(run), "columns": plain(run.columns, "columns", lossless=True)}
    file.write(json.dumps(document, indent=1, allow_nan=False).encode() + b"\n")


def _description(run: StoredRun) -> dict[str, object]:
    return {
        "id": run.id,
        "state": run.state,
        "configuration": plain(run.configuration, lossless=True),
        "summary": plain(run.summary, lossless=True),
    }


def _flat(name: str, column: np.ndarray) -> list[tuple[str, np.ndarray]]:
    if column.dtype.kind == "f":
        column = column.astype("float64")
    return [(name, column)] if column.ndim == 1 else [(f"{name}[{i}]", part) for i, part in enumerate(column.T)]


_WRITERS: dict[str, Callable[[StoredRun, IO[bytes]], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "json": _write_json,
}


def _frame_to_csv(frame: pd.DataFrame, file: IO[bytes]) -> None:
    """What there is none of is empty."""
    frame.to_csv(file, index=False, lineterminator="\n", encoding="utf-8")


def _frame_to_parquet(frame: pd.DataFrame, file: IO[bytes]) -> None:
    frame.to_parquet(file, index=False)


def _frame_to_json(frame: pd.DataFrame, file: IO[bytes]) -> None:
    file.write(json.dumps(records(frame, lossless=True), indent=1, allow_nan=False).encode() + b"\n")


def records(frame: pd.DataFrame, *, lossless: bool = False) -> list[dict[str, Any]]:
    """The rows as JSON carries them: null for what there is none of, dates as texts."""
    columns = {name: [None if value != value else value for value in _told(frame[name])] for name in frame}  # noqa: PLR0124
    rows = zip(*columns.values(), strict=True)
    return [plain(dict(zip(columns, row, strict=True)), lossless=lossless) for row in rows]


def _told(values: Any) -> list[Any]:
    return [one.isoformat(timespec="seconds") for one in values] if values.dtype.kind == "M" else values.tolist()


_FRAME_WRITERS: dict[str, Callable[[pd.DataFrame, IO[bytes]], None]] = {
    "csv": _frame_to_csv,
    "parquet": _frame_to_parquet,
    "json": _frame_to_json,
}
