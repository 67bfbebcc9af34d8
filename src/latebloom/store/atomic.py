"""Writing files and moving folders so that nobody ever sees half of one, not even after a power cut.

A file is written under another name, brought to the disk (fsync) and then renamed. A name is on the disk once its
folder is: `sync_folder` after the rename.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_TAKEN = {errno.ENOTEMPTY, errno.EEXIST}


def token() -> str:
    """Eight random hexadecimal digits, to keep the names of two processes apart."""
    return secrets.token_hex(4)


@contextmanager
def durable(path: Path) -> Iterator[IO[bytes]]:
    """A binary file that appears under its name only when whole and on the disk."""
    draft = path.with_name(f".{path.name}-{token()}")
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def make_folder(folder: Path) -> None:
    """Make `folder` and what is missing above it, names that survive a power cut."""
    missing = [parent for parent in [folder, *folder.parents] if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for made in reversed(missing):
        sync_folder(made.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` survive a power cut."""
    if os.name == "nt":  # Windows cannot open a folder
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def renamed(source: Path, target: Path) -> bool:
    """Whether a folder was renamed; False if the target is taken."""
    try:
        source.rename(target)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        raise
    return True


def discard(folder: Path) -> None:
    """Delete a folder: gone at once for every reader, then its files one by one."""
    doomed = folder.with_name(f".deleted-{folder.name}-{token()}")
    try:
        folder.rename(doomed)
    except FileNotFoundError:  # another process was quicker
        return
    if doomed.is_dir() and not doomed.is_symlink():
        shutil.rmtree(doomed, ignore_errors=True)
    else:  # a damaged run may be a file, or a link to elsewhere
        doomed.unlink(missing_ok=True)


def size(folder: Path) -> int:
    """Bytes in all the files below `folder`."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).lstat().st_size
            except FileNotFoundError:  # deleted by another process while we were counting
                continue
    return total
