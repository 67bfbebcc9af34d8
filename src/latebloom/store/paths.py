"""Where things are: the default store, its folders, and the files of one run."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

CONFIGURATION = "configuration.json"
SUMMARY = "summary.json"
RECORDS = "records.parquet"
STREAM = "records.arrows"
ARRAYS = "arrays.npz"
OWNER = "owner.json"

_ID = re.compile(r"[0-9a-f]{16}(-[0-9a-f]+)*")


def default_path() -> Path:
    """The folder in LATEBLOOM_STORE, else `store` in the user's data folder of this platform."""
    chosen = os.environ.get("LATEBLOOM_STORE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("latebloom") / "store"


@dataclass(frozen=True)
class Layout:
    """The folders below the root of a store."""

    root: Path

    @property
    def finished(self) -> Path:
        """Complete runs, each named by its key."""
        return self.root / "runs"

    @property
    def partial(self) -> Path:
        """Interrupted runs that were written down in order: `<key>-<random>`."""
        return self.root / "partial"

    @property
    def live(self) -> Path:
        """Runs being written, or left by a process that died: `<key>-<pid>-<random>`."""
        return self.root / "live"

    @property
    def damaged(self) -> Path:
        """Runs that could not be read, moved aside: `<id>-<n>`."""
        return self.root / "damaged"

    @property
    def index(self) -> Path:
        """The SQLite index; it may be deleted at any time."""
        return self.root / "index.sqlite"


def folders(parent: Path) -> list[Path]:
    """The folders of runs in `parent`, sorted; none if it does not exist.

    Anything else there is not ours: a note somebody left, a run on its way out (`.deleted-…`).
    """
    try:
        with os.scandir(parent) as entries:
            names = [entry.name for entry in entries if entry.is_dir() and _ID.fullmatch(entry.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [parent / name for name in sorted(names)]
