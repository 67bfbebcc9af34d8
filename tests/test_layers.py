"""The layout is the architecture: which room may import which, read from the source without running it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "latebloom"
PAPERS = ("beyond_l2", "dichotomy", "geometry", "riemannian")
# From the ground up: a room imports rooms of lower floors only; rooms of one floor do not know each other.
FLOORS = (
    {"errors"},
    {"core"},
    {"laws"},
    {"store", "figures", "linalg", "penalties"},
    {"problems", "laws"},
    {"zero_loss", "methods"},
    {"probes"},
    {"engine", "oracles"},
    {"flows"},
    {"theory"},
    {"sweeps"},
    {"catalog"},
    {"bench", "cli"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# Commands start benchmarks; `python -m latebloom` is the command line; the package's own front page shows all rooms.
ALLOWED = {("cli", "bench"), ("__main__", "cli")}


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ("latebloom", *path.relative_to(SOURCE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports, at its top or inside functions, but not for types only."""
    tree = ast.parse(path.read_text())
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "latebloom":
            # The number of the version is at the front door, but nothing behind it comes with it.
            names = [f"{node.module}.{alias.name}" for alias in node.names if alias.name != "__version__"]
            yield from (name if name in MODULES else str(node.module) for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "latebloom")


def room(module: str) -> str:
    """The folder (at the root, the file) that a module is in."""
    return module.split(".")[1] if "." in module else ""


@cache
def edges() -> list[tuple[str, str]]:
    """Which module imports which."""
    return sorted({(name, target) for name, path in MODULES.items() for target in imports(path) if target != name})


def test_imports_point_down():
    known = FLOOR.keys() | {"", "__main__"}
    assert {room(name) for name in MODULES} == known, "a new room needs a floor"
    wrong = [
        f"{source} imports {target}"
        for source, target in edges()
        if room(source) != room(target)
        and (room(source), room(target)) not in ALLOWED
        and room(target)  # `import latebloom as lb`: see the next test
        and room(source)
        and not FLOOR[room(target)] < FLOOR.get(room(source), -1)
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_upper_floors_use_the_front_door():
    """`import latebloom as lb` inside the library would hide what a room needs."""
    users = {room(source) for source, target in edges() if target == "latebloom"}
    assert users <= {"catalog", "bench", "cli"}


def test_the_root_holds_the_errors_and_nothing_else():
    assert {path.stem for path in SOURCE.glob("*.py")} == {"__init__", "__main__", "errors"}


def test_no_paper_imports_another():
    def paper(module: str) -> str | None:
        parts = module.split(".")
        return parts[2] if parts[1:2] == ["catalog"] and len(parts) > 2 and parts[2] in PAPERS else None

    pairs = [(source, target) for source, target in edges() if paper(source) and paper(target)]
    assert not [pair for pair in pairs if paper(pair[0]) != paper(pair[1])]


@pytest.mark.parametrize("package", [name for name, path in MODULES.items() if path.stem == "__init__"])
def test_no_file_is_named_like_what_its_package_exports(package):
    """Else the name means the function or the file, depending on who asked first."""
    path = MODULES[package]
    files = {other.stem for other in path.parent.glob("*.py")} | {other.name for other in path.parent.glob("*/")}
    exported = {
        alias.asname or alias.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if f"{node.module}.{alias.name}" not in MODULES
    }
    assert not files & exported


@pytest.mark.parametrize("light", ["latebloom", "latebloom.catalog", "latebloom.store", "latebloom.cli"])
def test_what_lists_and_helps_loads_nothing_heavy(light):
    code = f"import sys, {light}; print(*({{'jax', 'scipy', 'matplotlib', 'pandas', 'torch'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_each_foundation_says_what_may_not_be_in_it():
    """`core` and `linalg` are names that invite anything: their first line says what stays out."""
    for name in ("core", "linalg"):
        first = MODULES[f"latebloom.{name}"].read_text().splitlines()[0]
        assert "nothing" in first.lower()
