"""Gradient flow: the limit of small steps, at a cost that grows with the square root of the stiffness."""

from __future__ import annotations

import os
import threading
import time as clock
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, ClassVar

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.precision import in_precision, require_double
from latebloom.core.progress import ProgressBar
from latebloom.core.threads import one_core
from latebloom.engine import milestones, outcome
from latebloom.engine.job import Probed
from latebloom.engine.milestones import Crossing, Milestone, Milestones, Watch
from latebloom.engine.provenance import provenance
from latebloom.engine.run import Run
from latebloom.engine.scheduler import structure
from latebloom.engine.training import broadcast, check_probes, listed
from latebloom.errors import CapabilityError, InputError, check_choice, check_count, check_number
from latebloom.flows.gradient import steps
from latebloom.flows.gradient.chebyshev import RungeKuttaChebyshev, most_stages
from latebloom.flows.gradient.steps import CAPACITY, FlowLane
from latebloom.penalties import L2, AbstractPenalty
from latebloom.probes import AbstractProbe, TestError, TrainError
from latebloom.problems import AbstractProblem

ENGINE = 3  # raised when the numbers of an unchanged configuration change
SOLVERS: dict[str, type[diffrax.AbstractSolver]] = {
    "rkc": RungeKuttaChebyshev,
    "heun": diffrax.Heun,
    "bosh3": diffrax.Bosh3,
    "tsit5": diffrax.Tsit5,
    "dopri5": diffrax.Dopri5,
    "dopri8": diffrax.Dopri8,
    "kvaerno3": diffrax.Kvaerno3,
    "kvaerno4": diffrax.Kvaerno4,
    "kvaerno5": diffrax.Kvaerno5,
}
CALL_SECONDS = 1.0  # how long one call into the compiled loop should take: the latency of Ctrl-C and of the bar
FIRST_QUOTA = 30  # gradients of the first call, before the speed is known: 2 s where one takes 60 ms
PER_DECADE = 50
DECADES = 9  # of time that are recorded before the end

Rows = dict[str, np.ndarray]


@dataclass(frozen=True)
class FlowJob(Probed):
    """Everything that decides one flow's numbers.

    `learning_rate` is that of the iteration whose limit this is, if there is one: it turns times into steps.
    """

    problem: AbstractProblem
    penalty: AbstractPenalty | None
    until: float
    probes: Sequence[AbstractProbe] = ()
    memorised: float = 1e-3
    generalised: float = 1e-3
    rtol: float = 1e-4
    atol: float = 1e-7
    solver: str = "rkc"
    max_gradients: int = 10_000_000
    records_per_decade: int = PER_DECADE
    learning_rate: float | None = None

    clock: ClassVar[str] = "time"

    def __post_init__(self):
        check_job(self)
        if self.penalty is not None and not self.penalty.smooth:
            raise CapabilityError(
                f"a flow needs a smooth penalty; {self.penalty!r} has kinks: use L2, or train with ProximalGradient"
            )
        if check_choice("solver", self.solver, SOLVERS) != "rkc":
            require_double(self.problem, f"solver={self.solver!r}")
        if self.learning_rate is not None:
            check_number("learning_rate", self.learning_rate, above=0)

    def configuration(self) -> dict[str, Any]:
        """The run's identity, as plain JSON values."""
        return {
            "flow": ENGINE,
            "problem": self.problem.text,
            "penalty": None if self.penalty is None else self.penalty.text,
            "until": self.until,
            "solver": self.solver,
            "tolerances": {"rtol": self.rtol, "atol": self.atol},
            "max_gradients": self.max_gradients,
            "probes": sorted(probe.text for probe in self.all_probes),
            "thresholds": {watch.name: watch.threshold for watch in self.watches},
            "records_per_decade": self.records_per_decade,
            "learning_rate": self.learning_rate,
            "precision": self.precision,
        }

    def lane(self) -> FlowLane:
        """The job as the compiled loop takes it; refuses combinations that cannot work."""
        self.check_parts()
        # Python numbers would be constants of the program: as arrays, another seed or strength compiles nothing.
        return FlowLane(
            problem=in_precision(self.problem, self.precision),
            penalty=in_precision(self.penalty, self.precision),
            probes=jax.tree.map(jnp.asarray, self.all_probes),
            watched=(TrainError(), TestError()),
            thresholds=jnp.asarray([watch.threshold for watch in self.watches]),
            rtol=jnp.asarray(self.rtol),
            atol=jnp.asarray(self.atol),
            stages=jnp.asarray(most_stages(self.rtol, float(jnp.finfo(self.precision).eps)), float),
            solver=self._solver(),
        )

    def _solver(self) -> diffrax.AbstractSolver:
        kind = SOLVERS[self.solver]
        if issubclass(kind, diffrax.AbstractImplicitSolver):
            return kind(root_finder=diffrax.VeryChord(self.rtol, self.atol))  # pyright: ignore[reportCallIssue]
        return kind()

    def times(self) -> np.ndarray:
        """When records are made: log-spaced over `DECADES` decades before the end."""
        count = DECADES * self.records_per_decade
        return self.until * np.geomspace(10.0**-DECADES, 1.0, count + 1)

    def clocks(self, times: np.ndarray) -> Rows:
        """The clocks beside `time`."""
        clocks = {} if self.learning_rate is None else {"step": times / self.learning_rate}
        if self.penalty is not None and len(self.penalty.strengths) == 1:
            clocks["slow_time"] = times * self.penalty.strengths[0]
        return clocks

    def outcome(self, progress: Any, last: float, *, cancelled: bool) -> outcome.Outcome:
        """How a flow that got as far as `last` ended."""
        where = f"time {last:.6g}"
        if bool(progress.broken):
            sentence = f"no finite step from {where} on: look at train_loss, scale the data down"
            return outcome.Outcome(outcome.Ending.NOT_FINITE, last, sentence)
        return ending(self, where, last, cancelled=cancelled)


def check_job(job: Any) -> None:
    """What every kind of flow checks: problem, penalty, end, tolerances, budget and probes."""
    if not isinstance(job.problem, AbstractProblem):
        raise InputError(f"problem must be a problem record, not {type(job.problem).__name__}")
    if job.penalty is not None and not isinstance(job.penalty, AbstractPenalty):
        raise InputError(f"penalty must be a penalty record such as L2(1e-3), not {type(job.penalty).__name__}")
    object.__setattr__(job, "until", check_number("until", job.until, above=0, most=1e300))
    for what in ("rtol", "atol"):
        object.__setattr__(job, what, check_number(what, getattr(job, what), above=1e-14, below=1))
    check_count("max_gradients", job.max_gradients)
    check_count("records_per_decade", job.records_per_decade)
    probes = (job.probes,) if isinstance(job.probes, AbstractProbe) else tuple(job.probes)
    object.__setattr__(job, "probes", check_probes(probes))


def ending(job: Any, where: str, last: float, *, cancelled: bool) -> outcome.Outcome:
    """The outcome of a flow that did not break down."""
    if last >= job.until:
        return outcome.Outcome(outcome.Ending.FINISHED, last, f"finished at {where}")
    if cancelled:
        return outcome.Outcome(outcome.Ending.INTERRUPTED, last, f"interrupted at {where}: what was done is kept")
    return outcome.Outcome(
        outcome.Ending.BUDGET,
        last,
        f"budget of {job.max_gradients:,} gradients spent at {where}: raise max_gradients or the tolerances",
    )


def flow(
    problem: AbstractProblem,
    *,
    until: float,
    weight_decay: float = 0.0,
    penalty: AbstractPenalty | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Run:
    """Integrates the gradient flow `w' = -∇F(w) - ∇h(w)` to time `until` and returns what happened.

    `weight_decay=λ` is the penalty `L2(λ)`; any smooth penalty can be given instead. Where `train` makes `until / α`
    steps of the paper's iteration, the flow is its limit of small learning rates α. Options are those of `FlowJob`:
    `probes`, thresholds `memorised` and `generalised`, tolerances `rtol` and `atol`, `solver`, `max_gradients`,
    `records_per_decade`. Milestones are located on the solver's dense output. Ctrl-C returns the run so far.

    >>> import latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0], truth=[1.0, 1.0], init=[-1.0, 1.0])
    >>> run = lb.flow(problem, weight_decay=0.01, until=1e3, memorised=2e-2, generalised=2e-2)
    >>> run.outcome.sentence, round(run.milestones.generalised.time)
    ('finished at time 1000', 395)
    """
    chosen = _preferred(weight_decay, penalty)
    (run,) = run_flows([FlowJob(problem, chosen, until, **options)], progress=progress)
    if run is None:
        raise KeyboardInterrupt
    return run


def flow_batch(
    problems: AbstractProblem | Sequence[AbstractProblem],
    *,
    until: float | Sequence[float],
    weight_decay: float | Sequence[float] = 0.0,
    penalties: AbstractPenalty | Sequence[AbstractPenalty | None] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> list[Run]:
    """Many flows on all cores; those that differ in seed, weight decay or initial scale share one compiled program.

    Each of `problems`, `until`, `weight_decay` and `penalties` is one value for all or a list; lists have one length.
    Every flow gives the numbers that `flow` gives for it alone. Ctrl-C returns the flows so far.

    >>> import latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0], truth=[1.0, 1.0], init=[-1.0, 1.0])
    >>> runs = lb.flow_batch(problem, until=1e3, weight_decay=[0.01, 0.02], memorised=2e-2, generalised=3e-2)
    >>> [round(run.milestones.generalised.time) for run in runs]
    [352, 178]
    """
    columns = [listed(values) for values in (problems, until, weight_decay, penalties)]
    cells = broadcast(columns, ("problems", "times", "weight decays", "penalties"))
    jobs = [FlowJob(problem, _preferred(decay, penalty), end, **options) for problem, end, decay, penalty in cells]
    return [run for run in run_flows(jobs, progress=progress) if run is not None]


def _preferred(weight_decay: float, penalty: AbstractPenalty | None) -> AbstractPenalty | None:
    """The penalty that was given, or that a weight decay is short for."""
    if weight_decay and penalty is not None:
        raise InputError("give weight_decay or penalty, not both: penalty=L2(weight_decay) is the same")
    weight_decay = check_number("weight_decay", weight_decay, least=0)
    return L2(weight_decay) if penalty is None and weight_decay > 0 else penalty


def run_flows(
    jobs: Sequence[Any],
    *,
    label: str = "flow",
    on_records: Callable[[int, Rows], None] | None = None,
    progress: bool | None = None,
) -> list[Run | None]:
    """Flows of either kind on all cores, one a thread; those of one structure share a program; None after Ctrl-C."""
    lanes = [job.lane() for job in jobs]
    cancel, done = threading.Event(), [0] * len(jobs)
    results: list[Run | None] = [None] * len(jobs)

    locks: dict[Any, threading.Lock] = {}
    for lane in lanes:
        locks.setdefault(structure(lane), threading.Lock())

    def work(number: int) -> None:
        with locks[structure(lanes[number])]:  # the first flow of a structure compiles, the others wait for it
            if cancel.is_set():
                return
            _warm_up(lanes[number])
        results[number] = _run(number, jobs[number], lanes[number], cancel, done, on_records)

    total = sum(len(job.times()) for job in jobs)
    pool, bar = ThreadPoolExecutor(os.cpu_count() or 1), ProgressBar(label, total, enabled=progress)
    with one_core(), pool, bar:
        futures = [pool.submit(work, number) for number in range(len(jobs))]
        pending: set[Any] = set(futures)
        while pending:
            try:
                finished, pending = wait(pending, timeout=0.02)
                bar.update(sum(done))
                if any(future.exception() for future in finished):
                    cancel.set()
            except KeyboardInterrupt:
                if cancel.is_set():
                    raise
                cancel.set()
        for future in futures:
            future.result()
    return results


def _warm_up(lane: Any) -> None:
    """Compiles what is not compiled yet, by advancing nothing."""
    progress = lane.start(1.0, 0, lambda: False)
    nothing = jnp.asarray(0)
    jax.block_until_ready(lane.advance(progress, jnp.zeros(CAPACITY), nothing, nothing)[2])


def _run(number: int, job: Any, lane: Any, cancel: threading.Event, done: list[int], on_records) -> Run:
    started, times, name = clock.perf_counter(), job.times(), job.clock
    progress = lane.start(times[0], job.max_gradients, cancel.is_set)
    tables = [{name: np.zeros(1)} | {k: np.asarray(v)[None] for k, v in _measure(lane, progress.params).items()}]
    position, quota = 0, FIRST_QUOTA
    while position < len(times) and not cancel.is_set():
        wanted = times[position : position + CAPACITY]
        spent, called = int(progress.gradients), clock.perf_counter()
        budget = jnp.asarray(min(job.max_gradients, spent + quota))
        progress, rows, filled = jax.block_until_ready(
            lane.advance(progress, _padded(wanted), jnp.asarray(len(wanted)), budget)
        )
        made = int(filled)
        if made:
            tables.append({name: wanted[:made]} | {k: np.asarray(v)[:made] for k, v in rows.items()})
            if on_records is not None:
                on_records(number, job.clocks(wanted[:made]) | tables[-1])
        position += made
        done[number] = position
        now = int(progress.gradients)
        if bool(progress.broken) or now >= job.max_gradients or (not made and now == spent):
            break
        speed = (now - spent) / max(clock.perf_counter() - called, 1e-6)
        quota = max(1, int(min(speed * CALL_SECONDS, 10 * quota)))
    if float(progress.time) > tables[-1][name][-1]:  # what is returned is also the last record
        here = {k: np.asarray(v)[None] for k, v in _measure(lane, progress.params).items()}
        tables.append({name: np.array([float(progress.time)])} | here)
    return _assemble(job, progress, tables, clock.perf_counter() - started, cancelled=cancel.is_set())


def _padded(times: np.ndarray) -> jax.Array:
    """Record times as many as the compiled loop takes."""
    return jnp.asarray(np.pad(times, (0, CAPACITY - len(times))))


_measure = jax.jit(steps.measure)


def _assemble(job: Any, progress: Any, tables: list[Rows], seconds: float, *, cancelled: bool) -> Run:
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
    first, latest = (float(value) for value in progress.crossings[which])
    lost = float(progress.lost[which])
    return Milestone(
        watch.name,
        watch.column,
        watch.threshold,
        first=Crossing(first, (first, first), pinned=True) if np.isfinite(first) else None,
        stable=Crossing(latest, (latest, latest), pinned=True) if bool(progress.below[which]) else None,
        lost=lost if np.isfinite(lost) else None,
        last_step=last,
        clock=job.clock,
    )
