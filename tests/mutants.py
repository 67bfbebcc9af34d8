"""Deliberate faults, one at a time: which of them do the tests see? `make mutants`, an hour on two cores.

The list is `mutants.json`: by file of `src/latebloom`, the tests that should see it and pairs of texts, each found once
in the file and replaced by the other. A mutant is seen if one of its tests fails. The exit code is 1 if less than 95 %
are seen, and what was not seen is listed. `python tests/mutants.py engine flows/slow` tries some files only.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("mutants.json")
GOAL, WORKERS, SECONDS = 0.95, 2, 600


@dataclass(frozen=True)
class Mutant:
    path: str
    before: str
    after: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.path}: {self.before.strip()!r} -> {self.after.strip()!r}"


def mutants(wanted: list[str]) -> list[Mutant]:
    """Those of the list whose file begins with one of the names wanted; all for none."""
    listed = json.loads(LIST.read_text(encoding="utf-8"))
    return [
        Mutant(path, before, after, tuple(told["tests"]))
        for path, told in listed.items()
        for before, after in told["faults"]
        if not wanted or path.startswith(tuple(wanted))
    ]


def copy(folder: Path) -> Path:
    """The source and the tests in a folder, where they can be changed."""
    for name in ("src", "tests", "docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "Makefile"):
        shutil.copy(ROOT / name, folder)
    return folder


def is_seen(mutant: Mutant, folder: Path) -> bool:
    """Whether the mutant's tests fail with the fault in place."""
    path = folder / "src" / "latebloom" / mutant.path
    whole = path.read_text(encoding="utf-8")
    if whole.count(mutant.before) != 1:
        raise SystemExit(f"{mutant}: found {whole.count(mutant.before)} times in the file, must be once")
    path.write_text(whole.replace(mutant.before, mutant.after), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", *mutant.tests]
    paths = os.pathsep.join(str(folder / name) for name in ("src", "tests"))
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False)
        if done.returncode not in (0, 1, 2):
            raise SystemExit(f"{mutant}: its tests did not run:\n{(done.stdout + done.stderr).decode()[-2000:]}")
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(whole, encoding="utf-8")


def main(wanted: list[str]) -> int:
    chosen, places, unseen = mutants(wanted), SimpleQueue(), []
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(WORKERS):
            places.put(copy(Path(scratch) / str(number)))

        def try_one(numbered: tuple[int, Mutant]) -> None:
            number, mutant = numbered
            place, started = places.get(), time.monotonic()
            try:
                seen = is_seen(mutant, place)
            finally:
                places.put(place)
            if not seen:
                unseen.append(mutant)
            word = "seen" if seen else "NOT SEEN"
            print(f"[{number}/{len(chosen)}] {word} {time.monotonic() - started:.0f} s  {mutant}", flush=True)

        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(try_one, enumerate(chosen, start=1)))
    share = 1 - len(unseen) / max(len(chosen), 1)
    print(f"\n{len(chosen) - len(unseen)} of {len(chosen)} faults seen: {share:.1%}")
    for mutant in unseen:
        print(f"  not seen: {mutant}")
    return 0 if share >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
