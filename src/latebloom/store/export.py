"""One run as a file for other programs: CSV, Parquet or JSON, by the suffix."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from latebloom.core.json import plain
from latebloom.errors import InputError, check_choice
from latebloom.store.atomic import durable
from latebloom.store.errors import StoreError, reason
from latebloom.store.formats import to_table
from latebloom.store.run import StoredRun

if TYPE_CHECKING:
    import numpy as np


def export_run(run: StoredRun, path: Path, kind: str | None = None) -> Path:
    """Write `run` to `path`, replacing what is there, and return the path; the suffix says how, unless `kind` does."""
    write = _WRITERS.get(path.suffix.lower().lstrip(".")) if kind is None else _writer(kind)
    if write is None:
        known = ", ".join(f".{name}" for name in _WRITERS)
        raise InputError(
            f"cannot export to {path.name!r}: its suffix must be one of {known}; write {path.stem or 'run'}.csv"
        )
    try:
        with durable(path) as file:
            write(run, file)
    except OSError as error:
        raise StoreError(f"cannot write {path} ({reason(error)}): choose another file") from error
    return path


def export_bytes(run: StoredRun, kind: str = "csv") -> bytes:
    """What `export_run` would write to a file."""
    write, file = _writer(kind), io.BytesIO()
    write(run, file)
    return file.getvalue()


def _writer(kind: str) -> Callable[[StoredRun, IO[bytes]], None]:
    return _WRITERS[check_choice("format", kind, _WRITERS)]


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
