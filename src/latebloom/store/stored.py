"""A run on disk, read as it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from latebloom.store.arrays import check_archive, read_arrays
from latebloom.store.columns import from_table, read_table
from latebloom.store.errors import DamagedError, reading
from latebloom.store.files import read_json
from latebloom.store.key import run_key
from latebloom.store.paths import ARRAYS, CONFIGURATION, RECORDS, STREAM, SUMMARY
from latebloom.store.stream import read_stream

if TYPE_CHECKING:
    import numpy as np

State = Literal["finished", "partial", "live", "abandoned"]
STATES: tuple[State, ...] = ("finished", "partial", "live", "abandoned")


@dataclass(frozen=True)
class StoredRun:
    """One run: configuration and summary in memory, columns and arrays read on first use.

    `id` names the run in its store. It is the key of the configuration if the run is finished,
    and the key with a suffix otherwise: several attempts can share a configuration.
    """

    id: str
    state: State
    configuration: dict[str, Any] = field(hash=False)
    summary: dict[str, Any] = field(hash=False)
    folder: Path = field(repr=False)
    modified: float = field(repr=False, compare=False)

    @property
    def key(self) -> str:
        """The key of the configuration."""
        return self.id.partition("-")[0]

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """The records: one row each, matrices for vector probes."""
        with reading(self.folder):
            # While there is a stream it is the truth: the Parquet file may be half of a failed finish.
            if (self.folder / STREAM).exists():
                return from_table(read_stream(self.folder / STREAM))
            is_new = self.state in ("live", "abandoned") and not (self.folder / RECORDS).exists()
            return {} if is_new else from_table(read_table(self.folder / RECORDS))

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """The named arrays; none while the run is not finished."""
        with reading(self.folder):
            is_new = self.state in ("live", "abandoned") and not (self.folder / ARRAYS).exists()
            return {} if is_new else read_arrays(self.folder / ARRAYS)


def open_run(folder: Path, state: State) -> StoredRun:
    """The run in `folder`; `DamagedError` if its JSON cannot be read."""
    with reading(folder):
        configuration = read_json(folder / CONFIGURATION)
        if state in ("finished", "partial"):
            summary, modified = read_json(folder / SUMMARY), (folder / SUMMARY).stat().st_mtime
        else:
            summary, modified = {}, folder.stat().st_mtime
    return StoredRun(folder.name, state, configuration, summary, folder, modified)


def open_whole(folder: Path) -> StoredRun:
    """The finished run in `folder`, with every file looked at; `DamagedError` if one is broken."""
    run = open_run(folder, "finished")
    with reading(folder):
        check_archive(folder / ARRAYS)
    if run_key(run.configuration) != run.key:
        raise DamagedError(run.id, "its configuration was edited")
    _ = run.columns  # the property keeps them: reading is the check, and the caller wants them next
    return run
