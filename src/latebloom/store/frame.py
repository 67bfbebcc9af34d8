"""Runs as a table: a row per run, a column per parameter, milestone and last value.

In a store a parameter is called by its path (see `facts`); here it has its short name, `seed`, `strength`. Where two
parts of one run have that name, it is that of the problem before the method before the penalty, and of the outer part
before what it wraps; then each has a column of its own, too: `problem_seed`, `method_seed`.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

from latebloom.errors import UnknownNameError
from latebloom.store.facts import MILESTONES, PARTS, STUDY

if TYPE_CHECKING:
    import pyarrow as pa

FIRST = ("id", "kind", "problem", "method", "penalty", "solver")
TIMES = tuple(f"{name}{end}" for name in MILESTONES for end in ("", "_low", "_high"))
LAST = (*TIMES, "end", "outcome", "seconds", "gradients", "when")
OWN = {*FIRST, *LAST}
_HIDDEN = ("state", "text", "stamp", "inode")  # in a store's table, and not shown
_TEXTS = {*FIRST, "outcome", "state", "text", "stamp"}


def compute() -> Any:
    """`pyarrow.compute`, whose functions are made when it is loaded, so that no type checker knows them."""
    return importlib.import_module("pyarrow.compute")


def table_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Facts as columns by their paths; nothing where a run has none."""
    import pyarrow as pa

    names = dict.fromkeys([*FIRST, *LAST, *_HIDDEN])
    for row in rows:
        names |= dict.fromkeys(row)
    return pa.table({name: column(name, [row.get(name) for row in rows]) for name in names})


def column(name: str, values: Sequence[Any]) -> pa.Array:
    """Values of one type: whole numbers or switches if all are, else real numbers, else texts."""
    import pyarrow as pa

    if name == "inode":
        return pa.array(values, pa.uint64())
    kinds = {type(value) for value in values if value is not None}
    if name in _TEXTS or not kinds <= {bool, int, float} or (bool in kinds and len(kinds) > 1):
        return pa.array([None if value is None else _typed(value) for value in values], pa.string())
    if name in OWN or kinds != {bool}:
        whole = kinds == {int} and name not in OWN
        return pa.array([None if v is None else v if whole else float(v) for v in values], None if whole else "float64")
    return pa.array(values, pa.bool_())


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables one below the other; where a column has several types it gets that which holds all."""
    import pyarrow as pa

    names = dict.fromkeys(name for table in tables for name in table.column_names)
    return pa.table({name: _one_below_the_other(name, tables) for name in names})


def _one_below_the_other(name: str, tables: Sequence[pa.Table]) -> Any:
    import pyarrow as pa

    parts = [table[name] if name in table.column_names else None for table in tables]
    types = {part.type for part in parts if part is not None and part.null_count < len(part)}
    if len(types) > 1:
        both = zip(tables, parts, strict=True)
        return column(name, [v for table, part in both for v in (part.to_pylist() if part else [None] * len(table))])
    kind = types.pop() if types else column(name, []).type
    return pa.chunked_array(
        [
            chunk
            for table, part in zip(tables, parts, strict=True)
            for chunk in (part.chunks if part is not None and part.type == kind else [pa.nulls(len(table), kind)])
        ],
        kind,
    )


def named(table: pa.Table, wanted: Sequence[str] | None = None) -> pa.Table:
    """The rows as they are shown: these columns, or those that every run has and those that one of these has."""
    import pyarrow as pa

    sources = shown(table)
    if wanted is None:
        chosen = [name for name, paths in sources.items() if name in OWN or any(_is_told(table[p]) for p in paths)]
    else:
        chosen = [known_column(name, sources) for name in wanted]
    return pa.table({name: _merged(name, [table[path] for path in sources[name]]) for name in chosen})


def is_run(table: pa.Table) -> Any:
    """Which rows are those of runs, and not of tables of derived numbers."""
    pc = compute()

    return pc.not_equal(table["kind"], STUDY)


def is_one_of(table: pa.Table, ids: Sequence[str]) -> Any:
    """Which rows have one of these ids."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.is_in(table["id"], value_set=pa.array(list(ids), pa.string()))  # type: ignore[attr-defined]


def shown(table: pa.Table) -> dict[str, list[str]]:
    """The columns that are shown, each with the paths whose first value it has."""
    paths = sorted((name for name in table.column_names if name.partition(".")[0] in PARTS and "." in name), key=_order)
    short: dict[str, list[str]] = {}
    for path in paths:
        short.setdefault(path.rpartition(".")[2], []).append(path)
    parameters: dict[str, list[str]] = {}
    for name, sharing in short.items():
        if name not in OWN:
            parameters[name] = sharing
        if name in OWN or _in_one_run(table, sharing):
            parameters |= {path.replace(".", "_"): [path] for path in sharing}
    finals = [name for name in table.column_names if name.startswith("final_")]
    return {name: [name] for name in FIRST} | parameters | {name: [name] for name in (*LAST, *finals)}


def known_column(name: str, known: Iterable[str]) -> str:
    """The name of a column, or an error with the closest one."""
    if name in (known := list(known)):
        return name
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise UnknownNameError(f"unknown column {name!r}: {hint}See all {len(known)} with `latebloom runs list --csv`")


def _is_told(values: Any) -> bool:
    return values.null_count < len(values)


def _order(path: str) -> tuple[int, int]:
    return PARTS.index(path.partition(".")[0]), path.count(".")


def _in_one_run(table: pa.Table, paths: Sequence[str]) -> bool:
    """Whether two of the columns have a value in one row."""
    import pyarrow as pa

    pc = compute()

    if len(paths) < 2:
        return False
    count = reduce(pc.add, [pc.cast(pc.is_valid(table[path]), pa.int8()) for path in paths])
    return (pc.max(count).as_py() or 0) > 1


def _merged(name: str, columns: Sequence[Any]) -> Any:
    import pyarrow as pa

    pc = compute()

    if name == "when":
        return pa.array([datetime.fromtimestamp(seconds) for seconds in columns[0].to_pylist()], pa.timestamp("us"))
    if len(columns) == 1:
        return columns[0]
    if len({one.type for one in columns}) == 1:
        return pc.coalesce(*columns)
    rows = zip(*(one.to_pylist() for one in columns), strict=True)
    return column(name, [next((value for value in row if value is not None), None) for row in rows])


def _typed(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
