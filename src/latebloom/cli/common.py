"""Options and printing that every command shares."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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


def open_store(path: Path | None) -> Store:
    """The store at `path`, or where the user keeps results."""
    from latebloom.store import Store

    return Store(path)


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def console() -> Console:
    """Where tables go: standard output, at its width, or wide enough for a pipe."""
    from rich.console import Console

    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 140)


def log(text: str) -> None:
    """A line for the user that is not part of the result."""
    print(text, file=sys.stderr)


def use_compile_cache() -> None:
    """Keeps compiled programs between commands, in the user's cache folder."""
    import os

    import jax
    from platformdirs import user_cache_path

    if not os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        jax.config.update("jax_compilation_cache_dir", str(user_cache_path("latebloom") / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


def short(value: Any) -> str:
    """A measured value for a table: four digits, lists abbreviated to their range."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        none = sum(v is None for v in value)
        return _short_list([v for v in value if v is not None]) + (
            f", {none} none" if none < len(value) and none else ""
        )
    if isinstance(value, dict):
        return ", ".join(f"{key} {short(item)}" for key, item in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)


def _short_list(values: list[Any]) -> str:
    if not values:
        return "none"
    if all(value == values[0] for value in values):
        return short(values[0])
    if len(values) <= 4 or not all(isinstance(v, int | float) for v in values):
        return ", ".join(short(v) for v in values[:4]) + ("…" if len(values) > 4 else "")
    return f"{short(min(values))} … {short(max(values))}"
