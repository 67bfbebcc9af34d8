"""The host's side of an iteration: feeds the compiled loop, collects records, pins crossings."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.arrays import to_jax
from latebloom.engine import descent, milestones, outcome
from latebloom.engine.batch import AbstractBatch, Emit, Rows, structure
from latebloom.engine.descent import CAPACITY, Lane, Point, Progress
from latebloom.engine.diagnosis import collapse, learning_rate_of, why_broken
from latebloom.engine.milestones import Milestone, Milestones, Watch
from latebloom.engine.provenance import provenance
from latebloom.engine.record_times import log_spaced
from latebloom.engine.run import Run
from latebloom.engine.stability import Edge, hessian_products, plain_steps, step_times_curvature

if TYPE_CHECKING:
    from latebloom.engine.training import TrainJob

FIRST_QUOTA = 10  # steps of the first call, before the speed is known: 0.3 s where a step takes 30 ms
MOST_PADDING = 0.1  # of the lanes of a batch may be copies that fill up its shards: they keep a core idle at the end


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


def stack(lanes: Sequence[Lane]) -> Lane:
    """Lanes of one structure as one pytree with a leading axis."""
    return jax.tree.map(lambda *leaves: to_jax(np.stack([np.asarray(leaf) for leaf in leaves])), *lanes)


class Shard(AbstractBatch):
    """Some iterations of one structure, advanced together by one compiled program."""

    def __init__(self, jobs: Mapping[int, TrainJob], lanes: list[Lane], size: int):
        spare = size - len(jobs)
        self.numbers, self.jobs = list(jobs), list(jobs.values())
        self.lanes = stack([*lanes, *lanes[-1:] * spare])
        self.structure = structure(self.lanes)
        self.schedules = [log_spaced(job.steps, job.records_per_decade) for job in self.jobs]
        self.schedules += [np.zeros(1, dtype=np.int64)] * spare
        self.positions = np.zeros(size, dtype=int)
        self.steps = np.zeros(size, dtype=np.int64)
        self.origins = np.zeros(size, dtype=np.int64)  # the steps that were made before this process
        self.over = np.zeros(size, dtype=bool)
        self.results = [LaneResult() for _ in range(size)]
        self.edges = [Edge(job) for job in self.jobs]
        self.quota = FIRST_QUOTA
        self.total = float(sum(int(schedule[-1]) for schedule in self.schedules))
        self.progress: Progress

    def compile(self) -> None:
        self.progress = descent.begin(self.lanes)
        nothing = np.zeros(len(self.results), dtype=np.int64)
        jax.block_until_ready(self._advance(self.progress, [np.zeros(0)] * len(self.results), nothing)[2])

    def state(self, number: int) -> Any:
        lane = self.numbers.index(number)
        return {
            "progress": self._lane(self.progress, lane),
            "position": int(self.positions[lane]),
            "over": bool(self.over[lane]),
            "stopped": self.results[lane].stopped,
            "rows": self.rows(number),
            "edge": self.edges[lane].state(),
        }

    def resume(self, number: int, state: Any) -> None:
        lane = self.numbers.index(number)
        put = lambda whole, part: whole.at[lane].set(part)  # noqa: E731
        self.progress = jax.tree.map(put, self.progress, state["progress"])
        self.steps = np.array(self.progress.point.step)
        self.origins[lane] = self.steps[lane]
        self.positions[lane], self.over[lane] = state["position"], state["over"]
        self.results[lane].stopped = state["stopped"]
        self.edges[lane].resume(state["edge"])
        self.results[lane].rows = [state["rows"]] if state["rows"] else []

    @staticmethod
    def _lane(whole: Any, lane: int) -> Any:
        return jax.tree.map(lambda leaf: np.asarray(leaf)[lane], whole)

    def trees(self) -> dict[str, Any]:
        return {"progress": self._lane(self.progress, 0)}

    def reached(self, number: int) -> tuple[float, int]:
        step = int(self.steps[self.numbers.index(number)])
        return step, step

    def rows(self, number: int) -> Rows:
        result = self.results[self.numbers.index(number)]
        return {name: result.scheduled(name) for name in result.rows[0]} if result.rows else {}

    def params(self, number: int) -> Any:
        return self._lane(self.progress.point.params, self.numbers.index(number))

    def seconds_of(self, number: int) -> float:
        made = (self.steps - self.origins)[: len(self.numbers)]
        return float(self.seconds * made[self.numbers.index(number)] / max(made.sum(), 1))

    def at_end(self, number: int) -> bool:
        lane = self.numbers.index(number)
        return bool(self.steps[lane] == self.schedules[lane][-1] and not self.over[lane])

    def _advance(self, progress: Progress, targets: Sequence[np.ndarray], stops: np.ndarray, lanes: Lane | None = None):
        table = np.zeros((len(targets), CAPACITY), dtype=np.int64)
        for lane, wanted in enumerate(targets):
            table[lane, : len(wanted)] = wanted
        counts = np.array([len(wanted) for wanted in targets], dtype=np.int64)
        lanes = self.lanes if lanes is None else lanes
        return descent.advance(lanes, progress, table, counts, np.asarray(stops, dtype=np.int64))

    def _plan(self) -> tuple[list[np.ndarray], np.ndarray]:
        """The records to make in the next call, and where to pause, lane by lane."""
        targets, stops = [], self.steps.copy()
        for lane, schedule in enumerate(self.schedules):
            upcoming = schedule[self.positions[lane] :][:CAPACITY]
            limit = min(self.steps[lane] + self.quota, self._due(lane))
            wanted = upcoming[upcoming <= limit] if not self.over[lane] else upcoming[:0]
            # The last record is a call of its own: a longer run does not make it, and goes on from before it.
            if len(wanted) and wanted[-1] == schedule[-1] > self.steps[lane]:
                wanted = wanted[:-1]
            targets.append(wanted)
            if not self.over[lane]:
                stops[lane] = wanted[-1] if len(wanted) == CAPACITY else min(limit, schedule[-1])
        return targets, stops

    def advance(self, seconds: float, emit: Emit) -> bool:
        targets, stops = self._plan()
        started = time.perf_counter()
        progress, rows, filled = jax.block_until_ready(self._advance(self.progress, targets, stops))
        speed = np.clip(seconds / (time.perf_counter() - started), 0.25, 8.0)
        # A call that only records is quick however many steps it was allowed: beyond the longest run there are none.
        # One that was cut short to look at the curvature says nothing of how many steps are made in a second.
        if not any(self.steps[lane] + self.quota > self._due(int(lane)) for lane in np.flatnonzero(~self.over)):
            self.quota = min(int(speed * self.quota) + 1, max(int(schedule[-1]) for schedule in self.schedules) + 1)
        self.progress = progress
        self._collect(targets, jax.tree.map(np.asarray, rows), np.asarray(filled), emit)
        self.steps = np.asarray(progress.point.step)
        self.done = float(self.steps.sum())
        self._look()
        return bool(self.over.all())

    def _due(self, lane: int) -> float:
        """The next step at which a lane is looked at; none of those that fill up a shard is."""
        return self.edges[lane].due if lane < len(self.edges) else np.inf

    def _look(self) -> None:
        """Measures how long the step is beside the curvature, of the lanes that stand where this is due."""
        broken = np.asarray(self.progress.broken)
        here = [lane for lane, edge in enumerate(self.edges) if self.steps[lane] == edge.due and not broken[lane]]
        if not here:
            return
        # At two points in a row: where steps are too long a run jumps between a sharp side of a valley and a flat one.
        points = [self.progress.point, self._stepped(self.lanes, self.progress.point, here)]
        for lane, *found in zip(here, *(self._curvature(at, here) for at in points), strict=True):
            self.edges[lane].saw(int(self.steps[lane]), max(found))

    def _curvature(self, points: Point, chosen: Sequence[int]) -> np.ndarray:
        """`learning_rate · sharpness` of some lanes, from differences of steps of the compiled program."""
        only, lanes, whole = np.array(chosen), plain_steps(self.lanes), jax.tree.map(np.array, points.params)

        def move(params: Any) -> Any:
            for leaf, part in zip(jax.tree.leaves(whole), jax.tree.leaves(params), strict=True):
                leaf[only] = part
            moved = self._stepped(lanes, replace(points, params=jax.tree.map(to_jax, whole)), chosen)
            return jax.tree.map(lambda leaf: np.asarray(leaf)[only], moved.params)

        there = jax.tree.map(lambda leaf: leaf[only], whole)
        rates = np.array([learning_rate_of(self.jobs[lane].method) for lane in chosen])

        def exact(directions: Any) -> Any:
            spread = jax.tree.map(np.zeros_like, whole)
            for leaf, part in zip(jax.tree.leaves(spread), jax.tree.leaves(directions), strict=True):
                leaf[only] = part
            found = hessian_products(self.lanes, points.params, jax.tree.map(to_jax, spread))
            return jax.tree.map(lambda leaf: (np.asarray(leaf)[only].T * rates).T, found)

        found = step_times_curvature(move, there)
        suspect = [self.edges[lane].factor(one) > 1 for lane, one in zip(chosen, found, strict=True)]
        return np.where(suspect, step_times_curvature(move, there, exact), found) if any(suspect) else found

    def _stepped(self, lanes: Lane, points: Point, chosen: Sequence[int]) -> Point:
        """Where some lanes are a step after `points`, with nothing recorded."""
        stops = np.array(points.step)
        stops[np.array(chosen)] += 1
        return self._advance(self._standing(points), [np.zeros(0)] * len(stops), stops, lanes)[0].point

    def _standing(self, points: Point) -> Progress:
        """The progress, put back to some points."""
        nothing = jnp.zeros_like(self.progress.done)
        return eqx.tree_at(lambda p: (p.point, p.anchor, p.done), self.progress, (points, points, nothing))

    def _collect(self, targets, rows: Rows, filled: np.ndarray, emit: Emit) -> None:
        broken, ended = np.asarray(self.progress.broken), np.asarray(self.progress.done)
        for lane, result in enumerate(self.results):
            if self.over[lane]:
                continue
            count = int(filled[lane])
            self.positions[lane] += count
            # The record that found the loss beyond its limit is not kept, unless it is the first and there is no other.
            keep = count - int(broken[lane] and targets[lane][count - 1] > 0)
            if keep > 0:
                table = {"step": targets[lane][:keep]} | {name: v[lane, :keep] for name, v in rows.items()}
                result.rows.append(table)
                if lane < len(self.numbers):
                    emit(self.numbers[lane], table)
            result.stopped = bool(ended[lane] and not broken[lane])
            self.over[lane] = ended[lane] or self.positions[lane] == len(self.schedules[lane])

    def finish(self, emit: Emit, *, cancelled: bool) -> list[Run]:
        """Closes an interrupted run with a record where it stands, notes the last points, pins crossings."""
        if cancelled:
            self._record_here(emit)
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
        made = [result.steps_run - origin for result, origin in zip(self.results, self.origins.tolist(), strict=True)]
        made = made[: len(self.jobs)]  # the others fill up the shard
        shares = [self.seconds * steps / max(sum(made), 1) for steps in made]
        return [assemble(*parts) for parts in zip(self.edges, self.results, shares, strict=False)]

    def _record_here(self, emit: Emit) -> None:
        unfinished = ~self.over
        here = [np.array([step]) if open_ else np.zeros(0) for step, open_ in zip(self.steps, unfinished, strict=True)]
        self.progress, rows, filled = self._advance(self.progress, here, self.steps)
        self._collect(here, jax.tree.map(np.asarray, rows), np.asarray(filled), emit)
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
        # At the start: on its way out a run is where the curvature is hundreds of times what it was.
        looked = [lane for lane, edge in enumerate(self.edges) if broken[lane] and edge.job.method.stable_below]
        found = self._curvature(descent.begin(self.lanes).point, looked) if looked else ()
        for lane, one in zip(looked, found, strict=True):
            self.edges[lane].at_start = self.edges[lane].factor(one)

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
            return np.full((len(self.results), 3), -1, dtype=np.int64)
        for result, made in zip(self.results, np.maximum(stops - starts, 0), strict=True):
            result.steps_run += int(made)
        return np.asarray(descent.pin(self.lanes, which, self.progress.limit, points, np.maximum(stops, starts)))

    def _records_at(self, points: Point, steps: np.ndarray) -> list[Rows]:
        """One record a lane at the given step, run from `points`; nothing where the step is not after the point."""
        starts = np.asarray(points.step)
        wanted = [np.array([step]) if step > start else np.zeros(0) for step, start in zip(steps, starts, strict=True)]
        if not any(len(at) for at in wanted):
            return [{}] * len(wanted)
        _, rows, _ = self._advance(self._standing(points), wanted, np.maximum(steps, starts))
        rows = jax.tree.map(np.asarray, rows)
        return [
            {"step": at.astype(np.int64)} | {name: v[lane, :1] for name, v in rows.items()} if len(at) else {}
            for lane, at in enumerate(wanted)
        ]


def shards(jobs: Mapping[int, TrainJob], workers: int) -> list[AbstractBatch]:
    """Shards of one structure and similar work, the longest first."""
    lanes = {number: job.lane() for number, job in jobs.items()}
    groups: dict[Any, list[int]] = {}
    for number, lane in lanes.items():
        groups.setdefault(structure(lane), []).append(number)
    found: list[Shard] = []
    for group in groups.values():
        order = sorted(group, key=lambda number: -jobs[number].steps)
        size = _shard_size(len(order), workers)
        count = -(-len(order) // size)
        for part in (order[start::count] for start in range(count)):
            found.append(Shard({n: jobs[n] for n in part}, [lanes[n] for n in part], size))
    return sorted(found, key=lambda shard: -shard.total)


def _shard_size(lanes: int, cores: int) -> int:
    """Lanes a shard, equal in all so that one program serves every shard: the most that leave little to fill up.

    >>> [_shard_size(lanes, 2) for lanes in (1, 2, 5, 6, 35, 36)]
    [1, 1, 1, 3, 18, 18]
    """
    sizes = range(-(-lanes // cores), 0, -1)
    return next(size for size in sizes if -lanes % size <= MOST_PADDING * lanes)


def assemble(edge: Edge, result: LaneResult, seconds: float) -> Run:
    """The run of one lane: its clocks, its milestones under their names, its outcome."""
    job = edge.job
    columns = result.columns()
    clocks = clocks_of(columns, job)
    columns = clocks | {name: values for name, values in columns.items() if name not in clocks}
    found = [replace(seen, name=watch.name) for seen, watch in zip(result.milestones, job.watches, strict=True)]
    if "log_time" in columns:
        found = [milestones.with_log_time(one, columns["step"], columns["log_time"]) for one in found]
    sharp = milestones.sharpness(columns["step"], columns["test_error"], found[0], found[1])
    measured = job.problem.has_test
    own_time = result.rows and clocks.keys() & result.rows[0].keys() - {"step"}  # kept by the method, by no one rate
    rate = None if own_time else learning_rate_of(job.method)  # what turns steps into times, if anything
    return Run(
        configuration=job.configuration(),
        columns=columns,
        params=None if result.point is None else jax.tree.map(np.asarray, result.point.params),
        outcome=_outcome(edge, int(columns["step"][-1]), result),
        milestones=Milestones(found[0], found[1] if measured else None, sharp if measured else None),
        provenance=provenance(seconds, result.steps_run) | {"learning_rate": rate},
    )


def clocks_of(columns: Rows, job: TrainJob) -> Rows:
    """The clocks of an iteration at its records."""
    steps = columns["step"]
    if "log_time" in columns:  # the method's own; its exponential overflows
        return {"step": steps, "log_time": columns["log_time"]}
    clocks = {"step": steps, "time": columns.get("time", steps * learning_rate_of(job.method))}
    if job.penalty is not None and len(job.penalty.strengths) == 1:
        clocks["slow_time"] = clocks["time"] * job.penalty.strengths[0]
    return clocks


def _outcome(edge: Edge, last: int, result: LaneResult) -> outcome.Outcome:
    job = edge.job
    if result.broken_at is not None:
        cause = why_broken(job, result.broken_at, edge)
        return outcome.broken(result.broken_at, finite=not result.not_finite, cause=cause)
    if result.interrupted:
        return outcome.interrupted(last)
    remark = collapse(job, result.scheduled("train_error"), None if result.point is None else result.point.params)
    remark += edge.remark
    if job.stop_at is None:
        return outcome.finished(last, remark)
    if result.stopped:
        return outcome.stopped(last, job.stop_at, edge.remark)
    return outcome.budget_spent(last, job.stop_at, remark)
