"""A store of 10^5 runs: what a question about them takes, what it holds in memory, and what one run more costs.

The runs are copies of a real one under other seeds and strengths, whole folders with checksums, written without waiting
for the disk; everything that is timed goes through the store as it is.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latebloom.bench.base import BenchResult

if TYPE_CHECKING:
    from latebloom.engine.job import AbstractJob
    from latebloom.engine.run import Run
    from latebloom.store import Store

NAME = "store"
RUNS, FEW = 100_000, 1_000
WHERE = "strength < 2e-5 and problem = 'sparse_recovery' and seed = 7 and t2 is null"
SECONDS, RATIO, MEGABYTES, RATE = 1.0, 1.5, 500, 300
TINY = 1_000  # runs that are published together
# What a process of its own needs for the question, beside what it needs to ask at all.
ASK = """
import resource, sys, duckdb, pandas, pyarrow.compute
from latebloom.store import Store
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = len(Store(sys.argv[1]).frame(sys.argv[2]))
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, before / 1e3)
"""


def measure(*, runs: int = RUNS, few: int = FEW, repeats: int = 5, tiny: int = TINY) -> list[BenchResult]:
    """Listing, memory, adding and publishing, in a store of many runs and one of few."""
    from latebloom.store import Store

    made = example()
    with tempfile.TemporaryDirectory() as folder:
        stores = [Store(Path(folder) / name) for name in ("few", "many", "fresh")]
        for store, count in zip(stores, (few, runs, 0), strict=True):
            fill(store, made, count)
        first = _seconds(lambda: stores[1].frame(WHERE))
        stores[0].frame(WHERE)
        listing = statistics.median(_seconds(lambda: stores[1].frame(WHERE)) for _ in range(repeats))
        told = f"{len(stores[1].frame(WHERE))} of {runs:,} runs chosen"
        slow = f"{told}; the first time, from the folders, {first / max(runs, 1) * 1e3:.2g} ms per run"
        return [
            BenchResult.within(NAME, "a filtered listing", ours=listing, limit=SECONDS, note=slow),
            _command(stores[1], told),
            _memory(stores[1]),
            _adding(stores[1], stores[0], made, repeats),
            _publishing(stores[2], made, tiny),
        ]


def example() -> Run:
    """A run of some milliseconds, of which all others are copies."""
    import latebloom as lb

    problem = lb.problems.SparseRecovery(dimension=5, sparsity=1, measurements=3)
    job = lb.TrainJob(problem, lb.GradientDescent(0.1), lb.L1(1e-3), steps=20, records_per_decade=5)
    return lb.run(job, progress=False)


def configurations(made: Run, count: int, *, first: int = 0) -> Iterator[dict[str, Any]]:
    """That of a run under other seeds and strengths, a hundred seeds of each strength."""
    text = json.dumps(made.configuration)
    for number in range(first, first + count):
        seed, strength = number % 100, 1e-6 * (1 + number // 100)
        yield json.loads(
            re.sub(r"strength=[^\]]*", f"strength={strength:g}", re.sub(r"seed=\d+", f"seed={seed}", text))
        )


def fill(store: Store, made: Run, count: int) -> None:
    """Whole runs in their places, as somebody who copies a store would put them there."""
    from latebloom.store.group import draft
    from latebloom.store.layout import Layout

    layout, pattern = Layout(store.path), draft(made.configuration, *made.to_stored())
    layout.finished.mkdir(parents=True)
    for configuration in configurations(made, count):
        one = pattern.of(configuration)
        folder = one.place(layout)
        folder.mkdir()
        for name, data in one.files.items():
            (folder / name).write_bytes(data)


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _command(store: Store, told: str) -> BenchResult:
    words = [sys.executable, "-m", "latebloom", "runs", "list", "--where", WHERE, "--store", str(store.path)]
    seconds = _seconds(lambda: subprocess.run(words, capture_output=True, check=True))
    return BenchResult(NAME, "the same as a command", seconds, None, None, "none", None, told)


def _memory(store: Store) -> BenchResult:
    words = [sys.executable, "-c", ASK, str(store.path), WHERE]
    answer = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    most, before = float(answer[1]), float(answer[2])
    note = f"{most:.0f} MB at most, {before:.0f} MB of it before the question"
    return BenchResult(NAME, "memory of the listing", None, None, None, f"under {MEGABYTES} MB", most < MEGABYTES, note)


def _adding(many: Store, few: Store, made: Run, repeats: int) -> BenchResult:
    """One new run at a time, by turns into both, all of what a job does with the store."""
    from latebloom.engine.job import AbstractJob

    times: dict[str, list[float]] = {"many": [], "few": []}
    for configuration in configurations(made, 4 * repeats + 1, first=10**7):
        job = AbstractJob.read(configuration)
        for name, store in (("many", many), ("few", few)):
            started = time.perf_counter()
            keep(store, made, [configuration], [job])
            times[name].append(time.perf_counter() - started)
    ours, theirs = (statistics.median(taken[1:]) for taken in times.values())
    note = "ours: into many runs; theirs: into few"
    return BenchResult.at_most(NAME, "adding a run", ours=ours, theirs=theirs, most=RATIO, note=note)


def _publishing(store: Store, made: Run, tiny: int) -> BenchResult:
    told = list(configurations(made, tiny))
    seconds = _seconds(lambda: keep(store, made, told)) / tiny
    note = f"{1 / seconds:.0f} runs/s on one core, of {tiny} that were over at once"
    return BenchResult.within(NAME, "publishing a tiny run", ours=seconds, limit=1 / RATE, note=note)


def keep(store: Store, made: Run, told: list[dict[str, Any]], jobs: Sequence[AbstractJob] = ()) -> None:
    """What the engine does with the store for runs of these configurations, the jobs, that are over at once."""
    from latebloom.engine.keeping import Keeper

    keeper = Keeper(jobs, store)
    for number, configuration in enumerate(told):
        keeper.finished(number, replace(made, configuration=configuration))
    keeper.close()
