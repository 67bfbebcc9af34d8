"""How long the command line takes to answer when it has nothing to compute."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from latebloom.bench.base import BenchResult

NAME = "start-up"
LIMITS = {"--help": 0.5, "list": 1.0}


def measure(*, repeats: int = 5) -> list[BenchResult]:
    """Seconds from starting the process to its end, the median of some repeats."""
    return [_time(word, limit, repeats) for word, limit in LIMITS.items()]


def command() -> list[str]:
    """What starts the command line of this very environment."""
    for name in ("latebloom", "latebloom.exe"):
        script = Path(sys.executable).with_name(name)
        if script.exists():
            return [str(script)]
    return [sys.executable, "-c", "from latebloom.cli import main; main()"]


def _time(word: str, limit: float, repeats: int) -> BenchResult:
    times = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        done = subprocess.run([*command(), word], capture_output=True, text=True, check=False)
        times.append(time.perf_counter() - started)
        if done.returncode:
            note = f"exit code {done.returncode}: {done.stderr.strip()[-200:]}"
            return BenchResult(NAME, f"latebloom {word}", None, None, None, f"under {limit:g} s", False, note)
    # The first start may have to compile Python files, and is not counted.
    note = f"median of {repeats} processes after one that is not counted"
    return BenchResult.within(NAME, f"latebloom {word}", ours=statistics.median(times[1:]), limit=limit, note=note)
