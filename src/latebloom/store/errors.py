"""What goes wrong with a disk, as one line that says what to type instead."""

from __future__ import annotations

import errno
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from latebloom.errors import LatebloomError

# A file that is missing or has another type is damage; any other errno says something about the machine.
_DAMAGE = {None, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL}
# What JSON, Parquet, Arrow and npz raise on bytes that are not theirs, and what a document of another shape does in the
# hands of who reads it. RuntimeError: nested too deep; a flipped bit in an archive may also say "encrypted".
BROKEN = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, EOFError, struct.error)
BROKEN += (zipfile.BadZipFile, zlib.error)


class StoreError(LatebloomError):
    """The disk refuses: not writable, full, or not readable."""


class DamagedError(StoreError):
    """The files of one run are incomplete or do not make sense."""

    def __init__(self, name: str, cause: str) -> None:
        self.cause = cause
        self.what = f"run {name} is damaged ({cause})"
        super().__init__(f"{self.what}: run it again, or remove it with `latebloom runs delete {name}`")


class GoneError(StoreError):
    """Another process has deleted or moved the run meanwhile."""

    def __init__(self, name: str) -> None:
        super().__init__(f"run {name} was deleted or moved meanwhile: see `latebloom runs list`")


class NewerError(StoreError):
    """The checksums of one run fit, and still this version cannot read it: another one wrote it."""

    def __init__(self, name: str, cause: str) -> None:
        self.cause = cause
        self.what = f"run {name} was made by a newer version of latebloom ({cause})"
        super().__init__(f"{self.what}: it is left alone; upgrade latebloom, or choose another store with --store DIR")


def reason(error: BaseException) -> str:
    """The cause in a few words, on one line.

    >>> reason(OSError(28, "whatever the library says"))
    'No space left on device'
    >>> reason(KeyError("outcome"))
    "'outcome' is missing"
    """
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    if isinstance(error, KeyError):
        return f"{error} is missing"
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
    """Turn what a broken file raises within the block into a `DamagedError`, or a `GoneError` if all of it is gone."""
    try:
        yield
    except OSError as error:
        if not os.path.lexists(folder):
            raise GoneError(folder.name) from error
        if error.errno in _DAMAGE:
            raise _damaged(folder, error) from error
        text = f"cannot read {folder} ({reason(error)}): check its permissions or choose another with --store DIR"
        raise StoreError(text) from error
    except BROKEN as error:
        raise _damaged(folder, error) from error


def _damaged(folder: Path, error: Exception) -> DamagedError:
    file = error.filename if isinstance(error, OSError) else None
    return DamagedError(folder.name, f"{Path(os.fsdecode(file)).name}: {reason(error)}" if file else reason(error))
