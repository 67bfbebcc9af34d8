"""A run on disk, read as it is asked for; one that cannot be read is moved aside."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from latebloom.core.json import parse
from latebloom.errors import LatebloomWarning
from latebloom.store.atomic import make_folder, renamed
from latebloom.store.checksums import check_files, read_checked, read_checksums, require_file
from latebloom.store.errors import BROKEN, DamagedError, GoneError, NewerError, reading, reason
from latebloom.store.formats import check_archive, from_table, read_arrays, read_stream, read_table
from latebloom.store.layout import ARRAYS, CONFIGURATION, RECORDS, STREAM, SUMMARY, Layout, State, run_key

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")


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

    @property
    def is_published(self) -> bool:
        """Whether nothing is written to it any more."""
        return self.state in ("finished", "partial")

    @cached_property
    def checksums(self) -> dict[str, str] | None:
        """The SHA-256 of every published file; None where there are none: not published, or before there were any."""
        with reading(self.folder):
            return read_checksums(self.folder) if self.is_published else None

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """The records: one row each, matrices for vector probes."""
        with reading(self.folder):
            # While there is a stream it is the truth: the Parquet file may be half of a failed finish.
            if not self.is_published and (self.folder / STREAM).exists():
                return from_table(read_stream(self.folder / STREAM))
            if self._is_without(RECORDS):
                return {}
            self.check(RECORDS)
            return from_table(read_table(self.folder / RECORDS))

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """The named arrays; none while the run is not finished."""
        with reading(self.folder):
            if self._is_without(ARRAYS):
                return {}
            self.check(ARRAYS)
            return read_arrays(self.folder / ARRAYS)

    def check(self, *names: str) -> None:
        """`DamagedError` if one of these files is not the one that was published, as far as can be told."""
        with reading(self.folder):
            for name in names:
                require_file(self.folder / name)
            if self.checksums is not None:
                check_files(self.folder, self.checksums, names)

    @contextmanager
    def understood(self) -> Iterator[None]:
        """Turn what a document of another shape raises within the block into an error about this run.

        It is damage, unless the checksums fit: then another version of the package has written it so.
        """
        try:
            yield
        except BROKEN as error:
            if self.checksums is None:
                raise DamagedError(self.id, reason(error)) from error
            raise NewerError(self.id, reason(error)) from error

    def _is_without(self, name: str) -> bool:
        """Whether the run has not come to this file yet; a published one lacks none, unless damaged."""
        return not self.is_published and not (self.folder / name).exists()


def open_run(folder: Path, state: State) -> StoredRun:
    """The run in `folder`; `DamagedError` if its JSON cannot be read, or is not what was published."""
    with reading(folder):
        published = state in ("finished", "partial")
        sums = read_checksums(folder) if published else None
        # Compared before it is read: nothing of an edited file is to be believed.
        configuration = parse(read_checked(folder, sums, CONFIGURATION).decode())
        summary = parse(read_checked(folder, sums, SUMMARY).decode()) if published else {}
        modified = (folder / SUMMARY if published else folder).stat().st_mtime
        run = StoredRun(folder.name, state, configuration, summary, folder, modified)
        if run_key(configuration) != run.key:
            raise ValueError("its configuration was edited")
    return run


def open_unread(folder: Path) -> StoredRun:
    """The finished run in `folder`, every file the one that was published; read only where no checksum can tell."""
    run = open_run(folder, "finished")
    if run.checksums is None:
        return open_whole(folder)
    run.check(*run.checksums.keys() - {CONFIGURATION, SUMMARY})
    return run


def open_whole(folder: Path, state: State = "finished") -> StoredRun:
    """The published run in `folder`, with every file looked at; `DamagedError` if one is broken."""
    run = open_run(folder, state)
    run.check(*{ARRAYS, *(run.checksums or ())} - {CONFIGURATION, SUMMARY, RECORDS})
    with reading(folder):
        check_archive(folder / ARRAYS)
    _ = run.columns  # the property keeps them: reading is the check, and the caller wants them next
    return run


def read_or_set_aside(layout: Layout, folder: Path, read: Callable[[Path], T]) -> T | None:
    """What `read` makes of the folder; a damaged run is moved aside with a warning, and counts as not there."""
    try:
        return read(folder)
    except DamagedError as error:
        set_aside(layout, folder, error)
    except GoneError:  # deleted or set aside by another process, which said so
        pass
    return None


def set_aside(layout: Layout, folder: Path, error: DamagedError) -> None:
    """Move a damaged run to the `damaged` folder and say so; nothing is deleted."""
    try:
        place = f"moved to {_move_aside(layout, folder)}"
    except FileNotFoundError:
        return
    except OSError as refusal:
        place = f"left in place ({reason(refusal)})"
    warn(f"{error.what}: {place}; it counts as not there")


def warn(text: str) -> None:
    """One line for the user; what it is about does not stop anything."""
    warnings.warn(text, LatebloomWarning, stacklevel=5)


def _move_aside(layout: Layout, folder: Path) -> Path:
    if not os.path.lexists(folder):
        raise FileNotFoundError(folder)
    make_folder(layout.damaged)
    number = 1
    while not _moved(folder, target := layout.damaged / f"{folder.name}-{number}"):
        number += 1
    return target


def _moved(source: Path, target: Path) -> bool:
    """Whether a run was renamed; False if the name is taken.

    What should be a folder and is not (a file, a link to nowhere) gets one around it: renamed by itself, it would
    replace another such file.
    """
    if source.is_dir() and not source.is_symlink():
        return renamed(source, target)
    try:
        target.mkdir()
    except FileExistsError:
        return False
    source.rename(target / source.name)
    return True
