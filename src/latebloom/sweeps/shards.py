"""A shard: some cells of a sweep, computed by one worker, which needs nothing but the document and the store.

It may be run any number of times, by any number of workers at once: what is in the store is not computed again, and
what another process computes is left to it.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from latebloom.core.interrupts import listening
from latebloom.engine.job import AbstractJob
from latebloom.engine.storage import run_stored
from latebloom.engine.summary import summary_of
from latebloom.errors import LatebloomError
from latebloom.store import NewerError, Store, StoreError
from latebloom.store.claims import Claims
from latebloom.sweeps.definition import Cell, Sweep, read_text


@dataclass(frozen=True)
class Shard:
    """Cells by their numbers, in the sweep of a document; `wait` for those that other processes compute."""

    number: int
    document: dict[str, Any]
    cells: tuple[int, ...]
    store: str
    wait: bool = False
    fresh: bool = False


@dataclass(frozen=True)
class Done:
    """What became of a shard: the ids of its cells' runs, None where there is none.

    `failed` says of cells why they have no run. What has neither an id nor a reason is computed by another process, or
    was `interrupted`.
    """

    number: int
    ids: tuple[str | None, ...]
    computed: int
    seconds: float
    failed: dict[int, str] = field(default_factory=dict)
    interrupted: bool = False


def run_shard(shard: Shard, *, workers: int = 1) -> Done:
    """Computes what is missing of a shard, on so many threads."""
    sweep = read_text(json.dumps(shard.document, sort_keys=True))
    return run_cells(sweep, shard, workers=workers)


def run_cells(sweep: Sweep, shard: Shard, **options: Any) -> Done:
    """The same for a sweep that is at hand, with what the scheduler takes (`workers`, `bar`)."""
    started = time.perf_counter()
    work = _Work(Store(shard.store), list(sweep.cells(shard.cells)), shard.fresh, options)
    with work.store.claims() as claims:
        work.share_out(claims, wait=shard.wait)
    ids = tuple(work.ids.get(cell.number) for cell in work.cells)
    return Done(shard.number, ids, work.computed, time.perf_counter() - started, work.failed, work.interrupted)


def look(store: Store, key: str) -> bool | str:
    """Whether a run is there, whole; a sentence, where it is and this version cannot read it."""
    try:
        return store.has(key, summary_of)
    except NewerError as error:
        return str(error)


class _Work:
    """The cells of a shard on their way to ids."""

    def __init__(self, store: Store, cells: Sequence[Cell], fresh: bool, options: dict[str, Any]):
        self.store, self.cells, self.options = store, cells, options
        self.renewed: set[str] | None = set() if fresh else None
        self.ids: dict[int, str] = {}
        self.failed: dict[int, str] = {}
        self.computed = 0
        self.interrupted = False
        self.open: dict[str, AbstractJob] = {}
        self.numbers: dict[str, list[int]] = {}
        for cell in cells:
            if cell.key is None:
                self.failed[cell.number] = cell.why
            else:
                self.open[cell.key] = cell.identified
                self.numbers.setdefault(cell.key, []).append(cell.number)

    def share_out(self, claims: Claims, *, wait: bool) -> None:
        """Computes what nobody else does, and waits for the rest if that is asked for."""
        pauses = itertools.chain((0.05, 0.1, 0.2, 0.5), itertools.repeat(1.0))
        while True:
            if self.renewed is None:
                self._look()
            mine = {key: job for key, job in self.open.items() if claims.take(key)}
            if self.renewed is None:
                self._look(mine)  # another process may have given a claim up just before it was made here
            mine = {key: job for key, job in mine.items() if key in self.open}
            if mine:
                self._compute(mine)
            claims.release(mine)
            if not self.open or self.interrupted or not wait:
                return
            self.interrupted = _interrupted_within(next(pauses))

    def _look(self, keys: Sequence[str] | dict[str, Any] | None = None) -> None:
        """What is in the store needs nothing more."""
        for key in list(self.open if keys is None else keys):
            found = look(self.store, key)
            if found is True:
                self._found(key)
            elif found:
                self._failed(key, found)

    def _found(self, key: str) -> None:
        del self.open[key]
        self.ids |= dict.fromkeys(self.numbers[key], key)

    def _failed(self, key: str, why: str) -> None:
        del self.open[key]
        self.failed |= dict.fromkeys(self.numbers[key], why)

    def _compute(self, jobs: dict[str, AbstractJob]) -> None:
        try:
            self._run(jobs)
        except (StoreError, KeyboardInterrupt):
            raise
        except Exception:  # of one of them: the others are run without it
            for key, job in jobs.items():
                if not self.interrupted:
                    self._run_alone(key, job)

    def _run_alone(self, key: str, job: AbstractJob) -> None:
        try:
            self._run({key: job})
        except StoreError:
            raise
        except Exception as error:
            text = str(error) if isinstance(error, LatebloomError) else f"{type(error).__name__}: {error}"
            self._failed(key, text.strip().partition("\n")[0])

    def _run(self, jobs: dict[str, AbstractJob]) -> None:
        runs, computed = run_stored(list(jobs.values()), self.store, renewed=self.renewed, **self.options)
        self.computed += computed
        for key, run in zip(jobs, runs, strict=True):
            if run.outcome.complete:
                self._found(key)
            else:
                self.interrupted = True


Work = Callable[[Shard], Done]


def _interrupted_within(seconds: float) -> bool:
    cancel = threading.Event()
    with listening(cancel):
        return cancel.wait(seconds)
