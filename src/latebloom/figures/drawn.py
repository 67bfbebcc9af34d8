"""Whether a picture on disk shows a figure already: pictures carry a mark of all that they depend on.

Drawing is most of what a reproduction from the store costs. A picture with the same mark would come out the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from latebloom.figures.traces import Figure

ENDS = {"png": b"IEND\xaeB`\x82", "pdf": b"%%EOF"}  # of a whole file


def mark_of(figure: Figure, told: Mapping[str, str]) -> str:
    """A digest of the figure's data, of what its pictures tell, and of what draws them."""
    digest = hashlib.sha256(_drawing())
    for part in _parts([figure, told]):
        digest.update(part)
    return digest.hexdigest()[:32]


def shows(path: Path, mark: str) -> bool:
    """Whether a whole picture with this mark is there."""
    try:
        data = path.read_bytes()
    except OSError:
        return False
    return mark.encode() in data and data.rstrip().endswith(ENDS[path.suffix.lstrip(".")])


@cache
def _drawing() -> bytes:
    """What turns data into a picture: the files of this folder, and Matplotlib."""
    from importlib.metadata import version

    sources = sorted(Path(__file__).parent.glob("*.py"))
    return b"".join([version("matplotlib").encode(), *(source.read_bytes() for source in sources)])


def _parts(value: Any) -> Iterator[bytes]:
    """The value as bytes, each with its type and size, so that no two figures give the same."""
    if isinstance(value, np.ndarray):
        yield repr((value.dtype.str, value.shape)).encode()
        yield value.tobytes()
    elif is_dataclass(value):
        yield f"{type(value).__name__}:".encode()
        yield from _parts({one.name: getattr(value, one.name) for one in fields(value)})
    elif isinstance(value, Mapping):
        yield f"{len(value)} items".encode()
        yield from (part for pair in value.items() for item in pair for part in _parts(item))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield f"{len(value)} values".encode()
        yield from (part for item in value for part in _parts(item))
    else:
        yield f"{value!r};".encode()
