"""What a dead process left behind, published as a partial run."""

from __future__ import annotations

import os
from pathlib import Path

from latebloom.errors import InputError
from latebloom.store.errors import StoreError, writing
from latebloom.store.files import read_json, token
from latebloom.store.live import LiveRun, publish_written
from latebloom.store.owner import sign
from latebloom.store.paths import RECORDS, STREAM, SUMMARY, Layout
from latebloom.store.stored import StoredRun


def recover_run(layout: Layout, run: StoredRun) -> StoredRun:
    """Publish the records of an abandoned run up to its last whole batch."""
    if run.state != "abandoned":
        raise InputError(
            f"run {run.id} is {run.state}: only an abandoned run can be recovered; see `latebloom runs list`"
        )
    columns = run.columns
    if not any(len(column) for column in columns.values()):
        raise StoreError(
            f"run {run.id} has no whole record to recover: remove it with `latebloom runs delete {run.id}`"
        )
    folder = _claim(layout, run)
    if not (folder / STREAM).exists() and (folder / RECORDS).exists() and (folder / SUMMARY).exists():
        # Killed between its last file and its publication: nothing is missing.
        return publish_written(layout, folder, is_complete=read_json(folder / SUMMARY).get("complete") is not False)
    with LiveRun(layout, folder) as live:
        return live.finish(columns, {"complete": False, "recovered": True})


def _claim(layout: Layout, run: StoredRun) -> Path:
    """Take the folder over by renaming it, so that of two processes only one recovers it."""
    folder = layout.live / f"{run.key}-{os.getpid()}-{token()}"
    with writing(layout.root):
        try:
            run.folder.rename(folder)
        except FileNotFoundError:
            raise StoreError(f"run {run.id} was recovered or deleted meanwhile: see `latebloom runs list`") from None
        sign(folder)
    return folder
