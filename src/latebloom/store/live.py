"""A run while it is written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from latebloom.store.arrays import check_arrays, write_arrays
from latebloom.store.columns import to_table, write_table
from latebloom.store.errors import StoreError, writing
from latebloom.store.files import discard, sync_folder, token, write_json
from latebloom.store.key import run_key
from latebloom.store.owner import resign, sign
from latebloom.store.paths import ARRAYS, CONFIGURATION, RECORDS, STREAM, SUMMARY, Layout
from latebloom.store.plain import plain
from latebloom.store.publish import publish
from latebloom.store.stored import State, StoredRun, open_run
from latebloom.store.stream import StreamWriter


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
        folder = layout.live / f"{run_key(configuration)}-{os.getpid()}-{token()}"
        with writing(layout.root):
            folder.mkdir(parents=True)
            sign(folder)
            write_json(folder / CONFIGURATION, configuration)  # last: it makes the folder visible in listings
        return cls(layout, folder)

    def append(self, columns: Mapping[str, Any]) -> None:
        """Write one batch of records; a kill loses at most the batch being written."""
        self._require_open()
        with writing(self._layout.root):
            self._stream.append(columns)

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
        table, checked, plain_summary = to_table(columns), check_arrays(arrays or {}), plain(summary, "summary")
        with writing(self._layout.root):
            write_table(self.folder / RECORDS, table)
            write_arrays(self.folder / ARRAYS, checked)
            write_json(self.folder / SUMMARY, plain_summary)
            self._stream.close()
            (self.folder / STREAM).unlink(missing_ok=True)
            sync_folder(self.folder)
        is_complete = summary.get("complete") is not False
        run = publish_written(self._layout, self.folder, is_complete=is_complete, replace=replace)
        self._is_open = False
        return run

    def close(self) -> None:
        """Stop writing; what was appended stays, and a run without any record leaves nothing."""
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


def _has_records(folder: Path) -> bool:
    files = [folder / name for name in (STREAM, RECORDS)]
    return any(file.exists() and file.stat().st_size > 0 for file in files)


def publish_written(layout: Layout, folder: Path, *, is_complete: bool, replace: bool = False) -> StoredRun:
    """Publish a live folder whose files are all written, as a finished or a partial run."""
    key, _, suffix = folder.name.partition("-")
    state: State = "finished" if is_complete else "partial"
    target = layout.finished / key if is_complete else layout.partial / f"{key}-{suffix.rpartition('-')[2]}"
    with writing(layout.root):
        publish(layout, folder, target, replace=replace)
        resign(target)
    return open_run(target, state)
