"""Options and printing that every command shares."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from latebloom.core.tables import width_of
from latebloom.errors import InputError, check_count

if TYPE_CHECKING:
    from rich.console import Console

    from latebloom.store import Store

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]


def _folder(text: str) -> Path:
    """A folder's name as typed; `Path` makes the folder one is in of an empty one."""
    if not text.strip():
        raise typer.BadParameter(f"{text!r} names no folder: give one, or leave --store out for your own")
    return Path(text)


StoreOption = Annotated[
    Path | None,
    typer.Option("--store", metavar="DIR", parser=_folder, help="Where results are kept (default: your data folder)."),
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Compute anew, and replace what is stored, finished or interrupted.")
]


def whole(text: str) -> int:
    """A count as one types it: `1000000`, `1_000_000`, `1e6`.

    >>> whole("1e6"), whole("250000")
    (1000000, 250000)
    """
    try:
        number: Any = int(text) if text.strip().isdigit() else float(text)
        return check_count("the number", number, least=0)
    except (InputError, ValueError, OverflowError):
        raise typer.BadParameter(f"{text!r} is not a whole number from 0 on: write e.g. 1000000 or 1e6") from None


def refuse_together(**given: Any) -> None:
    """Refuses options of which only one has an effect: `refuse_together(seed=3, seeds=None)` lets this one pass."""
    names = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise InputError(f"{' and '.join(names)} exclude each other: give one of them")


def open_store(path: Path | None) -> Store:
    """The store at `path`, or where the user keeps results."""
    from latebloom.store import Store

    return Store(path)


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def console() -> Console:
    """Where tables go: standard output, at its width; into a pipe nothing is wrapped."""
    from rich.console import Console

    return Console(highlight=False, markup=False, width=width_of(sys.stdout) or 10_000)


def log(text: str) -> None:
    """A line for the user that is not part of the result."""
    print(text, file=sys.stderr)
