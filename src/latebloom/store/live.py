"""A run while it is written, its publication by one rename, and what a dead process left behind."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from latebloom.core.json import plain
from latebloom.errors import InputError
from latebloom.store.atomic import discard, make_folder, renamed, sync_folder, token
from latebloom.store.checksums import CHECKSUMS, seal, unseal
from latebloom.store.errors import NewerError, StoreError, reading, writing
from latebloom.store.formats import (
    StreamWriter,
    check_arrays,
    read_json,
    to_table,
    write_arrays,
    write_json,
    write_table,
)
from latebloom.store.layout import (
    ARRAYS,
    CONFIGURATION,
    RECORDS,
    STATE,
    STREAM,
    SUMMARY,
    Layout,
    State,
    resign,
    run_key,
    sign,
)
from latebloom.store.run import StoredRun, open_run, open_whole, read_or_set_aside, warn
from latebloom.store.states import write_state

_ATTEMPTS = 10  # another process can take the name again while we clear it, but not for ever


class LiveRun:
    """Appends records while a run goes on, then publishes the whole with one rename.

    Left without `finish`, it keeps on disk what was appended, for `Store.recover`.
    """

    def __init__(self, layout: Layout, folder: Path) -> None:
        self.id = folder.name
        self.folder = folder
        self._layout = layout
        self._stream = StreamWriter(folder / STREAM)
        self._is_open = True

    @classmethod
    def create(cls, layout: Layout, configuration: Mapping[str, Any]) -> Self:
        """A new folder for this configuration, owned by this process."""
        folder = _live_folder(layout, run_key(configuration))
        with writing(layout.root):
            make_folder(layout.live)
            folder.mkdir()
            sign(folder)
            write_json(folder / CONFIGURATION, configuration)  # last: it makes the folder visible in listings
        return cls(layout, folder)

    def append(self, columns: Mapping[str, Any]) -> None:
        """Write one batch of records; a kill loses at most the batch being written."""
        self._require_open()
        with writing(self._layout.root):
            self._stream.append(columns)

    def write_state(self, about: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Replace the file from which another process goes on, should this one be killed."""
        self._require_open()
        with writing(self._layout.root):
            write_state(self.folder, about, arrays)

    def drop_state(self) -> None:
        """The run is at its end, and nothing goes on from there."""
        with writing(self._layout.root):
            (self.folder / STATE).unlink(missing_ok=True)

    def finish(
        self,
        columns: Mapping[str, Any],
        summary: Mapping[str, Any],
        arrays: Mapping[str, Any] | None = None,
        *,
        replace: bool = False,
    ) -> StoredRun:
        """Write the whole run and publish it; `summary["complete"] is False` makes it a partial one.

        If another process has published the same configuration first, its run is kept and returned,
        unless `replace`.
        """
        self._require_open()
        # All three are checked before anything is written.
        table, checked = to_table(columns), check_arrays(arrays or {})
        report = plain(summary, "summary", lossless=True)
        with writing(self._layout.root):
            unseal(self.folder)  # of a run that was published before and goes on
            write_table(self.folder / RECORDS, table)
            write_arrays(self.folder / ARRAYS, checked)
            write_json(self.folder / SUMMARY, report)
            self._stream.close()
            sync_folder(self.folder)  # before the stream goes: a power cut must not take both
            (self.folder / STREAM).unlink(missing_ok=True)
            seal(self.folder)  # last: what is there now is what was computed
            sync_folder(self.folder)
        run = _publish_written(self._layout, self.folder, is_complete=is_complete(summary), replace=replace)
        self._is_open = False
        return run

    def close(self) -> None:
        """Stop writing; what was appended stays, and a run without any record or state leaves nothing."""
        if not self._is_open:
            return
        self._is_open = False
        with writing(self._layout.root):
            is_kept = _has_records(self.folder)
            self._stream.close()
            if is_kept:
                resign(self.folder)
            else:
                discard(self.folder)

    def _require_open(self) -> None:
        if not self._is_open:
            raise StoreError(f"run {self.id} is closed: begin another with store.begin(configuration)")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except StoreError:
            if error is None:  # else the first error is the one to tell
                raise


def recover_run(layout: Layout, run: StoredRun) -> StoredRun:
    """Publish the records of an abandoned run up to its last whole batch, as a partial run."""
    if run.state != "abandoned":
        raise InputError(
            f"run {run.id} is {run.state}: only an abandoned run can be recovered; see `latebloom runs list`"
        )
    columns, summary = run.columns, _last_summary(run)
    if not any(len(column) for column in columns.values()):
        raise StoreError(
            f"run {run.id} has no whole record to recover: remove it with `latebloom runs delete {run.id}`"
        )
    with LiveRun(layout, _claim(layout, run)) as live:
        if summary is None:
            return live.finish(columns, {"complete": False, "recovered": True})
        return _publish_written(layout, live.folder, is_complete=is_complete(summary))


def _last_summary(run: StoredRun) -> dict[str, Any] | None:
    """The summary of a run that was killed between its last file and its publication: nothing is missing then."""
    with reading(run.folder):
        is_written = (run.folder / RECORDS).exists() and (run.folder / SUMMARY).exists()
        if not is_written or (run.folder / STREAM).exists():
            return None
        if (run.folder / CHECKSUMS).exists():
            open_whole(run.folder)
        return read_json(run.folder / SUMMARY)


def _claim(layout: Layout, run: StoredRun) -> Path:
    """Take the folder over by renaming it, so that of two processes only one recovers it."""
    folder = _live_folder(layout, run.key)
    with writing(layout.root):
        try:
            run.folder.rename(folder)
        except FileNotFoundError:
            raise StoreError(f"run {run.id} was recovered or deleted meanwhile: see `latebloom runs list`") from None
        sign(folder)
    return folder


def _live_folder(layout: Layout, key: str) -> Path:
    return layout.live / f"{key}-{os.getpid()}-{token()}"


def is_complete(summary: Mapping[str, Any]) -> bool:
    return summary.get("complete") is not False


def _has_records(folder: Path) -> bool:
    files = [folder / name for name in (STREAM, RECORDS, STATE)]
    return any(file.exists() and file.stat().st_size > 0 for file in files)


def _publish_written(layout: Layout, folder: Path, *, is_complete: bool, replace: bool = False) -> StoredRun:
    """Publish a live folder whose files are all written, as a finished or a partial run."""
    key, _, suffix = folder.name.partition("-")
    state: State = "finished" if is_complete else "partial"
    target = layout.finished / key if is_complete else layout.partial / f"{key}-{suffix.rpartition('-')[2]}"
    with writing(layout.root):
        if not (folder / CHECKSUMS).exists():
            seal(folder)
            sync_folder(folder)
        try:
            if publish(layout, folder, target, replace=replace):
                sync_folder(target.parent)
        except NewerError as error:
            return _withdraw(folder, state, error)
        resign(target)
    return open_run(target, state)


def _withdraw(folder: Path, state: State, error: NewerError) -> StoredRun:
    """The run in memory only: its place belongs to a newer version."""
    run = open_run(folder, state)
    _ = run.columns, run.arrays
    discard(folder)
    warn(f"{error.what}: it is left alone, and what was computed now is not kept")
    return run


def publish(layout: Layout, source: Path, target: Path, *, replace: bool) -> bool:
    """Rename `source` to `target` and say so; a whole run that is already there stays unless `replace`."""
    make_folder(target.parent)
    for _ in range(_ATTEMPTS):
        if renamed(source, target):
            return True
        if replace:
            discard(target)
        elif read_or_set_aside(layout, target, open_whole):
            discard(source)  # the same configuration gives the same numbers
            return False
    raise FileExistsError(errno.EEXIST, "the target cannot be moved aside", str(target))
