"""A sweep from a TOML file; what is wrong in it is said with the line."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from latebloom.errors import InputError, LatebloomError
from latebloom.sweeps.own_problem import names_a_function
from latebloom.sweeps.template import FOLDER

if TYPE_CHECKING:
    from latebloom.sweeps.definition import Sweep


def read_file(path: str | os.PathLike[str]) -> Sweep:
    """The sweep of a TOML file, named like the file if it does not say; nothing in it is evaluated as code."""
    from latebloom.sweeps.definition import Sweep

    path = Path(path).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"cannot read the sweep {str(path)!r} ({reason}): give a TOML file") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path.name}: {error}; it is no TOML, see https://toml.io") from None
    try:
        beside = {FOLDER: str(path.absolute().parent)} if names_a_function(document.get("problem")) else {}
        return Sweep.read({"name": path.stem, **document, **beside})
    except LatebloomError as error:
        line = line_of(text, getattr(error, "keys", ()))
        raise type(error)(f"{path.name}{f', line {line}' if line else ''}: {error}") from None


def line_of(text: str, keys: Sequence[str]) -> int | None:
    """The line on which a key of TOML is given, counted from 1; that of the table around it, where it is not found.

    >>> line_of('name = "a"\\n[axes]\\n"problem.seed" = [0]', ["axes", "problem.seed"])
    3
    """
    table, found = "", None
    for number, line in enumerate(text.splitlines(), 1):
        header = re.fullmatch(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?", line)
        if header:
            table = header[1].strip("\"'")
            found = number if list(keys) == [table] else found
            continue
        name = re.match(r"""\s*("[^"]*"|'[^']*'|[\w.-]+)\s*=""", line)
        if name and [part for part in (table, name[1].strip("\"'")) if part] == list(keys):
            return number
        if name and not table and list(keys[:1]) == [name[1].strip("\"'")]:
            found = number
    if found is None and len(keys) > 1:
        return line_of(text, keys[:1])
    return found
