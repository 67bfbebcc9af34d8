"""The host's side of a flow: feeds the compiled steps, collects records, keeps to the budget."""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.arrays import to_jax
from latebloom.engine import milestones
from latebloom.engine.batch import AbstractBatch, Emit, Rows, structure
from latebloom.engine.milestones import Crossing, Milestone, Milestones, Watch
from latebloom.engine.provenance import provenance
from latebloom.engine.run import Run
from latebloom.flows.gradient import steps
from latebloom.flows.gradient.chebyshev import FIRST
from latebloom.flows.gradient.steps import CAPACITY

if TYPE_CHECKING:
    from latebloom.flows.gradient.job import FlowJob
    from latebloom.flows.slow.job import SlowFlowJob

FIRST_QUOTA = 10  # gradients of the first call, before the speed is known: 0.6 s where one takes 60 ms

measure = jax.jit(steps.measure)


class FlowBatch(AbstractBatch):
    """One flow: first the spectral radius at the start, then steps onto the record times."""

    call_seconds: ClassVar[float] = 0.5  # in calls of 0.2 s a large network spends a sixth of its time in the kernel

    def __init__(self, number: int, job: FlowJob | SlowFlowJob):
        self.numbers, self.job = [number], job
        self.lane: Any = job.lane()
        self.structure = structure(self.lane)
        self.times = job.times()
        self.total = float(len(self.times))
        self.quota = FIRST_QUOTA
        self.opened, self.estimated = False, 0
        self.tables: list[Rows] = []
        self.position = 0
        self.progress: Any = None

    def compile(self) -> None:
        nothing = jnp.asarray(0)
        progress = steps.estimate(self.lane, steps.begin(self.lane, jnp.asarray(self.times[0])), nothing)
        jax.block_until_ready(self._advance(progress, self.times[:0], 0))
        self.progress = progress
        jax.block_until_ready(measure(self.lane, progress.params))

    def _advance(self, progress: Any, wanted: np.ndarray, budget: int) -> tuple[Any, Any, Any]:
        return steps.advance(self.lane, progress, *self.targets(wanted), jnp.asarray(budget))

    @staticmethod
    def targets(wanted: np.ndarray) -> tuple[jax.Array, jax.Array]:
        """Record times, filled up to as many as the compiled loop takes, and how many there are."""
        return jnp.asarray(np.pad(wanted, (0, CAPACITY - len(wanted)))), jnp.asarray(len(wanted))

    @property
    def spent(self) -> int:
        """Gradients so far."""
        return int(self.progress.gradients)

    def advance(self, seconds: float, emit: Emit) -> bool:
        started, spent = clock.perf_counter(), self.spent
        over = self._step(emit) if self.opened else self._open(emit)
        speed = (self.spent - spent) / max(clock.perf_counter() - started, 1e-6)
        self.quota = max(1, int(min(speed * seconds, 10 * self.quota)))
        return over

    def _open(self, emit: Emit) -> bool:
        """Power iterations, as many as the quota allows, until they are made."""
        count = self.iterations()
        self.progress = jax.block_until_ready(steps.estimate(self.lane, self.progress, jnp.asarray(count)))
        self.estimated += count
        if self.estimated == FIRST:
            self._stand(emit)
        return False

    def iterations(self) -> int:
        """How many power iterations the next call makes; each costs two gradients."""
        return min(max(self.quota // 2, 1), FIRST - self.estimated)

    def _stand(self, emit: Emit) -> None:
        """The start is known: it is the first record."""
        self.opened = True
        self._keep(np.zeros(1), self._here(), emit)

    def _here(self) -> Rows:
        """Every probe at the point that has been reached, in double precision as all records are."""
        found = measure(self.lane, self.progress.params)
        return {name: np.asarray(value, dtype=float)[None] for name, value in found.items()}

    def _keep(self, times: np.ndarray, rows: Rows, emit: Emit) -> None:
        self.tables.append({self.job.clock: times} | rows)
        emit(self.numbers[0], self.job.clocks(times) | self.tables[-1])

    def _step(self, emit: Emit) -> bool:
        """Steps on through the next record times; says whether the flow is over."""
        job, spent = self.job, self.spent
        wanted = self.times[self.position : self.position + CAPACITY]
        budget = min(job.max_gradients, spent + self.quota)
        self.progress, rows, filled = jax.block_until_ready(self._advance(self.progress, wanted, budget))
        made = int(filled)
        if made:
            self._keep(wanted[:made], {name: np.asarray(value)[:made] for name, value in rows.items()}, emit)
        self.position += made
        self.done = float(self.position)
        idle = not made and self.spent == spent
        return self.position == len(self.times) or idle or self.ended

    @property
    def ended(self) -> bool:
        """Whether it cannot or should not go on: it broke down, spent its budget, or saw what it was to stop at."""
        broken = bool(self.progress.broken) or self.spent >= self.job.max_gradients
        return broken or bool((np.asarray(self.progress.below) & np.asarray(self.lane.stop_on)).any())

    def finish(self, emit: Emit, *, cancelled: bool) -> list[Run]:
        if not self.opened:
            self._stand(emit)
        if float(self.progress.time) > self.tables[-1][self.job.clock][-1]:  # what is returned is also the last record
            self._keep(np.array([float(self.progress.time)]), self._here(), emit)
        return [assemble(self.job, self.progress, self.tables, self.seconds, cancelled=cancelled)]

    def state(self, number: int) -> Any:
        if not self.opened:
            return None
        rows = self._columns()
        return {"progress": jax.tree.map(np.asarray, self.progress), "position": self.position, "rows": rows}

    def resume(self, number: int, state: Any) -> None:
        if state is not None:
            self.progress = jax.tree.map(to_jax, state["progress"])
            self.position, self.tables, self.opened = state["position"], [state["rows"]], True

    def _columns(self) -> Rows:
        return {name: np.concatenate([table[name] for table in self.tables]) for name in self.tables[0]}

    def trees(self) -> dict[str, Any]:
        return {"progress": self.progress}

    def reached(self, number: int) -> tuple[float, int]:
        return (float(self.progress.time) if self.opened else 0.0), self.spent

    def rows(self, number: int) -> Rows:
        if not self.tables:
            return {}
        columns = self._columns()
        return self.job.clocks(columns[self.job.clock]) | columns

    def params(self, number: int) -> Any:
        return jax.tree.map(np.asarray, self.progress.params) if self.opened else None


def assemble(job: Any, progress: Any, tables: list[Rows], seconds: float, *, cancelled: bool) -> Run:
    """The run of a flow of either kind: its clocks, milestones, outcome."""
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    times = columns[job.clock]
    columns = {job.clock: times} | job.clocks(times) | columns
    last = float(times[-1])
    found = [_milestone(job, watch, which, progress, last) for which, watch in enumerate(job.watches)]
    sharp = milestones.sharpness(times, columns["test_error"], found[0], found[1])
    measured = job.problem.has_test
    counts = {"steps": int(progress.accepted), "rejected": int(progress.rejected)}
    rate = {"learning_rate": getattr(job, "learning_rate", None)}
    return Run(
        configuration=job.configuration(),
        columns=columns,
        params=jax.tree.map(np.asarray, progress.params),
        outcome=job.outcome(progress, last, cancelled=cancelled),
        milestones=Milestones(found[0], found[1] if measured else None, sharp if measured else None),
        provenance=provenance(seconds, int(progress.gradients)) | counts | rate,
    )


def _milestone(job: Any, watch: Watch, which: int, progress: Any, last: float) -> Milestone:
    first, latest = (float(value) for value in np.asarray(progress.crossings)[which])
    lost, below = float(np.asarray(progress.lost)[which]), bool(np.asarray(progress.below)[which])
    return Milestone(
        watch.name,
        watch.column,
        watch.threshold,
        first=Crossing(first, (first, first), pinned=True) if np.isfinite(first) else None,
        stable=Crossing(latest, (latest, latest), pinned=True) if below else None,
        lost=lost if np.isfinite(lost) else None,
        last_step=last,
        clock=job.clock,
    )
