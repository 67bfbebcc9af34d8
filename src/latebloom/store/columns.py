"""Columns as an Arrow table: vectors become plain columns, matrices fixed-size lists."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latebloom.errors import InputError
from latebloom.store.files import durable

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_KINDS = "biufU"  # what Parquet and NumPy both hold exactly: bool, integers, floats, text


def to_table(columns: Mapping[str, Any]) -> pa.Table:
    """The table with one row a record; every column must have the same number of rows."""
    import pyarrow as pa

    arrays = {name: _checked(name, column) for name, column in columns.items()}
    rows = {name: len(array) for name, array in arrays.items()}
    if len(set(rows.values())) > 1:
        raise InputError(f"columns have different lengths, {rows}: give every column one row a record")
    return pa.table({name: _to_arrow(array) for name, array in arrays.items()})


def from_table(table: pa.Table) -> dict[str, np.ndarray]:
    """The inverse of `to_table`, bit for bit."""
    return {name: _from_arrow(table.column(name)) for name in table.column_names}


def write_table(path: Path, table: pa.Table) -> None:
    """Write Parquet, with a checksum a page so that a flipped bit is noticed."""
    import pyarrow.parquet as pq

    with durable(path) as file:
        pq.write_table(table, file, write_page_checksum=True)


def read_table(path: Path) -> pa.Table:
    """Read all of one Parquet file."""
    import pyarrow.parquet as pq

    # ParquetFile, not read_table: that one takes a folder named `a=b` above the file for a column.
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read(use_threads=False)


def _checked(name: str, column: Any) -> np.ndarray:
    import numpy as np

    array = np.asarray(column)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise InputError(f"column {name!r} has shape {array.shape}: give (records,) or (records, width)")
    if array.dtype.kind not in _KINDS:
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
    return np.array(array.to_numpy(zero_copy_only=False))
