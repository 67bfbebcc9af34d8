"""The table of all runs in one file, so that a question about 10^5 runs opens none: a cache that may be lost any time.

The folders are the truth, and are looked at in three steps, from cheap to dear. A scan gives the name and the inode of
every folder, which tells what was added, replaced or deleted. A folder with another inode, copied maybe, is compared by
its stamp, and read only if that differs. And what a question has chosen is compared by its stamp before it is shown, so
that a row whose file somebody edited is read again.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latebloom.store.atomic import durable
from latebloom.store.errors import DamagedError, GoneError, NewerError
from latebloom.store.facts import facts_of, text_of
from latebloom.store.frame import compute, joined, table_of
from latebloom.store.index import Index, Name, from_disk, from_row, row_of, stamp_of
from latebloom.store.layout import Layout, inodes
from latebloom.store.run import StoredRun, set_aside, warn
from latebloom.store.states import notice

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
    pc = compute()
    distrusted: set[str] = set()
    rows = table_of([])
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
    known, there = read_file(layout.table), _scan(layout)
    kept, moved = _kept(layout, known, there, distrusted)
    new = there.filter(_not_in(there["id"], kept["id"].to_pylist()))
    read = [kept]
    for part in (new.slice(first, AT_ONCE) for first in range(0, len(new), AT_ONCE)):
        names = list(zip(part["state"].to_pylist(), part["id"].to_pylist(), strict=True))
        read.append(
            _tabulated(layout, names, dict(zip(part["id"].to_pylist(), part["inode"].to_pylist(), strict=True)))
        )
    rows = joined(read) if len(new) else kept
    if len(known) - len(kept) + moved + len(rows) - len(kept) > min(LATER, SHARE * len(rows)):
        write_file(layout.table, rows)
    return joined([rows, live]) if len(live) else rows


def _scan(layout: Layout) -> pa.Table:
    """Every published run by its state, id and the inode of its folder."""
    import pyarrow as pa

    found = {state: inodes(layout.parent(state)) for state in ("partial", "finished")}
    columns = {
        "state": pa.array([state for state, names in found.items() for _ in names], pa.string()),
        "id": pa.array([name for names in found.values() for name in names], pa.string()),
        "inode": pa.array([number for names in found.values() for number in names.values()], pa.uint64()),
    }
    return pa.table(columns)


def _kept(layout: Layout, known: pa.Table, there: pa.Table, distrusted: Collection[str]) -> tuple[pa.Table, int]:
    """The rows that still hold, and how many of them have their folder under another inode."""
    import pyarrow as pa

    pc = compute()

    places = pc.index_in(known["id"], there["id"].combine_chunks())
    found = pa.table({name: there[name].take(places) for name in ("state", "inode")})
    is_kept = pc.and_(pc.is_valid(places), _not_in(known["id"], distrusted))
    others = pc.and_(is_kept, pc.fill_null(pc.not_equal(known["inode"], found["inode"]), True))
    moved = known.filter(others)
    stale = _stale(layout, moved) if len(moved) else set()
    if stale:
        is_kept = pc.and_(is_kept, _not_in(known["id"], stale))
    if len(moved):
        known = known.set_column(known.column_names.index("inode"), "inode", found["inode"])
    return known if pc.all(is_kept).as_py() else known.filter(is_kept), len(moved) - len(stale)


def _not_in(ids: Any, others: Collection[str]) -> Any:
    import pyarrow as pa

    pc = compute()

    return pc.invert(pc.is_in(ids, value_set=pa.array(list(others), pa.string())))


def _stale(layout: Layout, rows: pa.Table) -> set[str]:
    """Of these rows the ids of those whose folder has changed since it was read; a live run always has."""
    shown = zip(*(rows[name].to_pylist() for name in ("state", "id", "stamp")), strict=True)
    return {name for state, name, stamp in shown if stamp and stamp != stamp_of(state, layout.parent(state) / name)}


def _tabulated(layout: Layout, names: Sequence[Name], numbers: Mapping[str, int]) -> pa.Table:
    """The rows of these runs; `numbers` are the inodes of those that are published."""
    rows = []
    for run, stamp in _opened(layout, names):
        if row := _row(layout, run):
            rows.append(row | {"stamp": stamp, "inode": numbers.get(run.id)})
    return table_of(rows)


def open_rows(layout: Layout, rows: pa.Table) -> Iterator[StoredRun]:
    """The runs of some rows, in their order, a part of them in memory at a time."""
    for first in range(0, len(rows), AT_ONCE):
        part = rows.slice(first, AT_ONCE)
        names = list(zip(part["state"].to_pylist(), part["id"].to_pylist(), strict=True))
        yield from (run for run, _ in _opened(layout, names))


def _opened(layout: Layout, names: Sequence[Name]) -> Iterator[tuple[StoredRun, str]]:
    """These runs with their stamps, from the index where it knows them, else from their folders; the index learns."""
    index, changed = Index(layout.index), {}
    known = index.load(names)
    for state, name in names:
        folder = layout.parent(state) / name
        stamp = stamp_of(state, folder)
        run = from_row(known.pop((state, name), None), stamp, state, folder)
        if run is None and (run := from_disk(layout, state, folder)) and stamp:
            changed[state, name] = row_of(run, stamp)
            notice(layout, run)
        if run is not None:
            yield run, stamp or ""
    if changed:
        index.save(changed, ())


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
        if bytes(mark) == FORMAT + zlib.crc32(body).to_bytes(4):
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
