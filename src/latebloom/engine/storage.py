"""Running jobs, with a store or without, and runs to and from the store."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, TypeVar, overload

from latebloom.engine import run as run_module
from latebloom.engine.job import AbstractJob
from latebloom.engine.keeping import Keeper
from latebloom.engine.outcome import Ending
from latebloom.engine.run import Run
from latebloom.engine.salvage import salvaged
from latebloom.engine.scheduler import schedule
from latebloom.errors import InputError, LatebloomError, says_what_it_takes
from latebloom.store import Store, StoredRun

Place = Store | str | PathLike[str] | bool | None
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
    `store` (or its folder; True is your own), what is there is not computed again, what is computed is kept, and what
    was interrupted or killed goes on where it was. `workers` is the number of threads, one a core by default. After
    Ctrl-C or SIGTERM, a run that was begun has the records so far, and one that was not has none (`outcome.ending` is
    `Ending.NOT_BEGUN`); a line on standard error says what was kept, and a second one raises.

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
    kept = store is not None and store is not False
    if kept:
        runs, _ = run_stored(jobs, opened(store), workers=workers, progress=progress)
    else:
        runs = schedule(jobs, workers=workers, progress=progress)
    if text := interruption(jobs, runs, kept=kept):
        print(f"latebloom: {text}", file=sys.stderr)
    return runs


def interruption(jobs: Sequence[AbstractJob], runs: Sequence[Run], *, kept: bool) -> str:
    """What Ctrl-C left, in a line for the user; empty if it left nothing undone."""
    if all(one.outcome.complete for one in runs):
        return ""
    how = "kept, the same call goes on from there" if kept else "the run so far is returned"
    begun = [one.outcome.ending is not Ending.NOT_BEGUN for one in runs]
    if len(runs) == 1:
        return f"{_where(jobs[0], runs[0])}; {how}" if begun[0] else "interrupted before the first step"
    done = sum(one.outcome.complete for one in runs)
    left = f"{sum(begun) - done} under way, {len(runs) - sum(begun)} not begun"
    how = how.replace("the run so far is", "the runs so far are")
    return f"interrupted with {done} of {len(runs)} runs finished, {left}; {how}"


def _where(job: AbstractJob, one: Run) -> str:
    """How far a run came, and how far it was to go."""
    budget, clock = job.budget(), job.clock.replace("_", " ")
    whole = budget["steps"] if "steps" in budget else budget[job.clock]
    return f"interrupted at {clock} {one.outcome.step:,.10g} of {whole:,.10g}"


def run_stored(
    jobs: Sequence[AbstractJob],
    store: Store,
    *,
    label: str = "running",
    renewed: set[str] | None = None,
    **options: Any,
) -> tuple[list[Run], int]:
    """A run for every job, from the store where it is there; and how many were computed.

    What was interrupted or killed goes on from where it was. With a set `renewed`, what is there counts for nothing and
    is replaced, except the keys in the set, to which those that are made are added.
    """
    found: dict[str, Run] = {}
    missing: dict[str, AbstractJob] = {}
    jobs = [job if job.portable else job.identified for job in jobs]
    for job in jobs:
        if job.key in found or job.key in missing:
            continue
        _require_portable(job)
        is_served = renewed is None or job.key in renewed
        stored = store.read(job.configuration(), revive) if is_served else None
        if stored is None:
            missing[job.key] = job
        else:
            found[job.key] = stored
    made = _compute(list(missing.values()), store, label=label, fresh=renewed is not None, **options)
    found |= dict(zip(missing, made, strict=True))
    if renewed is not None:
        renewed.update(missing)
    return [found[job.key] for job in jobs], len(missing)


def _compute(jobs: Sequence[AbstractJob], store: Store, *, fresh: bool, **options: Any) -> list[Run]:
    """Runs jobs and keeps every one of them, in the store from its first record on."""
    if not jobs:
        return []
    keeper = Keeper(jobs, store, fresh=fresh)
    try:
        return schedule(jobs, listener=keeper, **options)
    finally:
        keeper.close()


def resume(run: str, store: Place = None) -> tuple[AbstractJob, Run]:
    """Goes on with the interrupted or killed run that has this id, to its end; the job that it is of, and the run."""
    place = opened(store)
    stored = place.get(run)
    if stored.state == "live":
        raise InputError(f"run {stored.id} is still being written: wait for it, or stop its process first")
    if "kind" not in stored.configuration:
        raise InputError(f"{stored.id} is no run but a table of derived numbers: reproduce its entry instead")
    if stored.state == "finished":
        raise InputError(f"run {stored.id} is finished: for more steps, give `latebloom run` a larger --steps")
    job = AbstractJob.read(stored.configuration)
    (made,), _ = run_stored([job], place)
    require_complete([made])
    return job, made


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
            f"{partial} kept as partial; the same command goes on from there"
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
    """The stored run with this id, or with an id that begins so, as it was when it was made.

    An interrupted or killed one has the records so far, and its outcome says so.
    """
    return revive(opened(store).get(run))


def opened(store: Place) -> Store:
    """A store as it is, the store in a folder, or (None, True) where the user keeps results."""
    return store if isinstance(store, Store) else Store(None if isinstance(store, bool) else store)


def revive(stored: StoredRun) -> Run:
    """A stored run as a `Run`."""
    if "outcome" not in stored.summary and "kind" in stored.configuration and stored.state in ("partial", "abandoned"):
        return salvaged(stored)
    is_run = stored.state == "finished" and "kind" in stored.configuration  # then its outcome is not there by damage
    if "outcome" not in stored.summary and not is_run:
        raise InputError(f"{stored.id} is not a finished run ({stored.state}): see `latebloom runs show {stored.id}`")
    with stored.understood():
        return run_module.from_stored(stored.configuration, stored.columns, stored.summary, stored.arrays)
