"""What the shell may complete. Nothing here loads JAX: an answer that takes a second is none."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

ROOMS = {  # a room, and what its members derive from
    "problems": "AbstractProblem",
    "methods": "AbstractMethod",
    "penalties": "AbstractPenalty",
    "probes": "AbstractProbe",
}


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def entries(incomplete: str) -> list[str]:
    """Ids of the catalog."""
    from latebloom.catalog import ENTRIES

    return _starting(ENTRIES, incomplete)


def papers(incomplete: str) -> list[str]:
    """The papers of the catalog, and the blog post."""
    from latebloom.catalog import PAPERS, REGISTERS

    return _starting(dict.fromkeys([*PAPERS, *REGISTERS]), incomplete)


def documents(incomplete: str) -> list[str]:
    """The documents that have a register."""
    from latebloom.catalog import REGISTERS

    return _starting(REGISTERS, incomplete)


def entries_and_papers(incomplete: str) -> list[str]:
    """Ids, and papers that stand for all of theirs."""
    return [*papers(incomplete), *entries(incomplete)]


def settings(ctx: typer.Context, incomplete: str) -> list[str]:
    """The settings of the entries that were named before, as far as all of them have them: `learning_rate=`."""
    from latebloom import catalog

    # Not of the context's parameters: it is read up to an option whose value is being typed, and then has none.
    typed = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()
    words = [
        word for word in (*typed, *(ctx.params.get("experiments") or ())) if word in {*catalog.ENTRIES, *catalog.PAPERS}
    ]
    if not words:
        return []
    chosen = catalog.select(words)
    common = [name for name in chosen[0].settings.values if all(name in entry.settings.values for entry in chosen)]
    return _starting([f"{name}=" for name in common], incomplete)


def benchmarks(incomplete: str) -> list[str]:
    """What `latebloom bench` measures."""
    from latebloom import bench

    return _starting(bench.names(), incomplete)


def problems(incomplete: str) -> list[str]:
    """Problems by their names."""
    return _starting(members("problems"), incomplete)


def methods(incomplete: str) -> list[str]:
    """Methods by their names."""
    return _starting(members("methods"), incomplete)


def penalties(incomplete: str) -> list[str]:
    """Penalties by their names."""
    return _starting(members("penalties"), incomplete)


def probes(incomplete: str) -> list[str]:
    """Probes by their names."""
    return _starting(members("probes"), incomplete)


def members(room: str) -> list[str]:
    """The names in a room's table, read from its source: importing it would load JAX.

    >>> "sparse_recovery" in members("problems"), "adamw" in members("methods")
    (True, True)
    """
    classes = {node.name: node for node in _classes(Path(__file__).parents[1] / room)}

    def derives(name: str) -> bool:
        bases = [ast.unparse(base) for base in classes[name].bases] if name in classes else []
        return ROOMS[room] in bases or any(derives(base) for base in bases)

    return sorted(
        _name(node) for name, node in classes.items() if derives(name) and not name.startswith(("_", "Abstract"))
    )


def _classes(folder: Path) -> Iterator[ast.ClassDef]:
    for path in sorted(folder.rglob("*.py")):
        yield from (node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef))


def _name(node: ast.ClassDef) -> str:
    """The name that the class gives itself, or that `Record.name` makes of the class's."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "name" and isinstance(part.body[-1], ast.Return):
            return ast.literal_eval(part.body[-1].value)  # type: ignore[arg-type]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", node.name).lower()
