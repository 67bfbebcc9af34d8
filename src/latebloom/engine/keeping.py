"""Runs in a store while they are made: records as they come, states now and then, each run published when it is over.

A run that was interrupted or killed goes on from the furthest state there is, and a `train` that has more steps than a
finished one of the same dynamics from the end of that.
"""

from __future__ import annotations

import math
import sys
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from latebloom.engine.batch import AbstractBatch, Rows
from latebloom.engine.job import AbstractJob
from latebloom.engine.outcome import Ending
from latebloom.engine.run import Run, params_by_path
from latebloom.engine.scheduler import Listener
from latebloom.engine.states import OtherShapeError, pack, unpack
from latebloom.errors import LatebloomWarning
from latebloom.store import DamagedError, LiveRun, Store, StoreError, states
from latebloom.store.atomic import discard
from latebloom.store.group import Draft, draft

SOON = 3.0  # seconds of work before the first state: what takes less is computed again sooner than it is read
EVERY = 30.0  # seconds of work between two states
SHARE = 0.005  # of the time may go into writing states: a large network's are written less often
EARLY = 1.0  # seconds for which a run's records are kept in memory: what is over by then is written at once, whole
GROUP = 1.0  # seconds that a run which is over may wait for others, to be brought to the disk with them
MANY = 500  # runs that wait at most
PARAMS = "params:"  # the parameters in a state, by their path


class Keeper(Listener):
    """Listens to the scheduler and keeps what it hears in a store."""

    def __init__(self, jobs: Sequence[AbstractJob], store: Store, *, fresh: bool = False):
        self.jobs, self.store, self.fresh = jobs, store, fresh
        self.live: dict[int, LiveRun] = {}
        self.early: dict[int, list[Rows]] = {}  # records of runs that began a moment ago
        self.since: dict[int, float] = {}
        self.over = Over(store)
        self.left = {} if fresh else store.attempts()
        self.longer = {} if fresh else finished_states(jobs, store)
        self.before: dict[int, Mapping[str, Any]] = {}  # what earlier parts of a run took
        self.sources: dict[int, Path] = {}  # the attempts that states were taken from
        self.due: dict[int, float] = {}
        self.warned = False

    def emit(self, number: int, rows: Rows) -> None:
        if number in self.live or self._is_long(number):
            self._live(number).append(rows)
        else:
            self.early.setdefault(number, []).append(rows)

    def _is_long(self, number: int) -> bool:
        now = time.monotonic()
        return now - self.since.setdefault(number, now) > EARLY

    def _live(self, number: int) -> LiveRun:
        if number not in self.live:
            self.live[number] = self.store.begin(self.jobs[number].configuration())
            for rows in self.early.pop(number, []):
                self.live[number].append(rows)
        return self.live[number]

    def begun(self, batch: AbstractBatch) -> None:
        for number in batch.numbers:
            if self._go_on(batch, number) or self._lengthen(batch, number):
                rows = batch.rows(number)
                if rows:
                    self.emit(number, rows)
                if number in self.sources and self.sources[number].parent.name == "live":
                    discard(self.sources.pop(number))  # all that it had is here, or comes again
        self.due[id(batch)] = SOON

    def _go_on(self, batch: AbstractBatch, number: int) -> bool:
        """Whether the job stands where an earlier attempt left it."""
        for folder in states.furthest(self.left.get(self.jobs[number].key, [])):
            state = self._read(batch, folder)
            # Read first and taken then: nobody writes to a folder that no process owns.
            if state is not None and states.take(folder, self._live(number).folder):
                self._resume(batch, number, *state)
                self.sources[number] = folder
                return True
        return False

    def _lengthen(self, batch: AbstractBatch, number: int) -> bool:
        """Whether the job stands at the end of a finished one with fewer steps."""
        folder = self.longer.get(self.jobs[number].key)
        state = None if folder is None else self._read(batch, folder)
        if state is not None:
            self._resume(batch, number, *state)
        return state is not None

    def _read(self, batch: AbstractBatch, folder: Path) -> tuple[Any, Mapping[str, Any]] | None:
        """The state in a folder and what it says of itself; None, said in a warning, if it cannot be used."""
        try:
            stored = states.read_state(folder)
            return unpack(stored.about["state"], stored.arrays, batch.trees()), stored.about
        except (DamagedError, OtherShapeError, KeyError, TypeError) as error:
            states.set_aside(folder, error.what if isinstance(error, DamagedError) else str(error))
            return None

    def _resume(self, batch: AbstractBatch, number: int, state: Any, about: Mapping[str, Any]) -> None:
        batch.resume(number, state)
        self.before[number] = about
        if len(self.jobs) == 1:
            where = f"{self.jobs[number].clock.replace('_', ' ')} {about['at']:,.10g}"
            print(f"latebloom: goes on from {where}", file=sys.stderr)

    def advanced(self, batch: AbstractBatch) -> None:
        for number in batch.numbers:
            if number in self.early and self._is_long(number):
                self._live(number)
        worked, ends = batch.seconds, [number for number in batch.numbers if batch.at_end(number)]
        if worked >= self.due[id(batch)]:
            took = self._write(batch, batch.numbers)
            self.due[id(batch)] = worked + max(EVERY, took / SHARE)
        elif ends and worked >= SOON:
            self._write(batch, ends)

    def cancelled(self, batch: AbstractBatch) -> None:
        self._write(batch, batch.numbers)

    def _write(self, batch: AbstractBatch, numbers: Sequence[int]) -> float:
        """Seconds that it took to write the states of some jobs; a disk that refuses is said once."""
        started = time.perf_counter()
        try:
            for number in numbers:
                if (state := batch.state(number)) is not None:
                    self._live(number).write_state(*self._packed(batch, number, state))
        except StoreError as error:
            if not self.warned:
                self.warned = True
                warnings.warn(f"{error}; the run goes on, but could not be resumed", LatebloomWarning, stacklevel=2)
        return time.perf_counter() - started

    def _packed(self, batch: AbstractBatch, number: int, state: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        told, arrays = pack(state)
        at, gradients = batch.reached(number)
        earlier = self.before.get(number, {})
        about = {
            "state": told,
            "clock": self.jobs[number].clock,
            "at": at,
            "gradients": gradients,
            "seconds": earlier.get("seconds", 0.0) + batch.seconds_of(number),
            "parts": earlier.get("parts", 0) + 1,
            "lineage": self.jobs[number].lineage,
        }
        params = batch.params(number)
        named = {} if params is None else params_by_path(params)
        return about, arrays | {f"{PARAMS}{path}": leaf for path, leaf in named.items()}

    def finished(self, number: int, run: Run) -> Run:
        if run.outcome.ending is Ending.NOT_BEGUN:
            return run
        if earlier := self.before.get(number):
            told = {"seconds": run.provenance["seconds"] + earlier["seconds"], "parts": earlier["parts"] + 1}
            run = replace(run, provenance=run.provenance | told)
        at = None if run.outcome.complete else (run.outcome.step, math.inf)
        if number not in self.live:
            self.early.pop(number, None)
            self.over.add(draft(run.configuration, *run.to_stored(), replaces=self.fresh), at)
            return run
        live, job = self.live[number], self.jobs[number]
        if run.outcome.complete and job.lineage is None:
            live.drop_state()  # nothing goes on from it
        published = live.finish(*run.to_stored(), replace=self.fresh)
        if number in self.sources:
            discard(self.sources[number])
        if run.outcome.complete and job.lineage is not None and states.has_state(published.folder):
            self.store.remember(job.lineage, published.id)
        self.store.supersede({job.key: (published.id, at)})
        return run

    def close(self) -> None:
        """Publishes what waits, and gives up what is not finished; it stays, for whoever goes on."""
        try:
            self.over.publish()
        finally:
            self._close()

    def _close(self) -> None:
        for begun in self.live.values():
            begun.close()
        if self.before and len(self.jobs) > 1:
            text = f"{len(self.before)} of {len(self.jobs)} runs went on from where they were"
            print(f"latebloom: {text}", file=sys.stderr)


class Over:
    """Runs that were over at once, until they are published together; threads add to it.

    They wait for at most `GROUP` seconds, whatever else is going on: a timer publishes them.
    """

    def __init__(self, store: Store):
        self.store = store
        self.adding, self.publishing = threading.Lock(), threading.Lock()
        self.waiting: list[tuple[Draft, tuple[float, float] | None]] = []
        self.timer: threading.Timer | None = None
        self.error: BaseException | None = None  # of the timer's thread, for the next that comes by

    def add(self, run: Draft, at: tuple[float, float] | None) -> None:
        """Keeps a run; `at` is how far it is, if that is not its end."""
        with self.adding:
            if not self.waiting:
                self.timer = threading.Timer(GROUP, self._due)
                self.timer.daemon = True
                self.timer.start()
            self.waiting.append((run, at))
            are_many = len(self.waiting) >= MANY
        if are_many or self.error is not None:
            self.publish()

    def publish(self) -> None:
        """Brings them to the disk; what they replace goes. When it is over nothing of before is under way."""
        with self.publishing:
            with self.adding:
                group, self.waiting = self.waiting, []
                if self.timer is not None:
                    self.timer.cancel()
            self.store.publish_all([run for run, _ in group])
            self.store.supersede({run.key: (run.id, at) for run, at in group})
        if self.error is not None:
            raise self.error

    def _due(self) -> None:
        try:
            self.publish()
        except BaseException as error:
            self.error = error


def finished_states(jobs: Sequence[AbstractJob], store: Store) -> dict[str, Path]:
    """By the key of a job, the finished run of the same dynamics and records that ends nearest before it."""
    found: dict[str, Path] = {}
    for job in jobs:
        if job.lineage is not None:
            fitting = [(facts["at"], folder) for facts, folder in store.finished_states(job.lineage)]
            if nearer := [pair for pair in fitting if pair[0] < job.length]:
                found[job.key] = max(nearer)[1]
    return found
