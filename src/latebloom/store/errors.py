"""What goes wrong with a disk, as one line that says what to type instead."""

from __future__ import annotations

import errno
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from latebloom.errors import LatebloomError

# A file that is missing or has another type is damage; any other errno says something about the machine.
_DAMAGE = {None, errno.ENOENT, errno.ENOTDIR, errno.EISDIR}
# What JSON, Parquet, Arrow and npz raise on bytes that are not theirs; JSON may be nested too deep.
_BROKEN = (ValueError, KeyError, TypeError, NotImplementedError, RecursionError, EOFError, zipfile.BadZipFile)


class StoreError(LatebloomError):
    """The disk refuses: not writable, full, or not readable."""


class DamagedError(StoreError):
    """The files of one run are incomplete or do not make sense."""

    def __init__(self, name: str, cause: str) -> None:
        self.what = f"run {name} is damaged ({cause})"
        super().__init__(f"{self.what}: run it again, or remove it with `latebloom runs delete {name}`")


def reason(error: BaseException) -> str:
    """The cause in a few words, on one line.

    >>> reason(OSError(28, "whatever the library says"))
    'No space left on device'
    """
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return (str(error) or type(error).__name__).strip().splitlines()[0]


@contextmanager
def writing(store: Path) -> Iterator[None]:
    """Turn the operating system's refusals within the block into a `StoreError`."""
    try:
        yield
    except OSError as error:
        text = f"cannot write to the store at {store} ({reason(error)}): choose another with --store DIR"
        raise StoreError(text) from error


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Turn what a broken file raises within the block into a `DamagedError`."""
    try:
        yield
    except OSError as error:
        if error.errno in _DAMAGE:
            raise _damaged(folder, error) from error
        text = f"cannot read {folder} ({reason(error)}): check its permissions or choose another with --store DIR"
        raise StoreError(text) from error
    except _BROKEN as error:
        raise _damaged(folder, error) from error


def _damaged(folder: Path, error: Exception) -> DamagedError:
    file = error.filename if isinstance(error, OSError) else None
    return DamagedError(folder.name, f"{Path(file).name}: {reason(error)}" if file else reason(error))
