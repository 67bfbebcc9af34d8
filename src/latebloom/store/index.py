"""A SQLite index of configurations and summaries: a cache that may be lost at any time.

The folders are the truth. A row counts only while its stamp is that of the folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3

_TABLE = "runs_1"  # the number of the layout: another layout is another table
_CREATE = f"""
CREATE TABLE IF NOT EXISTS {_TABLE} (
    state TEXT NOT NULL, id TEXT NOT NULL, stamp TEXT NOT NULL,
    configuration TEXT NOT NULL, summary TEXT NOT NULL, PRIMARY KEY (state, id)
)"""
_PATIENCE = 0.5  # seconds to wait for another process; then reading the folders is as quick

Name = tuple[str, str]  # state and id


class Row(NamedTuple):
    """What the index knows of one run."""

    stamp: str
    configuration: str
    summary: str


class Index:
    """The index file of one store. No method raises because of the state of that file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> dict[Name, Row]:
        """All rows; none if the file is missing, locked or broken."""
        import sqlite3

        if not self.path.is_file():
            return {}
        try:
            with self._connect() as connection:
                rows = connection.execute(f"SELECT state, id, stamp, configuration, summary FROM {_TABLE}")
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
