"""Runs that were over before anything of them was streamed: written straight, and brought to the disk together.

Every run is a folder in `live/.group-…`, which no listing sees. When all files of all runs are written, one call brings
them to the disk, and only then is each renamed to its place: of a power cut or a kill at any moment a run is whole or
not there, as if it had been published alone. What a killed process left is deleted by the next group.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from latebloom.store.atomic import discard, make_folder, sync_files, sync_folder, token
from latebloom.store.checksums import CHECKSUMS, sealed
from latebloom.store.errors import NewerError, writing
from latebloom.store.formats import arrays_bytes, check_arrays, json_bytes, table_bytes, to_table
from latebloom.store.layout import ARRAYS, CONFIGURATION, RECORDS, SUMMARY, Layout, is_owned, run_key, sign
from latebloom.store.live import is_complete, publish
from latebloom.store.run import warn

_PREFIX, _UNSIGNED = ".group-", ".unsigned-"


@dataclass(frozen=True)
class Draft:
    """A run that is over; made by `draft`, which refuses what cannot be written before anything is."""

    key: str
    files: Mapping[str, bytes]
    is_complete: bool
    replaces: bool

    suffix: str

    @property
    def id(self) -> str:
        """Under which it will be found: the key of a finished run, that of a partial one with a suffix of its own."""
        return self.key if self.is_complete else f"{self.key}-{self.suffix}"

    def of(self, configuration: Mapping[str, Any]) -> Draft:
        """The same run under another configuration."""
        files = {name: data for name, data in self.files.items() if name != CHECKSUMS}
        files[CONFIGURATION] = json_bytes(configuration, "configuration")
        files[CHECKSUMS] = json_bytes(sealed(files), "checksums")
        return replace(self, key=run_key(configuration), files=files)

    def paths(self, folder: Path) -> list[Path]:
        """All that must be on the disk before the folder has its name."""
        return [*(folder / name for name in self.files), folder]

    def place(self, layout: Layout) -> Path:
        """Where it will be."""
        return (layout.finished if self.is_complete else layout.partial) / self.id


def draft(
    configuration: Mapping[str, Any],
    columns: Mapping[str, Any],
    summary: Mapping[str, Any],
    arrays: Mapping[str, Any] | None = None,
    *,
    replaces: bool = False,
) -> Draft:
    """The files of a run, in memory."""
    files = {
        RECORDS: table_bytes(to_table(columns)),
        ARRAYS: arrays_bytes(check_arrays(arrays or {})),
        SUMMARY: json_bytes(summary, "summary"),
        CONFIGURATION: json_bytes(configuration, "configuration"),
    }
    files[CHECKSUMS] = json_bytes(sealed(files), "checksums")
    return Draft(run_key(configuration), files, is_complete(summary), replaces, token())


def publish_all(layout: Layout, drafts: Sequence[Draft]) -> None:
    """Publish runs; each that another process has published first is dropped, unless it is to be replaced."""
    if not drafts:
        return
    with writing(layout.root), _group(layout) as group:
        folders = [group / str(number) for number in range(len(drafts))]
        for folder, one in zip(folders, drafts, strict=True):
            folder.mkdir()
            for name, data in one.files.items():
                (folder / name).write_bytes(data)
        sync_files([path for folder, one in zip(folders, drafts, strict=True) for path in one.paths(folder)])
        parents = set()
        for folder, one in zip(folders, drafts, strict=True):
            try:
                if publish(layout, folder, one.place(layout), replace=one.replaces):
                    parents.add(one.place(layout).parent)
            except NewerError as error:
                warn(f"{error.what}: it is left alone, and what was computed now is not kept")
        for parent in parents:
            sync_folder(parent)


@contextmanager
def _group(layout: Layout) -> Iterator[Path]:
    """A folder for a group, gone at the end whatever happens; those of dead processes go, too."""
    make_folder(layout.live)
    for left in [path for path in layout.live.glob(f"{_PREFIX}*") if not is_owned(path)]:
        discard(left)
    made, folder = (layout.live / f"{prefix}{os.getpid()}-{token()}" for prefix in (_UNSIGNED, _PREFIX))
    made.mkdir()
    try:
        sign(made)  # before it has the name by which others judge it
        made.rename(folder)
        yield folder
    finally:
        discard(folder if folder.exists() else made)
