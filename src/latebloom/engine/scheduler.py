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
from latebloom.core.progress import ProgressBar
from latebloom.core.threads import one_core
from latebloom.engine.batch import AbstractBatch, Emit
from latebloom.engine.job import AbstractJob
from latebloom.engine.run import Run, not_begun
from latebloom.errors import InputError, check_count


def schedule(
    jobs: Sequence[AbstractJob],
    *,
    label: str = "running",
    emit: Emit | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> list[Run]:
    """A run for every job, in their order; `emit(number, rows)` sees the records of each as they are made.

    Ctrl-C and SIGTERM end it: a job that was begun gives the run so far, one that was not a run without records. A
    second one raises KeyboardInterrupt.
    """
    for job in jobs:
        if not isinstance(job, AbstractJob):
            raise InputError(f"jobs must be TrainJob, FlowJob or SlowFlowJob, not {type(job).__name__}")
    workers = cores() if workers is None else check_count("workers", workers)
    floor = Floor(batches_of(jobs, workers), emit or (lambda number, rows: None))
    threads = min(workers, len(floor.batches))
    if not threads:
        return []
    pool = ThreadPoolExecutor(threads)
    with one_core(), listening(floor.cancel), pool, ProgressBar(label, len(jobs), enabled=progress) as bar:
        futures = [pool.submit(floor.work, threads) for _ in range(threads)]
        pending: set[Any] = set(futures)
        while pending:
            over, pending = wait(pending, timeout=0.02)
            bar.update(floor.done, "compiling" if floor.compiling else "")
            if any(future.exception() for future in over):  # e.g. a full disk: the others need not go on
                floor.cancel.set()
        for future in futures:
            future.result()
    return [floor.runs.get(number) or not_begun(job.configuration()) for number, job in enumerate(jobs)]


@dataclass
class Floor:
    """Batches that threads take, advance by one call, and put back."""

    batches: list[AbstractBatch]
    emit: Emit
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
            with self.locks[batch.structure]:
                if not (batch.begun or self.cancel.is_set()):
                    self.compiling.add(threading.get_ident())
                    try:
                        with batch.working():
                            batch.compile()
                    finally:
                        self.compiling.discard(threading.get_ident())
                    batch.begun = True
            over = False
            if not self.cancel.is_set():
                with batch.working():
                    over = batch.advance(batch.call_seconds, self.emit)
            if not (over or self.cancel.is_set()):
                (self.waiting.append if len(self.waiting) < threads else self.waiting.appendleft)(batch)
            elif batch.begun:
                with batch.working():
                    runs = batch.finish(self.emit, cancelled=not over)
                self.runs.update(zip(batch.numbers, runs, strict=True))


def batches_of(jobs: Sequence[AbstractJob], workers: int) -> list[AbstractBatch]:
    """The jobs, kind by kind, in batches."""
    kinds: dict[type[AbstractJob], dict[int, AbstractJob]] = {}
    for number, job in enumerate(jobs):
        kinds.setdefault(type(job), {})[number] = job
    return [batch for kind, group in kinds.items() for batch in kind.batches(group, workers)]


def cores() -> int:
    """How many threads advance batches, unless someone says otherwise."""
    return os.cpu_count() or 1
