"""The moves between the folders of a store, each one atomic rename."""

from __future__ import annotations

import errno
import warnings
from pathlib import Path

from latebloom.errors import LatebloomWarning
from latebloom.store.errors import DamagedError, reason
from latebloom.store.files import discard, sync_folder
from latebloom.store.paths import Layout
from latebloom.store.stored import open_whole

_TAKEN = {errno.ENOTEMPTY, errno.EEXIST}
_ATTEMPTS = 10  # another process can take the name again while we clear it, but not for ever


def publish(layout: Layout, source: Path, target: Path, *, replace: bool = False) -> None:
    """Rename `source` to `target`; a whole run that is already there stays unless `replace`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(_ATTEMPTS):
        if _renamed(source, target):
            sync_folder(target.parent)
            return
        if replace:
            discard(target)
        elif _is_whole(layout, target):
            discard(source)  # the same configuration gives the same numbers
            return
    raise FileExistsError(errno.EEXIST, "the target cannot be moved aside", str(target))


def set_aside(layout: Layout, folder: Path, error: DamagedError) -> None:
    """Move a damaged run to the `damaged` folder and say so; nothing is deleted."""
    if not folder.exists():  # deleted or set aside by another process, which said so
        return
    try:
        place = f"moved to {_move_aside(layout, folder)}"
    except FileNotFoundError:
        return
    except OSError as refusal:
        place = f"left in place ({reason(refusal)})"
    warnings.warn(f"{error.what}: {place}; it counts as not there", LatebloomWarning, stacklevel=3)


def _move_aside(layout: Layout, folder: Path) -> Path:
    layout.damaged.mkdir(parents=True, exist_ok=True)
    number = 1
    while not _renamed(folder, target := layout.damaged / f"{folder.name}-{number}"):
        number += 1
    return target


def _renamed(source: Path, target: Path) -> bool:
    """Whether the rename was done; False if the target is taken."""
    try:
        source.rename(target)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        raise
    return True


def _is_whole(layout: Layout, folder: Path) -> bool:
    try:
        open_whole(folder)
    except DamagedError as error:
        set_aside(layout, folder, error)
        return False
    return True
