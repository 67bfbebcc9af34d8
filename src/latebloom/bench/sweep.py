"""A sweep with its store: against single runs on one core, against `lb.run` without a store, and on tiny cells."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import latebloom as lb
from latebloom.bench.base import BenchResult
from latebloom.bench.batch import same_run
from latebloom.engine.scheduler import cores

NAME = "sweep"
RATES, STRENGTHS = (0.015, 0.15), (2e-6, 2e-5)  # those of examples/rates.toml


def law(side: int = 6, seeds: int = 5, shorter: float = 1.0) -> lb.Sweep:
    """The sweep of examples/rates.toml; strengths `shorter` times as large, and runs as much shorter."""
    job = lb.TrainJob(
        lb.problems.SparseRecovery(measurements=30),
        lb.GradientDescent(0.1),
        lb.L1(1e-5),
        steps=1,
        stop_at="generalised",
    )
    between = {"count": side, "scale": "log"}
    axes = {
        "method.learning_rate": {"from": RATES[0], "to": RATES[1], **between},
        "penalty.strength": {"from": STRENGTHS[0] * shorter, "to": STRENGTHS[1] * shorter, **between},
        "problem.seed": {"from": 0, "to": seeds - 1},
    }
    return lb.Sweep(job, axes, name="rates", formulas={"steps": "0.25 / (learning_rate * strength)"})


def tiny(cells: int) -> lb.Sweep:
    """Cells of 20 unknowns and a hundred steps."""
    problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12)
    job = lb.TrainJob(problem, lb.GradientDescent(0.1), lb.L1(1e-3), steps=100)
    strengths = {"from": 1e-5, "to": 1e-3, "count": cells // 10, "scale": "log"}
    return lb.Sweep(job, {"penalty.strength": strengths, "problem.seed": range(10)}, name="tiny")


def measure(*, side: int = 6, seeds: int = 5, shorter: float = 1.0, cells: int = 10_000) -> list[BenchResult]:
    """All three, each measured once: they take minutes, and a slow spell of the machine meets all of them."""
    sweep = law(side, seeds, shorter)
    jobs = [cell.identified for cell in sweep.cells()]
    _swept(law(side, seeds, 1e4 * shorter))  # compiles
    lb.run([job.but({"steps": 10}) for job in jobs], progress=False)
    lb.run(jobs[0].but({"steps": 10}), workers=1)
    singles, alone = _timed(lambda: [lb.run(job, workers=1, progress=False) for job in jobs])
    bare, _ = _timed(lambda: lb.run(jobs, progress=False))
    swept, found = _swept(sweep)
    equal = all(same_run(one, other) for one, other in zip(alone, found, strict=True))
    told = f"{len(jobs)} runs, {cores()} cores; every run is {'the same' if equal else 'NOT the same'} to the bit"
    small, _ = _swept(tiny(cells), read=False)
    return [
        BenchResult.at_least(
            NAME,
            f"{side}x{side} cells x {seeds} seeds, stored, against single runs on one core",
            ours=swept,
            theirs=singles,
            least=1.8,
            agree=equal,
            note=told,
        ),
        BenchResult.at_most(
            NAME, "the same against lb.run of all jobs without a store", ours=swept, theirs=bare, most=1.1, note=told
        ),
        BenchResult.within(
            NAME,
            f"{cells:,} tiny cells, stored",
            ours=small,
            limit=cells / 300,
            note=f"{cells / small:.0f} cells a second, 300 asked for",
        ),
    ]


def _swept(sweep: lb.Sweep, *, read: bool = True) -> tuple[float, list[lb.Run]]:
    """Seconds of a sweep into a store of its own, and its runs, which are read afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        seconds, result = _timed(lambda: lb.sweep(sweep, store=Path(folder), progress=False))
        return seconds, list(result.runs.values()) if read else []


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    answer = work()
    return time.perf_counter() - started, answer
