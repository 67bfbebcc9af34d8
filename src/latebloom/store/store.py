"""The store: every run in one folder, which may be copied, shared and deleted like any other."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from latebloom.errors import InputError
from latebloom.store.errors import DamagedError, writing
from latebloom.store.export import export_run
from latebloom.store.files import discard, size
from latebloom.store.index import Index
from latebloom.store.key import run_key
from latebloom.store.listing import list_runs, places
from latebloom.store.live import LiveRun
from latebloom.store.lookup import lookup
from latebloom.store.paths import Layout, default_path, folders
from latebloom.store.publish import set_aside
from latebloom.store.recover import recover_run
from latebloom.store.stored import STATES, StoredRun, open_run, open_whole


class Store:
    """Runs in the folder `path`, made at the first write.

    Any number of processes may use it at once: a run appears and disappears by one atomic rename,
    so there is no lock to wait for or to be left behind.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = default_path() if path is None else Path(path).expanduser().absolute()
        self._layout = Layout(self.path)

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def find(self, configuration: Mapping[str, Any]) -> StoredRun | None:
        """The finished run with exactly this configuration, its records read and checked.

        A damaged one is moved aside with a warning, and counts as not there.
        """
        folder = self._layout.finished / run_key(configuration)
        if not folder.is_dir():
            return None
        try:
            return open_whole(folder)
        except DamagedError as error:
            set_aside(self._layout, folder, error)
        return None

    def begin(self, configuration: Mapping[str, Any]) -> LiveRun:
        """Start to write a run; use it in a `with` block."""
        return LiveRun.create(self._layout, configuration)

    def runs(self) -> list[StoredRun]:
        """Every run, oldest first: finished, partial, live and abandoned."""
        return list_runs(self._layout, self.index())

    def get(self, id_prefix: str) -> StoredRun:
        """The run whose id is, or alone begins with, `id_prefix`."""
        state, folder = lookup(id_prefix, places(self._layout))
        return open_run(folder, state)

    def delete(self, id_prefix: str) -> str:
        """Delete one run, damaged or not, and return its id; a live one is refused."""
        state, folder = lookup(id_prefix, places(self._layout))
        if state == "live":
            raise InputError(f"run {folder.name} is still being written: stop its process first, then delete it")
        with writing(self.path):
            discard(folder)
        return folder.name

    def export(self, id_prefix: str, path: str | os.PathLike[str]) -> Path:
        """Write one run to a .csv, .parquet or .json file."""
        return export_run(self.get(id_prefix), Path(path).expanduser())

    def recover(self, id_prefix: str) -> StoredRun:
        """Publish what an abandoned run recorded, as a partial run."""
        return recover_run(self._layout, self.get(id_prefix))

    def index(self) -> Index:
        """The index that makes `runs` quick."""
        return Index(self._layout.index)

    def rebuild_index(self) -> int:
        """Forget the index, scan the folders, and return the number of runs found."""
        self.index().drop()
        return len(self.runs())

    def health(self) -> dict[str, Any]:
        """What a report on this machine says about the store; changes nothing."""
        counts = Counter(state for state, _ in places(self._layout))
        return {
            "path": str(self.path),
            "exists": self.path.is_dir(),
            "writable": self._is_writable(),
            "runs": {state: counts[state] for state in STATES},
            "damaged": len(folders(self._layout.damaged)),
            "bytes": size(self.path),
            "index": self.index().state(),
        }

    def _is_writable(self) -> bool:
        """Whether the folder, or the nearest one above that exists, lets us write."""
        nearest = next(folder for folder in [self.path, *self.path.parents] if folder.exists())
        return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
