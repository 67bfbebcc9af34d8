"""Running jobs, with a store or without, and runs to and from the store."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, TypeVar, overload

from latebloom.engine import run as run_module
from latebloom.engine.batch import Rows
from latebloom.engine.job import AbstractJob
from latebloom.engine.outcome import Ending
from latebloom.engine.run import Run
from latebloom.engine.scheduler import schedule
from latebloom.errors import InputError, LatebloomError, says_what_it_takes
from latebloom.store import LiveRun, Store, StoredRun

Place = Store | str | PathLike[str] | None
K = TypeVar("K")


@overload
def run(jobs: AbstractJob, *, store: Place = ..., workers: int | None = ..., progress: bool | None = ...) -> Run: ...
@overload
def run(
    jobs: Mapping[K, AbstractJob], *, store: Place = ..., workers: int | None = ..., progress: bool | None = ...
) -> dict[K, Run]: ...
@overload
def run(
    jobs: Sequence[AbstractJob], *, store: Place = ..., workers: int | None = ..., progress: bool | None = ...
) -> list[Run]: ...
@says_what_it_takes
def run(jobs: Any, *, store: Place = None, workers: int | None = None, progress: bool | None = None) -> Any:
    """Runs jobs of any kinds on all cores: a job gives a run, a list a list, a mapping a mapping.

    Jobs of one structure share compiled programs, and every run has bit for bit the numbers that it has alone. With a
    `store` (or its folder), what is there is not computed again, and what is computed is kept. `workers` is the number
    of threads, one a core by default. After Ctrl-C, a run that was begun has the records so far, and one that was not
    has none (`outcome.ending` is `Ending.NOT_BEGUN`).

    >>> import latebloom as lb
    >>> problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12, seed=1)
    >>> job = lb.TrainJob(problem, lb.GradientDescent(0.1), lb.L1(1e-3), steps=2000)
    >>> runs = lb.run({"l1": job, "flow": lb.FlowJob(problem, lb.L2(1e-3), time=200.0)})
    >>> {name: run.outcome.sentence for name, run in runs.items()}
    {'l1': 'finished after 2,000 steps', 'flow': 'finished at time 200'}
    """
    if isinstance(jobs, AbstractJob):
        return run([jobs], store=store, workers=workers, progress=progress)[0]
    if isinstance(jobs, Mapping):
        made = run(list(jobs.values()), store=store, workers=workers, progress=progress)
        return dict(zip(jobs, made, strict=True))
    jobs = list(jobs)
    if store is None:
        runs = schedule(jobs, workers=workers, progress=progress)
    else:
        runs, _ = run_stored(jobs, opened(store), workers=workers, progress=progress)
    left = sum(one.outcome.ending is Ending.NOT_BEGUN for one in runs)
    if left and len(runs) > 1:
        print(f"latebloom: interrupted, {left} of {len(runs)} runs were not begun", file=sys.stderr)
    return runs


def run_stored(
    jobs: Sequence[AbstractJob], store: Store, *, label: str = "running", **options: Any
) -> tuple[list[Run], int]:
    """A run for every job, from the store where it is there; and how many were computed."""
    found: dict[str, Run] = {}
    missing: dict[str, AbstractJob] = {}
    for job in jobs:
        if job.key in found or job.key in missing:
            continue
        _require_portable(job)
        stored = store.find(job.configuration())
        if stored is None:
            missing[job.key] = job
        else:
            found[job.key] = revive(stored)
    found |= dict(zip(missing, _compute(list(missing.values()), store, label=label, **options), strict=True))
    return [found[job.key] for job in jobs], len(missing)


def _compute(jobs: Sequence[AbstractJob], store: Store, **options: Any) -> list[Run]:
    """Runs jobs and keeps every one of them, streaming the records to the store while they are made."""
    live: dict[int, LiveRun] = {}

    def stream(number: int) -> LiveRun:
        if number not in live:
            live[number] = store.begin(jobs[number].configuration())
        return live[number]

    def emit(number: int, rows: Rows) -> None:
        stream(number).append(rows)

    try:
        runs = schedule(jobs, emit=emit, **options)
        for number, made in enumerate(runs):
            if made.outcome.ending is not Ending.NOT_BEGUN:
                stream(number).finish(*made.to_stored())
    finally:
        for begun in live.values():
            begun.close()
    return runs


class InterruptedWork(LatebloomError):
    """Ctrl-C: what was finished is in the store, what was begun is kept as partial runs."""

    interrupted = True


def require_complete(runs: Sequence[Run]) -> None:
    """Raises if some of the runs that a store keeps were interrupted."""
    finished = sum(one.outcome.complete for one in runs)
    if finished < len(runs):
        partial = sum(one.outcome.ending is Ending.INTERRUPTED for one in runs)
        raise InterruptedWork(
            f"interrupted: {finished} of {len(runs)} runs finished and are in the store, "
            f"{partial} kept as partial; the same command runs what is not finished"
        )


def _require_portable(job: AbstractJob) -> None:
    if not job.portable:
        raise InputError(
            f"{job.problem!r} is made of functions without a name, so that no later process could find its run in the "
            "store: give it name='...', or leave store out"
        )


def save(run: Run, store: Place = None) -> str:
    """Keeps a run in a store or its folder (yours by default) and returns its id."""
    with opened(store).begin(run.configuration) as live:
        return live.finish(*run.to_stored()).id


def load(run: str, store: Place = None) -> Run:
    """The stored run with this id, or with an id that begins so, as it was when it was made."""
    return revive(opened(store).get(run))


def opened(store: Place) -> Store:
    """A store as it is, the store in a folder, or where the user keeps results."""
    return store if isinstance(store, Store) else Store(store)


def revive(stored: StoredRun) -> Run:
    """A stored run as a `Run`."""
    if "outcome" not in stored.summary:
        raise InputError(f"{stored.id} is not a finished run ({stored.state}): see `latebloom runs show {stored.id}`")
    return run_module.from_stored(stored.configuration, stored.columns, stored.summary, stored.arrays)
