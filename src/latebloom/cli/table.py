"""The table of stored runs on the command line: in which order, which columns, as text, CSV or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from latebloom.cli.common import print_json
from latebloom.core.tables import print_rows, short
from latebloom.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


def ordered(rows: pa.Table, sort: str | None) -> pa.Table:
    """The rows newest first, or by columns; what has no value comes last, what is equal newest first."""
    import pyarrow as pa

    rows = rows.take(pa.array(range(len(rows) - 1, -1, -1), pa.int64()))
    if sort is None or not len(rows):
        return rows
    from latebloom.store.frame import compute, named

    keys = [(name.removeprefix("-"), "descending" if name.startswith("-") else "ascending") for name in words(sort)]
    table = named(rows, [name for name, _ in keys]).append_column("#", pa.array(range(len(rows))))
    return rows.take(compute().sort_indices(table, sort_keys=[*dict(keys).items(), ("#", "ascending")]))


def named_columns(columns: str | None) -> list[str] | None:
    """The columns of an option, `id,strength,t2`."""
    return None if columns is None else words(columns)


def words(text: str) -> list[str]:
    """Names with commas between them."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"{text!r} names no column: write e.g. id,strength,t2")
    return names


def print_table(rows: pa.Table, columns: str | None, *, as_csv: bool, as_json: bool) -> int:
    """Print rows with these columns, or all; how many there are."""
    from latebloom.store.export import frame_bytes, records
    from latebloom.store.frame import named

    frame = named(rows, named_columns(columns)).to_pandas()
    if as_json:
        print_json(records(frame))
    elif as_csv:
        print(frame_bytes(frame, "csv").decode(), end="")
    else:
        print_rows([list(frame.columns), *([_cell(value) for value in row.values()] for row in records(frame))])
    return len(frame)


def _cell(value: Any) -> str:
    """A number with four digits, nothing where there is none."""
    return "" if value is None else value if isinstance(value, str) else short(value)
