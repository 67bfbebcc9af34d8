"""The scheduler: batches of any kind on all cores, in calls of a fraction of a second, until done or interrupted.

It knows the verbs of a batch and no kind of job. JAX releases the interpreter lock while a program runs, so threads
are enough.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from latebloom.core.interrupts import listening
from latebloom.core.programs import release_programs
from latebloom.core.progress import ProgressBar
from latebloom.core.threads import one_core
from latebloom.engine.batch import AbstractBatch, Emit, Rows
from latebloom.engine.job import AbstractJob
from latebloom.engine.run import Run, not_begun
from latebloom.errors import InputError, check_count


def schedule(
    jobs: Sequence[AbstractJob],
    *,
    label: str = "running",
    emit: Emit | None = None,
    listener: Listener | None = None,
    workers: int | None = None,
    progress: bool | None = None,
    bar: ProgressBar | None = None,
) -> list[Run]:
    """A run for every job, in their order; `emit(number, rows)` sees the records of each as they are made.

    It moves a bar of its own, or the one that is given, in units of a job.

    A `listener` hears more: when a batch begins, what it has reached, and each run when it is over.

    Ctrl-C and SIGTERM end it: a job that was begun gives the run so far, one that was not a run without records. A
    second one raises KeyboardInterrupt.
    """
    for job in jobs:
        if not isinstance(job, AbstractJob):
            raise InputError(f"jobs must be TrainJob, FlowJob or SlowFlowJob, not {type(job).__name__}")
    workers = cores() if workers is None else check_count("workers", workers)
    release_programs()
    floor = Floor(batches_of(jobs, workers), listener or Listener(emit))
    threads = min(workers, len(floor.batches))
    if not threads:
        return []
    pool, shown = ThreadPoolExecutor(threads), bar or ProgressBar(label, len(jobs), enabled=progress)
    with one_core(), listening(floor.cancel), pool, shown:
        futures = [pool.submit(floor.work, threads) for _ in range(threads)]
        pending: set[Any] = set(futures)
        while pending:
            over, pending = wait(pending, timeout=0.02)
            shown.update(floor.done, "compiling" if floor.compiling else "")
            if any(future.exception() for future in over):  # e.g. a full disk: the others need not go on
                floor.cancel.set()
        for future in futures:
            future.result()
    return [floor.runs.get(number) or not_begun(job.configuration()) for number, job in enumerate(jobs)]


class Listener:
    """What a scheduler tells on the way; by itself it listens to records only.

    Threads call it, for different batches at a time.
    """

    def __init__(self, emit: Emit | None = None):
        self._emit = emit

    def emit(self, number: int, rows: Rows) -> None:
        """New records of a job."""
        if self._emit is not None:
            self._emit(number, rows)

    def begun(self, batch: AbstractBatch) -> None:
        """A batch is compiled and stands at its start: from here its jobs can be put elsewhere."""

    def advanced(self, batch: AbstractBatch) -> None:
        """A batch has made a call, and is not over."""

    def cancelled(self, batch: AbstractBatch) -> None:
        """A batch is about to be closed before its end."""

    def finished(self, number: int, run: Run) -> Run:
        """A job is over or closed; what is returned is its run."""
        return run


@dataclass
class Floor:
    """Batches that threads take, advance by one call, and put back."""

    batches: list[AbstractBatch]
    listener: Listener
    cancel: threading.Event = field(default_factory=threading.Event)
    runs: dict[int, Run] = field(default_factory=dict)
    compiling: set[int] = field(default_factory=set)  # the threads that are

    def __post_init__(self):
        self.waiting = deque(self.batches)
        # The first batch of a structure compiles, the others wait for it.
        self.locks = {batch.structure: threading.Lock() for batch in self.batches}

    @property
    def done(self) -> float:
        """How much of the jobs is done, a finished job counting as one."""
        return sum(len(batch.numbers) * min(batch.done / max(batch.total, 1), 1.0) for batch in self.batches)

    def work(self, threads: int) -> None:
        """Advances one batch after the other to its end; the last few take turns, so that no core is idle then."""
        while self.waiting:
            try:
                batch = self.waiting.popleft()
            except IndexError:  # another thread was quicker
                return
            self._begin(batch)
            over = False
            if not self.cancel.is_set():
                with batch.working():
                    over = batch.advance(batch.call_seconds, self.listener.emit)
                self._hand_over(batch.ready())
                if not over:
                    self.listener.advanced(batch)
            if not (over or self.cancel.is_set()):
                (self.waiting.append if len(self.waiting) < threads else self.waiting.appendleft)(batch)
            elif batch.begun:
                if not over:
                    self.listener.cancelled(batch)
                with batch.working():
                    runs = batch.finish(self.listener.emit, cancelled=not over)
                self._hand_over(dict(zip(batch.numbers, runs, strict=True)))

    def _begin(self, batch: AbstractBatch) -> None:
        with self.locks[batch.structure]:
            if batch.begun or self.cancel.is_set():
                return
            self.compiling.add(threading.get_ident())
            try:
                with batch.working():
                    batch.compile()
            finally:
                self.compiling.discard(threading.get_ident())
            batch.begun = True
        self.listener.begun(batch)

    def _hand_over(self, runs: dict[int, Run]) -> None:
        """Tells of each run once."""
        for number in runs.keys() - self.runs.keys():
            self.runs[number] = self.listener.finished(number, runs[number])


def batches_of(jobs: Sequence[AbstractJob], workers: int) -> list[AbstractBatch]:
    """The jobs, kind by kind, in batches."""
    kinds: dict[type[AbstractJob], dict[int, AbstractJob]] = {}
    for number, job in enumerate(jobs):
        kinds.setdefault(type(job), {})[number] = job
    return [batch for kind, group in kinds.items() for batch in kind.batches(group, workers)]


def cores() -> int:
    """How many threads advance batches, unless someone says otherwise."""
    return os.cpu_count() or 1
