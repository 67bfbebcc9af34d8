"""Every run of a store, with as few files opened as possible."""

from __future__ import annotations

import json
from pathlib import Path

from latebloom.store.errors import DamagedError, StoreError
from latebloom.store.index import Index, Name, Row
from latebloom.store.owner import is_owned
from latebloom.store.paths import CONFIGURATION, SUMMARY, Layout, folders
from latebloom.store.plain import parse, plain
from latebloom.store.publish import set_aside
from latebloom.store.stored import State, StoredRun, open_run


def places(layout: Layout) -> list[tuple[State, Path]]:
    """State and folder of every run, from the names of the folders alone."""
    # The live ones first: one that is published meanwhile is then seen twice and not missed.
    live = [folder for folder in folders(layout.live) if (folder / CONFIGURATION).exists()]
    found: list[tuple[State, Path]] = [(_liveness(folder), folder) for folder in live]
    found.extend(("partial", folder) for folder in folders(layout.partial))
    found.extend(("finished", folder) for folder in folders(layout.finished))
    return found


def list_runs(layout: Layout, index: Index) -> list[StoredRun]:
    """Every readable run, oldest first; the index is brought up to date on the way."""
    known = index.load()
    runs: dict[Name, StoredRun] = {}
    changed: dict[Name, Row] = {}
    for state, folder in places(layout):
        name, stamp = (state, folder.name), _stamp(state, folder)
        run = _from_row(known.get(name), stamp, state, folder)
        if run is None and (run := _from_disk(layout, state, folder)) and stamp:
            changed[name] = _row(run, stamp)
        if run is not None:
            runs[name] = run
    gone = known.keys() - runs.keys()
    if changed or gone:
        index.save(changed, gone)
    return sorted(runs.values(), key=lambda run: (run.modified, run.id))


def _liveness(folder: Path) -> State:
    return "live" if is_owned(folder) else "abandoned"


def _stamp(state: State, folder: Path) -> str | None:
    """A text that changes when the run does; None for a live run, which always does."""
    if state in ("live", "abandoned"):
        return None
    try:
        summary = (folder / SUMMARY).stat()
        return f"{folder.stat().st_mtime_ns} {summary.st_mtime_ns} {summary.st_size}"
    except OSError:
        return None


def _from_row(row: Row | None, stamp: str | None, state: State, folder: Path) -> StoredRun | None:
    if row is None or stamp is None or row.stamp != stamp:
        return None
    modified = int(stamp.split()[1]) / 1e9
    try:
        return StoredRun(folder.name, state, parse(row.configuration), parse(row.summary), folder, modified)
    except (ValueError, TypeError):  # a broken row is a missing row
        return None


def _from_disk(layout: Layout, state: State, folder: Path) -> StoredRun | None:
    try:
        return open_run(folder, state)
    except DamagedError as error:
        set_aside(layout, folder, error)
        return None
    except StoreError:  # not ours to read: one unreadable folder must not hide the others
        return None


def _row(run: StoredRun, stamp: str) -> Row:
    return Row(stamp, json.dumps(plain(run.configuration)), json.dumps(plain(run.summary)))
