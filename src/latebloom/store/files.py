"""Writing files and moving folders so that nobody ever sees half of one."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from latebloom.store.plain import parse, plain


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


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write `value` as indented JSON, atomically."""
    text = json.dumps(plain(value, path.stem), indent=1, allow_nan=False)
    with durable(path) as file:
        file.write(text.encode() + b"\n")


def read_json(path: Path) -> dict[str, Any]:
    """The dictionary in a JSON file."""
    return parse(path.read_text(encoding="utf-8"))


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` survive a power cut."""
    if os.name == "nt":  # Windows cannot open a folder
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def discard(folder: Path) -> None:
    """Delete a folder: gone at once for every reader, then its files one by one."""
    doomed = folder.with_name(f".deleted-{folder.name}-{token()}")
    try:
        folder.rename(doomed)
    except FileNotFoundError:  # another process was quicker
        return
    shutil.rmtree(doomed, ignore_errors=True)


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
