"""The table of all runs in one file, so that a question about 10^5 runs opens none: a cache that may be lost any time.

The folders are the truth, and are looked at in three steps, from cheap to dear. A scan gives the name and the inode of
every folder, which tells what was added, replaced or deleted. A folder with another inode, copied maybe, is compared by
its stamp, and read only if that differs. And what a question has chosen is compared by its stamp before it is shown, so
that a row whose file somebody edited is read again.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latebloom.store.atomic import durable
from latebloom.store.errors import DamagedError, GoneError, NewerError
from latebloom.store.facts import facts_of, text_of
from latebloom.store.frame import joined, table_of
from latebloom.store.index import Index, Name, from_disk, from_row, row_of, stamp_of
from latebloom.store.layout import Layout, State, inodes
from latebloom.store.run import StoredRun, set_aside, warn

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = b"latebloom table 1\n"  # another number where the same runs would give other columns
AT_ONCE = 2_000  # runs whose documents are in memory at a time
LATER = 200  # so many new runs, or this share of all, are made of the index again before the file is written anew
SHARE = 0.005
_ROUNDS = 3  # of looking at the folders again; who edits faster than that is shown what was there a moment ago


def choose(layout: Layout, questions: Sequence[Callable[[pa.Table], Any]] = ()) -> pa.Table:
    """The rows, oldest first, for which each question, a function of the table, says true.

    Every one of them is what its folder has now.
    """
    import pyarrow.compute as pc

    distrusted: set[str] = set()
    for _ in range(_ROUNDS):
        rows = current(layout, distrusted)
        if questions:
            rows = rows.filter(reduce(pc.and_, [question(rows) for question in questions]))
        if not (stale := _stale(layout, rows)):
            break
        distrusted |= stale
    return rows.sort_by([("when", "ascending"), ("id", "ascending")])


def current(layout: Layout, distrusted: Collection[str] = ()) -> pa.Table:
    """A row for every run that can be read; the file is believed, but for the distrusted ids."""
    # The live ones first: one that is published meanwhile is then seen twice and not missed.
    live = _tabulated(layout, [(state, folder.name) for state, folder in layout.unpublished()], {})
    states: tuple[State, ...] = ("partial", "finished")
    there = {name: (state, inode) for state in states for name, inode in inodes(layout.parent(state)).items()}
    known = read_file(layout.table)
    kept, moved = _compare(layout, known, there, distrusted)
    new = [(there[name][0], name) for name in there.keys() - kept.keys()]
    rows = known if len(kept) == len(known) else known.take(list(kept.values()))
    if moved:
        rows = _with_inodes(rows, there)
    numbers = {name: inode for name, (_, inode) in there.items()}
    read = [_tabulated(layout, new[first : first + AT_ONCE], numbers) for first in range(0, len(new), AT_ONCE)]
    rows = joined([rows, *read])
    if len(known) - len(kept) + moved + sum(map(len, read)) > min(LATER, SHARE * len(rows)):
        write_file(layout.table, rows)
    return joined([rows, live]) if len(live) else rows


def _compare(
    layout: Layout, known: pa.Table, there: Mapping[str, tuple[State, int]], distrusted: Collection[str]
) -> tuple[dict[str, int], int]:
    """Of the rows that still hold the place by their id; and how many of them are in a folder with another inode."""
    kept, others = {}, []
    inodes_known = known["inode"].to_pylist()
    for place, name in enumerate(known["id"].to_pylist()):
        if name in there and name not in distrusted:
            kept[name] = place
            if inodes_known[place] != there[name][1]:
                others.append(name)
    stamps = known["stamp"].take([kept[name] for name in others]).to_pylist() if others else []
    for name, stamp in zip(others, stamps, strict=True):
        if stamp != stamp_of(there[name][0], layout.parent(there[name][0]) / name):
            del kept[name]
    return kept, sum(name in kept for name in others)


def _with_inodes(rows: pa.Table, there: Mapping[str, tuple[State, int]]) -> pa.Table:
    import pyarrow as pa

    numbers = pa.array([there[name][1] for name in rows["id"].to_pylist()], pa.uint64())
    return rows.set_column(rows.column_names.index("inode"), "inode", numbers)


def _stale(layout: Layout, rows: pa.Table) -> set[str]:
    """Of these rows the ids of those whose folder has changed since it was read; a live run always has."""
    shown = zip(*(rows[name].to_pylist() for name in ("state", "id", "stamp")), strict=True)
    return {name for state, name, stamp in shown if stamp and stamp != stamp_of(state, layout.parent(state) / name)}


def _tabulated(layout: Layout, names: Sequence[Name], numbers: Mapping[str, int]) -> pa.Table:
    """The rows of these runs, from the index where it knows them, else from their folders; the index learns them."""
    index, changed, rows = Index(layout.index), {}, []
    known = index.load(names) if numbers else {}
    for state, name in names:
        folder = layout.parent(state) / name
        stamp = stamp_of(state, folder)
        run = from_row(known.get((state, name)), stamp, state, folder)
        if run is None and (run := from_disk(layout, state, folder)) and stamp:
            changed[state, name] = row_of(run, stamp)
        if run is not None and (row := _row(layout, run)):
            rows.append(row | {"stamp": stamp or "", "inode": numbers.get(name)})
    if changed:
        index.save(changed, ())
    return table_of(rows)


def _row(layout: Layout, run: StoredRun) -> dict[str, Any] | None:
    """What a run says of itself; one that does not make sense is said in a line and must not hide the others."""
    try:
        return facts_of(run) | {"state": run.state, "text": text_of(run)}
    except DamagedError as error:
        set_aside(layout, run.folder, error)
    except NewerError as error:
        warn(f"{error.what}: left in place, and not listed")
    except GoneError:
        pass
    return None


def read_file(path: Path) -> pa.Table:
    """The table in a file; an empty one where it is missing, of another version, or not what was written."""
    import pyarrow as pa

    with suppress(OSError, pa.ArrowException, ValueError):
        with pa.memory_map(str(path)) as file:
            data = memoryview(file.read_buffer())
        body, mark = data[: -len(FORMAT) - 4], data[-len(FORMAT) - 4 :]
        if mark == FORMAT + zlib.crc32(body).to_bytes(4):
            return pa.ipc.open_file(pa.py_buffer(body)).read_all()
    return table_of([])


def write_file(path: Path, table: pa.Table) -> bool:
    """Replace the file; False if that is not possible."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    body = sink.getvalue()
    try:
        with durable(path) as file:
            file.write(body)
            file.write(FORMAT + zlib.crc32(body).to_bytes(4))
    except OSError:  # full or read-only: another time
        return False
    return True
