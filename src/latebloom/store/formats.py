"""The files of a run: JSON, Parquet for records, an Arrow stream while they come in, `.npz` for arrays.

Columns are an Arrow table, in which vectors are plain columns and matrices fixed-size lists. Parquet has its table of
contents at the end and is lost if the end is; a stream is the schema, then whole batches, then an end mark, and is read
up to its last whole batch whenever its writer is killed.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from latebloom.core.json import parse, plain
from latebloom.errors import InputError
from latebloom.store.atomic import durable

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_COLUMN_KINDS = "biufU"  # what Parquet and NumPy both hold exactly: bool, integers, floats, text
_ARRAY_KINDS = "biufcUS"  # what `.npz` holds without pickles
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"  # end of stream, in the Arrow columnar format


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write `value` as indented JSON, atomically."""
    with durable(path) as file:
        file.write(json_bytes(value, path.stem))


def json_bytes(value: Mapping[str, Any], what: str) -> bytes:
    """`value` as indented JSON."""
    return json.dumps(plain(value, what, lossless=True), indent=1, allow_nan=False).encode() + b"\n"


def read_json(path: Path) -> dict[str, Any]:
    """The dictionary in a JSON file."""
    return parse(path.read_text(encoding="utf-8"))


def check_arrays(arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """`arrays` as NumPy arrays of a type that `.npz` holds exactly."""
    import numpy as np

    checked = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in checked.items():
        if array.dtype.kind not in _ARRAY_KINDS:
            raise InputError(
                f"array {name!r} has dtype {array.dtype}: give numbers or text, e.g. array.astype('float32')"
            )
    return checked


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write `arrays` as `numpy.savez` does, whose own arguments keep it from taking one named `file`."""
    with durable(path) as file:
        _write_archive(file, arrays)


def arrays_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """What `write_arrays` would write."""
    file = io.BytesIO()
    _write_archive(file, arrays)
    return file.getvalue()


def _write_archive(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    from numpy.lib import format as npy

    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, array, allow_pickle=False)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of the file."""
    import numpy as np

    # Opened here: NumPy leaves its own file open when the archive is broken.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def check_archive(path: Path) -> None:
    """Raise if the file was cut short; its table of contents is at the end, so this is cheap."""
    with zipfile.ZipFile(path):
        pass


def to_table(columns: Mapping[str, Any]) -> pa.Table:
    """The table with one row a record; every column must have the same number of rows."""
    import pyarrow as pa

    arrays = {name: _checked_column(name, column) for name, column in columns.items()}
    rows = {name: len(array) for name, array in arrays.items()}
    if len(set(rows.values())) > 1:
        raise InputError(f"columns have different lengths, {rows}: give every column one row a record")
    return pa.table({name: _to_arrow(array) for name, array in arrays.items()})


def from_table(table: pa.Table) -> dict[str, np.ndarray]:
    """The inverse of `to_table`, bit for bit."""
    return {name: _from_arrow(table.column(name)) for name in table.column_names}


def write_table(path: Path, table: pa.Table) -> None:
    """Write Parquet, with a checksum a page so that a flipped bit is noticed."""
    with durable(path) as file:
        _write_parquet(table, file)


def table_bytes(table: pa.Table) -> bytes:
    """What `write_table` would write."""
    file = io.BytesIO()
    _write_parquet(table, file)
    return file.getvalue()


def _write_parquet(table: pa.Table, file: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, file, write_page_checksum=True, use_dictionary=_texts(table))


def _texts(table: pa.Table) -> Any:
    """The columns that repeat themselves: a dictionary of different numbers is larger than they are."""
    return [field.name for field in table.schema if str(field.type) == "string"]


def read_table(path: Path) -> pa.Table:
    """Read all of one Parquet file."""
    import pyarrow.parquet as pq

    # ParquetFile, not read_table: that one takes a folder named `a=b` above the file for a column.
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read(use_threads=False)


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


def _checked_column(name: str, column: Any) -> np.ndarray:
    import numpy as np

    array = np.asarray(column)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise InputError(f"column {name!r} has shape {array.shape}: give (records,) or (records, width)")
    if array.dtype.kind not in _COLUMN_KINDS:
        raise InputError(
            f"column {name!r} has dtype {array.dtype}: give booleans, integers, floats or text, "
            "e.g. column.astype('float64')"
        )
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _to_arrow(array: np.ndarray) -> pa.Array:
    import pyarrow as pa

    flat = array.ravel()
    values = pa.array(flat.tolist(), pa.string()) if array.dtype.kind == "U" else pa.array(flat)
    return values if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(values, array.shape[1])


def _from_arrow(column: pa.ChunkedArray) -> np.ndarray:
    import numpy as np
    import pyarrow as pa

    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # a column too long for one chunk
        array = pa.concat_arrays(array.chunks)
    if pa.types.is_fixed_size_list(array.type):
        return _values(array.flatten()).reshape(len(array), array.type.list_size)
    return np.array(_values(array))


def _values(array: pa.Array) -> np.ndarray:
    import numpy as np
    import pyarrow as pa

    if pa.types.is_string(array.type):
        return np.array(array.to_pylist(), dtype=np.str_)
    if len(array) and not array.null_count and (pa.types.is_floating(array.type) or pa.types.is_integer(array.type)):
        return np.array(np.from_dlpack(array))  # `to_numpy` loads pandas
    return np.array(array.to_numpy(zero_copy_only=False))
