"""A run on disk, read as it is asked for; one that cannot be read is moved aside."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latebloom.errors import LatebloomWarning
from latebloom.store.atomic import make_folder, renamed
from latebloom.store.errors import DamagedError, reading, reason
from latebloom.store.formats import check_archive, from_table, read_arrays, read_json, read_stream, read_table
from latebloom.store.layout import ARRAYS, CONFIGURATION, RECORDS, STREAM, SUMMARY, Layout, State, run_key

if TYPE_CHECKING:
    import numpy as np


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
            return {} if self._is_without(RECORDS) else from_table(read_table(self.folder / RECORDS))

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """The named arrays; none while the run is not finished."""
        with reading(self.folder):
            return {} if self._is_without(ARRAYS) else read_arrays(self.folder / ARRAYS)

    def _is_without(self, name: str) -> bool:
        """Whether the run has not come to this file yet; a published one lacks none, unless damaged."""
        return self.state in ("live", "abandoned") and not (self.folder / name).exists()


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


def read_or_set_aside(layout: Layout, folder: Path, read: Callable[[Path], StoredRun]) -> StoredRun | None:
    """What `read` makes of the folder; a damaged run is moved aside with a warning, and counts as not there."""
    try:
        return read(folder)
    except DamagedError as error:
        _set_aside(layout, folder, error)
    return None


def _set_aside(layout: Layout, folder: Path, error: DamagedError) -> None:
    """Move a damaged run to the `damaged` folder and say so; nothing is deleted."""
    if not folder.exists():  # deleted or set aside by another process, which said so
        return
    try:
        place = f"moved to {_move_aside(layout, folder)}"
    except FileNotFoundError:
        return
    except OSError as refusal:
        place = f"left in place ({reason(refusal)})"
    warnings.warn(f"{error.what}: {place}; it counts as not there", LatebloomWarning, stacklevel=4)


def _move_aside(layout: Layout, folder: Path) -> Path:
    make_folder(layout.damaged)
    number = 1
    while not renamed(folder, target := layout.damaged / f"{folder.name}-{number}"):
        number += 1
    return target
