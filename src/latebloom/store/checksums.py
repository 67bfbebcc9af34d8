"""What was published, by its SHA-256: `checksums.json`, written last, so that what is served is what was computed.

    {"format": 1, "files": {"arrays.npz": "<sha256>", …}, "sha256": "<sha256 of the rest>"}

Every version keeps to this outline: whatever `format` says, damage can be told from novelty. It is against accidents
(a flipped bit, an edit, half a copy), not against somebody who writes the checksums anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from latebloom.store.errors import NewerError
from latebloom.store.formats import read_json, write_json
from latebloom.store.layout import OWNER, STATE, STREAM, USELESS

CHECKSUMS = "checksums.json"
FORMAT = 1  # raised when a run is written that an older version would misread; a field more is no reason
# What is not there, or may go, once a run is published: whoever goes on with a run takes its state, which has its own.
_PASSING = {CHECKSUMS, OWNER, STREAM, STATE, USELESS}


def seal(folder: Path) -> None:
    """Write down the checksum of every file in the folder, those of others than this package, too."""
    write_json(folder / CHECKSUMS, _document({name: _digest(folder / name) for name in _files(folder)}))


def sealed(files: Mapping[str, bytes]) -> dict[str, Any]:
    """The checksums of files that are still in memory."""
    return _document({name: hashlib.sha256(data).hexdigest() for name, data in files.items()})


def _document(sums: Mapping[str, str]) -> dict[str, Any]:
    body = {"format": FORMAT, "files": {name: sums[name] for name in sorted(sums)}}
    return body | {"sha256": _text_digest(body)}


def unseal(folder: Path) -> None:
    """Forget the checksums: the folder is about to be written to again."""
    (folder / CHECKSUMS).unlink(missing_ok=True)


def read_checksums(folder: Path) -> dict[str, str] | None:
    """The checksum of every file by its name; None for a run that was published before there were any.

    ValueError if they do not fit themselves, `NewerError` if they do and a newer version wrote them.
    """
    if not os.path.lexists(folder / CHECKSUMS):
        return None
    require_file(folder / CHECKSUMS)
    body = read_json(folder / CHECKSUMS)
    own, files, number = body.pop("sha256", None), body.get("files"), body.get("format")
    if own != _text_digest(body) or not isinstance(files, dict) or not isinstance(number, int):
        raise ValueError(f"{CHECKSUMS} is not what was published")
    if number > FORMAT:
        check_files(folder, files, files)
        raise NewerError(folder.name, f"its format is {number}, this version knows {FORMAT}")
    return files


def check_files(folder: Path, checksums: Mapping[str, str], names: Iterable[str]) -> None:
    """ValueError if one of the files is not the one that was published."""
    for name in names:
        require_file(folder / name)
        if checksums.get(name) != _digest(folder / name):
            raise ValueError(f"{name} is not what was published: its checksum differs")


def read_checked(folder: Path, checksums: Mapping[str, str] | None, name: str) -> bytes:
    """The bytes of a file; ValueError if they are not those that were published."""
    require_file(folder / name)
    data = (folder / name).read_bytes()
    if checksums is not None and checksums.get(name) != hashlib.sha256(data).hexdigest():
        raise ValueError(f"{name} is not what was published: its checksum differs")
    return data


def require_file(path: Path) -> None:
    """ValueError if the path is a folder or a pipe, which would be waited for."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path.name} is not a file")


def _files(folder: Path) -> list[str]:
    """The files below the folder; a name with a dot in front is a draft that a killed process left."""
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    names = [path.relative_to(folder).as_posix() for path in paths]
    return [name for name in names if name not in _PASSING]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _text_digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
