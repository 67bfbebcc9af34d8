"""The host's side of a run: feeds the compiled loop, collects records, pins crossings, listens for Ctrl-C.

A batch is split into shards of a few lanes, which threads, one a core, advance by the same compiled program (JAX
releases the interpreter lock while it runs).
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.progress import ProgressBar
from latebloom.core.threads import one_core
from latebloom.engine import descent, milestones
from latebloom.engine.descent import CAPACITY, Lane, Point, Progress
from latebloom.engine.milestones import Milestone, Watch

CALL_SECONDS = 0.2  # how long one call into the compiled loop should take: the latency of Ctrl-C and of the bar
FIRST_QUOTA = 50  # steps of the first call, before the speed is known: 1.5 s where a step takes 30 ms
MOST_PADDING = 0.1  # of the lanes of a batch may be copies that fill up its shards: they keep a core idle at the end

IDLE = -1  # the number of a lane that only fills up a shard

Rows = dict[str, np.ndarray]
OnRecords = Callable[[int, Rows], None]


@dataclass
class LaneResult:
    """What one lane gave: its records, its milestones, its last point."""

    rows: list[Rows] = field(default_factory=list)
    extra_rows: list[Rows] = field(default_factory=list)
    milestones: list[Milestone] = field(default_factory=list)
    point: Point | None = None
    broken_at: int | None = None
    not_finite: bool = False
    interrupted: bool = False
    stopped: bool = False
    steps_run: int = 0

    def scheduled(self, column: str) -> np.ndarray:
        """One column of the scheduled records."""
        return np.concatenate([rows[column] for rows in self.rows])

    def columns(self) -> Rows:
        """All records, those at exact crossings included, in order of step and each step once."""
        tables = self.rows + self.extra_rows
        joined = {name: np.concatenate([rows[name] for rows in tables]) for name in tables[0]}
        _, order = np.unique(joined["step"], return_index=True)
        return {name: values[order] for name, values in joined.items()}


def structure(lane: Any) -> tuple[Any, ...]:
    """What decides which compiled program a lane needs: lanes of equal structure share one."""
    leaves, tree = jax.tree.flatten(lane)
    return tree, tuple((np.shape(leaf), jnp.result_type(leaf)) for leaf in leaves)


def stack(lanes: Sequence[Lane]) -> Lane:
    """Lanes of one structure as one pytree with a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack([np.asarray(leaf) for leaf in leaves])), *lanes)


class Shard:
    """Some lanes of a batch, advanced together."""

    def __init__(self, numbers: Sequence[int], lanes: Sequence[Lane], schedules: Sequence[np.ndarray]):
        self.numbers = list(numbers)
        self.lanes = stack(lanes)
        self.schedules = list(schedules)
        self.positions = np.zeros(len(lanes), dtype=int)
        self.steps = np.zeros(len(lanes), dtype=np.int64)
        self.done = np.zeros(len(lanes), dtype=bool)
        self.results = [LaneResult() for _ in lanes]
        self.quota = FIRST_QUOTA
        self.begun = False
        self.progress: Progress

    def warm_up(self) -> None:
        """Compiles what is not compiled yet, by advancing nothing."""
        self.progress = descent.begin(self.lanes)
        nothing = np.zeros(len(self.numbers), dtype=np.int64)
        jax.block_until_ready(self._advance(self.progress, [np.zeros(0)] * len(self.numbers), nothing)[2])
        self.begun = True

    def _advance(self, progress: Progress, targets: Sequence[np.ndarray], stops: np.ndarray):
        table = np.zeros((len(targets), CAPACITY), dtype=np.int64)
        for lane, wanted in enumerate(targets):
            table[lane, : len(wanted)] = wanted
        counts = np.array([len(wanted) for wanted in targets], dtype=np.int64)
        return descent.advance(self.lanes, progress, table, counts, np.asarray(stops, dtype=np.int64))

    def _plan(self) -> tuple[list[np.ndarray], np.ndarray]:
        """The records to make in the next call, and where to pause, lane by lane."""
        targets, stops = [], self.steps.copy()
        for lane, schedule in enumerate(self.schedules):
            upcoming = schedule[self.positions[lane] :][:CAPACITY]
            limit = self.steps[lane] + self.quota
            wanted = upcoming[upcoming <= limit] if not self.done[lane] else upcoming[:0]
            targets.append(wanted)
            if not self.done[lane]:
                stops[lane] = wanted[-1] if len(wanted) == CAPACITY else min(limit, schedule[-1])
        return targets, stops

    def call(self, on_records: OnRecords | None) -> int:
        """One call into the compiled loop; returns the number of steps made."""
        targets, stops = self._plan()
        started = time.perf_counter()
        progress, rows, filled = jax.block_until_ready(self._advance(self.progress, targets, stops))
        speed = np.clip(CALL_SECONDS / (time.perf_counter() - started), 0.25, 8.0)
        # A call that only records is quick however many steps it was allowed: beyond the longest run there are none.
        self.quota = min(int(speed * self.quota) + 1, max(int(schedule[-1]) for schedule in self.schedules) + 1)
        self.progress = progress
        self._collect(targets, jax.tree.map(np.asarray, rows), np.asarray(filled), on_records)
        steps = np.asarray(progress.point.step)
        made = int((steps - self.steps).sum())
        self.steps = steps
        return made

    def _collect(self, targets, rows: Rows, filled: np.ndarray, on_records: OnRecords | None) -> None:
        broken, ended = np.asarray(self.progress.broken), np.asarray(self.progress.done)
        for lane, result in enumerate(self.results):
            if self.done[lane]:
                continue
            count = int(filled[lane])
            self.positions[lane] += count
            # The record that found the loss beyond its limit is not kept, unless it is the first and there is no other.
            keep = count - int(broken[lane] and targets[lane][count - 1] > 0)
            if keep > 0:
                table = {"step": targets[lane][:keep]} | {name: v[lane, :keep] for name, v in rows.items()}
                result.rows.append(table)
                if on_records is not None and self.numbers[lane] != IDLE:
                    on_records(self.numbers[lane], table)
            result.stopped = bool(ended[lane] and not broken[lane])
            self.done[lane] = ended[lane] or self.positions[lane] == len(self.schedules[lane])

    def finish(self, on_records: OnRecords | None, *, cancelled: bool) -> None:
        """Closes an interrupted run with a record where it stands, notes the last points, pins crossings."""
        if cancelled:
            self._record_here(on_records)
        broken = np.asarray(self.progress.broken)
        anchors, points = (jax.tree.map(np.asarray, at) for at in (self.progress.anchor, self.progress.point))
        for lane, result in enumerate(self.results):
            result.steps_run += int(self.steps[lane])
            where = anchors if broken[lane] else points
            result.point = jax.tree.map(lambda leaf, lane=lane: leaf[lane], where)
        if broken.any():
            self._pin_break(broken)
        for which in range(len(self.progress.first)):
            self._pin_watch(which)

    def _record_here(self, on_records: OnRecords | None) -> None:
        unfinished = ~self.done
        here = [np.array([step]) if open_ else np.zeros(0) for step, open_ in zip(self.steps, unfinished, strict=True)]
        self.progress, rows, filled = self._advance(self.progress, here, self.steps)
        self._collect(here, jax.tree.map(np.asarray, rows), np.asarray(filled), on_records)
        for result, open_ in zip(self.results, unfinished, strict=True):
            result.interrupted = bool(open_)

    def _pin_break(self, broken: np.ndarray) -> None:
        """Finds the exact step at which the loss left its limit, and whether it was still finite there."""
        ends = np.asarray(self.progress.point.step)
        found = self._pin_steps(-1, self.progress.anchor, np.where(broken, ends, -1))[:, 1]
        exact = np.where(broken & (found >= 0), found, ends)
        rows = self._records_at(self.progress.anchor, np.where(broken, exact, -1))
        for lane in np.flatnonzero(broken):
            self.results[lane].broken_at = int(exact[lane])
            row = rows[lane] or self.results[lane].rows[0]  # broken before the first step: there is only the start
            self.results[lane].not_finite = not np.isfinite(row["train_loss"][0])

    def _pin_watch(self, which: int) -> None:
        """Pins the first and the stable crossing of one watched probe, and records the state there."""
        column = self.lanes.watched[which].column
        thresholds = np.asarray(self.lanes.thresholds)[:, which]
        seen = [
            milestones.find(Watch(column, column, float(t)), result.scheduled("step"), result.scheduled(column))
            for t, result in zip(thresholds, self.results, strict=True)
        ]
        first, latest = self.progress.first[which], self.progress.latest[which]
        ends = np.array([-1 if m.first is None else m.first.bracket[1] for m in seen])
        found = self._pin_steps(which, first, ends)
        # Most often the first crossing is the stable one; only where it is not, a second bracket is run.
        stable_ends = np.array([-1 if m.stable is None else m.stable.bracket[1] for m in seen])
        again = self._pin_steps(which, latest, np.where(stable_ends != ends, stable_ends, -1))
        last_above = np.where(stable_ends != ends, again[:, 2], found[:, 2])
        # Below before the first step, a crossing is step 0; never above in its bracket, the bracket's first step.
        exact = np.where(ends > 0, found[:, 0], ends)
        stable = np.where(stable_ends > 0, np.maximum(last_above, np.asarray(latest.step)) + 1, stable_ends)
        here = self._records_at(first, exact)
        there = self._records_at(latest, np.where(stable != exact, stable, -1))
        for lane, result in enumerate(self.results):
            result.extra_rows += [row for row in (here[lane], there[lane]) if row]
            result.milestones.append(milestones.pin(seen[lane], first=int(exact[lane]), stable=int(stable[lane])))

    def _pin_steps(self, which: int, points: Point, stops: np.ndarray) -> np.ndarray:
        """First step below, first above and last above in (point, stop], lane by lane; -1 where there is none."""
        starts = np.asarray(points.step)
        if not (starts < stops).any():
            return np.full((len(self.numbers), 3), -1, dtype=np.int64)
        for result, made in zip(self.results, np.maximum(stops - starts, 0), strict=True):
            result.steps_run += int(made)
        return np.asarray(descent.pin(self.lanes, which, self.progress.limit, points, np.maximum(stops, starts)))

    def _records_at(self, points: Point, steps: np.ndarray) -> list[Rows]:
        """One record a lane at the given step, run from `points`; nothing where the step is not after the point."""
        starts = np.asarray(points.step)
        wanted = [np.array([step]) if step > start else np.zeros(0) for step, start in zip(steps, starts, strict=True)]
        if not any(len(at) for at in wanted):
            return [{}] * len(wanted)
        fresh = eqx.tree_at(
            lambda p: (p.point, p.anchor, p.done), self.progress, (points, points, jnp.zeros_like(self.progress.done))
        )
        _, rows, _ = self._advance(fresh, wanted, np.maximum(steps, starts))
        rows = jax.tree.map(np.asarray, rows)
        return [
            {"step": at.astype(np.int64)} | {name: v[lane, :1] for name, v in rows.items()} if len(at) else {}
            for lane, at in enumerate(wanted)
        ]


def drive(
    lanes: Sequence[Lane],
    schedules: Sequence[np.ndarray],
    *,
    label: str = "training",
    on_records: OnRecords | None = None,
    show_progress: bool | None = None,
) -> list[LaneResult]:
    """Runs every lane to the end of its schedule, an event, or Ctrl-C; one compiled program a structure.

    After Ctrl-C, a lane that had not begun has a result without rows.
    """
    shards, locks = _split(lanes, schedules)
    cancel = threading.Event()
    counts = [0] * len(shards)
    waiting = deque(range(len(shards)))

    def work() -> None:
        """Advances one shard after the other to its end; the last few take turns, so that no core is idle then."""
        while waiting:
            try:
                number = waiting.popleft()
            except IndexError:  # another thread was quicker
                return
            shard = shards[number]
            with locks[number]:  # the first shard of a structure compiles, the others wait for it
                if not (shard.begun or cancel.is_set()):
                    shard.warm_up()
            if not (shard.done.all() or cancel.is_set()):
                counts[number] += shard.call(on_records)
            if not (shard.done.all() or cancel.is_set()):
                (waiting.append if len(waiting) < _cores() else waiting.appendleft)(number)
            elif shard.begun:
                shard.finish(on_records, cancelled=cancel.is_set())

    total = sum(int(schedule[-1]) for schedule in schedules)
    pool, bar = ThreadPoolExecutor(_cores()), ProgressBar(label, total, enabled=show_progress)
    with one_core(), pool, bar:
        futures = [pool.submit(work) for _ in range(min(_cores(), len(shards)))]
        pending: set[Any] = set(futures)
        while pending:
            try:
                done, pending = wait(pending, timeout=0.02)
                bar.update(sum(counts))
                if any(future.exception() for future in done):  # e.g. a full disk: the others need not go on
                    cancel.set()
            except KeyboardInterrupt:
                if cancel.is_set():
                    raise
                cancel.set()
        for future in futures:
            future.result()
    return _in_order(shards, len(lanes))


def _cores() -> int:
    return os.cpu_count() or 1


def _split(lanes: Sequence[Lane], schedules: Sequence[np.ndarray]) -> tuple[list[Shard], list[threading.Lock]]:
    """Shards of one structure and similar work, the longest first, and the lock each compiles under."""
    groups: dict[Any, list[int]] = {}
    for number, lane in enumerate(lanes):
        groups.setdefault(structure(lane), []).append(number)
    shards, locks = [], []
    for group in groups.values():
        lock = threading.Lock()
        order = sorted(group, key=lambda number: -int(schedules[number][-1]))
        size = _shard_size(len(order), _cores())
        count = -(-len(order) // size)
        for part in (order[start::count] for start in range(count)):
            padded = part + part[-1:] * (size - len(part))
            numbers = part + [IDLE] * (size - len(part))
            records = [schedules[n] for n in part] + [np.zeros(1, dtype=np.int64)] * (size - len(part))
            shards.append(Shard(numbers, [lanes[n] for n in padded], records))
            locks.append(lock)
    work = [-sum(int(schedule[-1]) for schedule in shard.schedules) for shard in shards]
    order = sorted(range(len(shards)), key=work.__getitem__)
    return [shards[n] for n in order], [locks[n] for n in order]


def _shard_size(lanes: int, cores: int) -> int:
    """Lanes a shard, equal in all so that one program serves every shard: the most that leave little to fill up.

    >>> [_shard_size(lanes, 2) for lanes in (1, 2, 5, 6, 35, 36)]
    [1, 1, 1, 3, 18, 18]
    """
    sizes = range(-(-lanes // cores), 0, -1)
    return next(size for size in sizes if -lanes % size <= MOST_PADDING * lanes)


def _in_order(shards: Sequence[Shard], count: int) -> list[LaneResult]:
    results = {n: r for shard in shards for n, r in zip(shard.numbers, shard.results, strict=True) if n != IDLE}
    return [results[number] for number in range(count)]
