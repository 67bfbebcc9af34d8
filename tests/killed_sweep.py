"""A sweep whose processes are killed: `KILLS=5 python tests/killed_sweep.py FOLDER [FILE]`.

`FOLDER/alone` is the store of a sweep left alone, `FOLDER/killed` that of one whose processes were sent SIGKILL, each
at a random moment. It says whether every run has the same columns, to the bit.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import latebloom as lb
from latebloom.sweeps.survey import survey

KILLS = int(os.environ.get("KILLS", "5"))
SMALL = """
name = "small"
kind = "train"
problem = "sparse_recovery[dimension=40,sparsity=2,measurements=20]"
method = "gradient_descent"
penalty = "l1"
steps = "2 / (learning_rate * strength)"
stop_at = "generalised"
memorised_at = 0.01
generalised_at = 0.01
[axes]
"method.learning_rate" = { from = 0.02, to = 0.1, count = 3, scale = "log" }
"penalty.strength" = { from = 2e-4, to = 1e-3, count = 3, scale = "log" }
"problem.seed" = { from = 0, to = 1 }
"""


def start(file: Path, store: Path) -> subprocess.Popen[bytes]:
    """A process that runs the sweep."""
    command = [sys.executable, "-m", "latebloom", "sweep", str(file), "--store", str(store), "--json"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def compare(file: Path, first: Path, second: Path) -> list[str]:
    """The names of the cells whose runs differ."""
    different = []
    for cell in survey(lb.Sweep.from_file(file)).sweep.cells():
        one, other = (lb.load(str(cell.key), store) for store in (first, second))
        if not same(one, other):
            different.append(cell.name)
    return different


def same(one: Any, other: Any) -> bool:
    """Whether two runs have the same bits."""
    columns = one.columns.keys() == other.columns.keys() and all(
        one[name].tobytes() == other[name].tobytes() for name in one.columns
    )
    return columns and one.milestones == other.milestones and one.outcome == other.outcome


def main(folder: Path, file: Path | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if file is None:
        file = folder / "small.toml"
        file.write_text(SMALL)
    started = time.perf_counter()
    assert start(file, folder / "alone").wait() == 0
    whole = time.perf_counter() - started
    dice = random.Random(int(os.environ.get("SEED", "0")))
    for kill in range(KILLS):
        process = start(file, folder / "killed")
        time.sleep(dice.uniform(0.2, 0.9) * whole * (1 if kill == 0 else 0.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = len(list((folder / "killed" / "runs").glob("*"))) if (folder / "killed" / "runs").exists() else 0
        print(f"kill {kill + 1}: {done} runs in the store", flush=True)
    assert start(file, folder / "killed").wait() == 0
    different = compare(file, folder / "alone", folder / "killed")
    print(f"left alone: {whole:.1f} s; runs that differ after {KILLS} kills: {len(different)}", *different[:5])
    raise SystemExit(bool(different))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
