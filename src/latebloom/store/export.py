"""One run as a file for other programs: CSV, Parquet or JSON, by the suffix."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from latebloom.errors import InputError
from latebloom.store.columns import to_table
from latebloom.store.errors import StoreError, reason
from latebloom.store.files import durable
from latebloom.store.plain import plain
from latebloom.store.stored import StoredRun

if TYPE_CHECKING:
    import numpy as np


def export_run(run: StoredRun, path: Path) -> Path:
    """Write `run` to `path`, replacing what is there, and return the path."""
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        known = ", ".join(_WRITERS)
        raise InputError(
            f"cannot export to {path.name!r}: its suffix must be one of {known}; write {path.stem or 'run'}.csv"
        )
    try:
        with durable(path) as file:
            write(run, file)
    except OSError as error:
        raise StoreError(f"cannot write {path} ({reason(error)}): choose another file") from error
    return path


def _write_csv(run: StoredRun, file: IO[bytes]) -> None:
    """Floats in their shortest exact text; a matrix `norms` becomes `norms[0]`, `norms[1]`, …"""
    flat = {name: values for column in run.columns.items() for name, values in _flat(*column)}
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(flat)
    writer.writerows(zip(*(values.tolist() for values in flat.values()), strict=True))
    text.flush()
    text.detach()


def _write_parquet(run: StoredRun, file: IO[bytes]) -> None:
    """The columns, with the rest as JSON in the metadata of the file."""
    import pyarrow.parquet as pq

    table = to_table(run.columns).replace_schema_metadata({"latebloom": json.dumps(_description(run))})
    pq.write_table(table, file)


def _write_json(run: StoredRun, file: IO[bytes]) -> None:
    document = {**_description(run), "columns": plain(run.columns, "columns")}
    file.write(json.dumps(document, indent=1, allow_nan=False).encode() + b"\n")


def _description(run: StoredRun) -> dict[str, object]:
    return {
        "id": run.id,
        "state": run.state,
        "configuration": plain(run.configuration),
        "summary": plain(run.summary),
    }


def _flat(name: str, column: np.ndarray) -> list[tuple[str, np.ndarray]]:
    if column.ndim == 1:
        return [(name, column)]
    return [(f"{name}[{i}]", column[:, i]) for i in range(column.shape[1])]


_WRITERS: dict[str, Callable[[StoredRun, IO[bytes]], None]] = {
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".json": _write_json,
}
