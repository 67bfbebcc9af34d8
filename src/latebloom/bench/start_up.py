"""How long one waits for an answer: the command line with nothing to compute, and first figures and flows.

A first process compiles its programs and keeps them; a second one finds them. Both are measured from the start of the
process to its end, each pair in a cache, a store and a folder of its own.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from latebloom.bench.base import BenchResult

NAME = "start-up"
LIMITS = {"--help": 0.5, "list": 1.0}
# A first flow and a first slow flow, as someone would type them.
FLOW = """
problem = lb.problems.MatrixCompletion(shape=(20, 20), rank=3, observed=200, width=10, init_scale=1.0, weight=2.0)
run = lb.flow(problem, weight_decay=1e-3, time=1e5)
"""
SLOW_FLOW = """
problem = lb.problems.MatrixCompletion(shape=(10, 10), rank=2, observed=70, width=5, init_scale=1.0, weight=2.0)
run = lb.slow_flow(problem, slow_time=100.0, probes=[lb.probes.KKTResidual()])
lb.flows.limit_map(problem).params
"""
FIGURE = ("reproduce", "beyond-l2/fig3", "--out", "out")
STORED, DRAWN, ANEW = (f"beyond-l2/fig3, {how}" for how in ("from the store", "from the store, drawn", "computed anew"))
# Of a second process. It leaves pictures that show the same as they are; where it draws them that is said.
SECONDS = {STORED: 2.0, DRAWN: 5.0, ANEW: 5.0, "a first flow": 2.0, "a first slow flow": 3.0}
GONE = {DRAWN: "out", ANEW: "store"}  # what is taken away before every process


def measure(*, repeats: int = 5) -> list[BenchResult]:
    """Seconds from starting the process to its end: the median of some repeats, or of a first and a second process."""
    answers = [_time(word, limit, repeats) for word, limit in LIMITS.items()]
    return answers + [_second(what, words, repeats) for what, words in waits().items()]


def waits() -> dict[str, list[str]]:
    """What a process is started with, by what it is waited for."""
    flow, slow = ([sys.executable, "-c", f"import latebloom as lb{code}"] for code in (FLOW, SLOW_FLOW))
    figure = [*command(), *FIGURE]
    return dict(zip(SECONDS, (figure, figure, figure, flow, slow), strict=True))


def _second(what: str, words: Sequence[str], repeats: int) -> BenchResult:
    """The ratio of a second process to the first, which compiles."""
    limit, times = SECONDS[what], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats + 1):
            if what in GONE:
                shutil.rmtree(Path(folder) / GONE[what], ignore_errors=True)
            seconds, error = _run(words, Path(folder))
            if error:
                return BenchResult(NAME, what, None, None, None, f"under {limit:g} s", False, error)
            times.append(seconds)
    first, second = times[0], statistics.median(times[1:])
    note = f"ours: median of {repeats} processes after the first; theirs: the first, which compiles"
    return BenchResult(NAME, what, second, first, second / first, f"under {limit:g} s", second < limit, note)


def _run(words: Sequence[str], folder: Path) -> tuple[float, str]:
    """The seconds of a process with store, cache and bytecode of its own folder, and what it said if it failed."""
    own = {"LATEBLOOM_STORE": str(folder / "store"), "LATEBLOOM_CACHE": str(folder / "programs")}
    # A first process may have to compile Python files, a second one not: where that is forbidden, one waits seconds.
    taken_out = ("PYTHONDONTWRITEBYTECODE", "JAX_COMPILATION_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in taken_out} | own
    started = time.perf_counter()
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    return seconds, f"exit code {done.returncode}: {done.stderr.strip()[-200:]}" if done.returncode else ""


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
