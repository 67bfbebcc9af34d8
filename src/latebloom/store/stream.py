"""The records of a live run: an Arrow IPC stream that a kill cannot spoil.

A stream is the schema, then whole batches, then an end mark. Parquet has its table of contents at
the end and is lost if the end is; a stream is read up to its last whole batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from latebloom.errors import InputError
from latebloom.store.columns import to_table

if TYPE_CHECKING:
    import pyarrow as pa

_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"  # end of stream, in the Arrow columnar format


class StreamWriter:
    """Appends batches of columns to one file, each on its way to the disk when `append` returns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._schema: pa.Schema | None = None
        self._whole = 0  # length of the file up to its last whole batch

    def append(self, columns: Mapping[str, Any]) -> None:
        """Write one batch; if the disk refuses, what was there before stays readable."""
        table = to_table(columns)
        message = table.schema.serialize().to_pybytes() if self._schema is None else b""
        self._check(table.schema)
        for batch in table.combine_chunks().to_batches():
            message += batch.serialize().to_pybytes()
        self._write(message)
        self._schema = table.schema

    def close(self) -> None:
        """Write the end mark and close the file."""
        if self._file is None:
            return
        with suppress(OSError):  # on a full disk: the mark is a courtesy, the batches are readable without it
            self._write(_END)
        self._file.close()
        self._file = self._schema = None

    def _check(self, schema: pa.Schema) -> None:
        if self._schema is not None and not schema.equals(self._schema):
            raise InputError(
                f"this batch has columns {_text(schema)}, the first one had {_text(self._schema)}: "
                "append the same columns, in the same order and of the same types, every time"
            )

    def _write(self, message: bytes) -> None:
        if self._file is None:
            # Unbuffered: a buffer would keep what the disk refused and write it later, in the middle of a batch.
            self._file = self._path.open("xb", buffering=0)
        try:
            rest = memoryview(message)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(self._whole)
            self._file.seek(self._whole)
            raise
        self._whole += len(message)


def read_stream(path: Path) -> pa.Table:
    """All whole batches of a stream, closed or not."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
        return pa.Table.from_batches(_whole_batches(reader), schema=reader.schema)


def _whole_batches(reader: pa.RecordBatchStreamReader) -> list[pa.RecordBatch]:
    batches = []
    try:
        while True:
            batches.append(reader.read_next_batch())
    except (StopIteration, OSError, ValueError):  # the end, or the batch at which the writer was killed
        return batches


def _text(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)
