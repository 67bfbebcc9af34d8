"""Writing files and moving folders so that nobody ever sees half of one, not even after a power cut.

A file is written under another name, brought to the disk (fsync) and then renamed. A name is on the disk once its
folder is: `sync_folder` after the rename.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

MANY = 60  # files, from which on one call for all is cheaper
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


def sync_files(paths: Sequence[Path]) -> None:
    """Bring files and folders to the disk: each by itself, or where they are many all of the file system's at once.

    Of 100 small runs of five files one call takes as long as two of the 600.
    """
    if len(paths) > MANY and sync_system(paths[0]):
        return
    for path in paths:
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("rb") as file:
                os.fsync(file.fileno())


def sync_system(path: Path) -> bool:
    """Whether the file system that `path` is on has brought everything to the disk: syncfs(2), of Linux only.

    It waits, and an error of the disk is raised: since Linux 5.8 it is told as by fsync.
    """
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        return False
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if syncfs(descriptor):
            raise OSError(number := ctypes.get_errno(), os.strerror(number), str(path))
    finally:
        os.close(descriptor)
    return True


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
