"""A SQLite index of configurations and summaries, so that a listing opens few files: a cache that may be lost any time.

The folders are the truth. A row counts only while its stamp is that of the folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from latebloom.core.json import parse, plain
from latebloom.store.errors import DamagedError, GoneError, NewerError, StoreError
from latebloom.store.layout import SUMMARY, Layout, State
from latebloom.store.run import StoredRun, open_run, read_or_set_aside, warn

if TYPE_CHECKING:
    import sqlite3

_TABLE = "runs_1"  # the number of the layout: another layout is another table
_CREATE = f"""
CREATE TABLE IF NOT EXISTS {_TABLE} (
    state TEXT NOT NULL, id TEXT NOT NULL, stamp TEXT NOT NULL,
    configuration TEXT NOT NULL, summary TEXT NOT NULL, PRIMARY KEY (state, id)
)"""
_SELECT = f"SELECT state, id, stamp, configuration, summary FROM {_TABLE}"
_PATIENCE = 0.5  # seconds to wait for another process; then reading the folders is as quick

Name = tuple[State, str]  # state and id


class Row(NamedTuple):
    """What the index knows of one run."""

    stamp: str
    configuration: str
    summary: str


class Index:
    """The index file of one store. No method raises because of the state of that file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, names: Iterable[Name] | None = None) -> dict[Name, Row]:
        """All rows, or those of some runs; none if the file is missing, locked or broken."""
        import sqlite3

        if not self.path.is_file():
            return {}
        try:
            with self._connect() as connection:
                if names is None:
                    rows = connection.execute(_SELECT)
                else:
                    one = f"{_SELECT} WHERE state = ? AND id = ?"
                    rows = (row for name in names for row in connection.execute(one, name))
                return {(state, name): Row(*rest) for state, name, *rest in rows}
        except sqlite3.Error:
            return {}

    def save(self, changed: Mapping[Name, Row], gone: Iterable[Name]) -> bool:
        """Write the difference; False if the file cannot be written now. A broken file is replaced."""
        import sqlite3

        if not self.path.parent.is_dir():
            return False
        for _ in range(2):
            try:
                self._update(changed, gone)
            except sqlite3.OperationalError:  # locked, read-only or full: another time
                return False
            except sqlite3.DatabaseError:
                self.drop()
            else:
                return True
        return False

    def drop(self) -> bool:
        """Delete the file; False if that is not possible."""
        try:
            self.path.unlink(missing_ok=True)
            self.path.with_name(f"{self.path.name}-journal").unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def state(self) -> str:
        """One word for a report: "missing", "readable" or "unreadable"."""
        import sqlite3

        if not self.path.exists():
            return "missing"
        try:
            with self._connect() as connection:
                connection.execute(f"SELECT count(summary) FROM {_TABLE}").fetchone()
        except sqlite3.Error:
            return "unreadable"
        return "readable"

    def _update(self, changed: Mapping[Name, Row], gone: Iterable[Name]) -> None:
        with self._connect() as connection, connection:
            connection.execute(_CREATE)
            connection.executemany(f"DELETE FROM {_TABLE} WHERE state = ? AND id = ?", gone)
            rows = [(*name, *row) for name, row in changed.items()]
            connection.executemany(f"INSERT OR REPLACE INTO {_TABLE} VALUES (?, ?, ?, ?, ?)", rows)

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        import sqlite3

        with closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as connection:
            yield connection


def list_runs(layout: Layout) -> list[StoredRun]:
    """Every readable run, oldest first; the index is brought up to date on the way."""
    index = Index(layout.index)
    known = index.load()
    runs: dict[Name, StoredRun] = {}
    changed: dict[Name, Row] = {}
    for state, folder in layout.places():
        name: Name = (state, folder.name)
        stamp = stamp_of(state, folder)
        run = from_row(known.get(name), stamp, state, folder)
        if run is None and (run := from_disk(layout, state, folder)) and stamp:
            changed[name] = row_of(run, stamp)
        if run is not None:
            runs[name] = run
    gone = known.keys() - runs.keys()
    if changed or gone:
        index.save(changed, gone)
    return sorted(runs.values(), key=lambda run: (run.modified, run.id))


def stamp_of(state: State, folder: Path) -> str | None:
    """A text that changes when the run does; None for a live run, which always does."""
    if state in ("live", "abandoned"):
        return None
    try:
        summary = (folder / SUMMARY).stat()
        return f"{folder.stat().st_mtime_ns} {summary.st_mtime_ns} {summary.st_size}"
    except OSError:
        return None


def from_row(row: Row | None, stamp: str | None, state: State, folder: Path) -> StoredRun | None:
    if row is None or stamp is None or row.stamp != stamp:
        return None
    modified = int(stamp.split()[1]) / 1e9
    try:
        return StoredRun(folder.name, state, parse(row.configuration), parse(row.summary), folder, modified)
    except (ValueError, TypeError, RecursionError):  # a broken row is a missing row
        return None


def from_disk(layout: Layout, state: State, folder: Path) -> StoredRun | None:
    """The run in a folder; what cannot be read is said in a line and must not hide the others."""
    try:
        if state == "live":  # not moved aside: a process is writing to it
            return open_run(folder, state)
        return read_or_set_aside(layout, folder, partial(open_run, state=state))
    except GoneError:
        return None
    except (DamagedError, NewerError) as error:
        warn(f"{error.what}: left in place, and not listed")
    except StoreError as error:
        warn(str(error))
    return None


def row_of(run: StoredRun, stamp: str) -> Row:
    return Row(stamp, _dumped(run.configuration), _dumped(run.summary))


def _dumped(document: Mapping[str, Any]) -> str:
    try:
        return json.dumps(document, allow_nan=False)
    except ValueError:  # a number that JSON does not have
        return json.dumps(plain(document, lossless=True))
