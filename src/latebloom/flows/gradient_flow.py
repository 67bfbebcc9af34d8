"""Gradient flow: the limit of small steps, at a cost that grows with the square root of the stiffness."""

from __future__ import annotations

import os
import threading
import time as clock
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from latebloom import milestones, outcome
from latebloom.drive import structure
from latebloom.errors import CapabilityError, InputError, check_choice, check_count, check_number
from latebloom.flows import loop
from latebloom.flows.chebyshev import RungeKuttaChebyshev
from latebloom.flows.loop import CAPACITY, FlowLane, FlowProgress
from latebloom.milestones import Crossing, Milestone, Milestones, Watch
from latebloom.one_core import one_core
from latebloom.penalties import L2, AbstractPenalty
from latebloom.probes import ALWAYS, AbstractProbe, TestError, TrainError
from latebloom.problems import AbstractProblem
from latebloom.progress import ProgressBar
from latebloom.run import Run
from latebloom.training import check_probes, provenance

ENGINE = 1  # raised when the numbers of an unchanged configuration change
SOLVERS: dict[str, Callable[[], diffrax.AbstractSolver]] = {
    "rkc": RungeKuttaChebyshev,
    "tsit5": diffrax.Tsit5,
    "dopri5": diffrax.Dopri5,
    "dopri8": diffrax.Dopri8,
    "heun": diffrax.Heun,
}
PER_DECADE = 50
DECADES = 9  # of time that are recorded before the end

Rows = dict[str, np.ndarray]


@dataclass(frozen=True)
class FlowJob:
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

    def __post_init__(self):
        if not isinstance(self.problem, AbstractProblem):
            raise InputError(f"problem must be a problem record, not {type(self.problem).__name__}")
        if self.penalty is not None and not isinstance(self.penalty, AbstractPenalty):
            raise InputError(f"penalty must be a penalty record such as L2(1e-3), not {type(self.penalty).__name__}")
        if self.penalty is not None and not self.penalty.smooth:
            raise CapabilityError(
                f"a flow needs a smooth penalty; {self.penalty!r} has kinks: use L2, or train with ProximalGradient"
            )
        object.__setattr__(self, "until", check_number("until", self.until, above=0, most=1e300))
        for what in ("rtol", "atol"):
            object.__setattr__(self, what, check_number(what, getattr(self, what), above=1e-14, below=1))
        check_choice("solver", self.solver, SOLVERS)
        check_count("max_gradients", self.max_gradients)
        check_count("records_per_decade", self.records_per_decade)
        if self.learning_rate is not None:
            check_number("learning_rate", self.learning_rate, above=0)
        probes = (self.probes,) if isinstance(self.probes, AbstractProbe) else tuple(self.probes)
        object.__setattr__(self, "probes", check_probes(probes))

    @property
    def watches(self) -> tuple[Watch, Watch]:
        return Watch("memorised", "train_error", self.memorised), Watch("generalised", "test_error", self.generalised)

    @property
    def all_probes(self) -> tuple[AbstractProbe, ...]:
        """The probes of every run and those asked for, a column once."""
        return tuple({probe.column: probe for probe in (*ALWAYS, *self.probes)}.values())

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
            "precision": "float64",
        }

    def lane(self) -> FlowLane:
        """The job as the compiled loop takes it; refuses combinations that cannot work."""
        for probe in self.all_probes:
            probe.check(self.problem, self.penalty)
        if self.penalty is not None:
            self.penalty.check(self.problem.init())
        # Python numbers would be constants of the program: as arrays, another seed or strength compiles nothing.
        problem, penalty, probes = jax.tree.map(jnp.asarray, (self.problem, self.penalty, self.all_probes))
        return FlowLane(
            problem=problem,
            penalty=penalty,
            probes=probes,
            watched=(TrainError(), TestError()),
            thresholds=jnp.asarray([watch.threshold for watch in self.watches]),
            rtol=jnp.asarray(self.rtol),
            atol=jnp.asarray(self.atol),
            solver=SOLVERS[self.solver](),
        )

    def times(self) -> np.ndarray:
        """When records are made: log-spaced over `DECADES` decades before the end."""
        count = DECADES * self.records_per_decade
        return self.until * np.geomspace(10.0**-DECADES, 1.0, count + 1)


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
    if weight_decay and penalty is not None:
        raise InputError("give weight_decay or penalty, not both: penalty=L2(weight_decay) is the same")
    weight_decay = check_number("weight_decay", weight_decay, least=0)
    chosen = L2(weight_decay) if penalty is None and weight_decay > 0 else penalty
    (run,) = run_flows([FlowJob(problem, chosen, until, **options)], progress=progress)
    if run is None:
        raise KeyboardInterrupt
    return run


def run_flows(
    jobs: Sequence[FlowJob],
    *,
    label: str = "flow",
    on_records: Callable[[int, Rows], None] | None = None,
    progress: bool | None = None,
) -> list[Run | None]:
    """Flows on all cores, one a thread; those of one structure share a program. None where Ctrl-C came first."""
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


def _warm_up(lane: FlowLane) -> None:
    """Compiles what is not compiled yet, by advancing nothing."""
    progress = loop.begin(lane, jnp.asarray(1.0))
    nothing = jnp.asarray(0)
    jax.block_until_ready(loop.advance(lane, progress, jnp.zeros(CAPACITY), nothing, nothing)[2])


def _run(number: int, job: FlowJob, lane: FlowLane, cancel: threading.Event, done: list[int], on_records) -> Run:
    started, times = clock.perf_counter(), job.times()
    progress = loop.begin(lane, jnp.asarray(times[0]))
    tables = [{"time": np.zeros(1)} | {k: np.asarray(v)[None] for k, v in _measure(lane, progress.params).items()}]
    position, budget = 0, jnp.asarray(job.max_gradients)
    while position < len(times) and not cancel.is_set():
        targets = np.zeros(CAPACITY)
        wanted = times[position : position + min(CAPACITY, 16)]
        targets[: len(wanted)] = wanted
        progress, rows, filled = jax.block_until_ready(
            loop.advance(lane, progress, jnp.asarray(targets), jnp.asarray(len(wanted)), budget)
        )
        made = int(filled)
        if made:
            tables.append({"time": wanted[:made]} | {k: np.asarray(v)[:made] for k, v in rows.items()})
            if on_records is not None:
                on_records(number, _clocks(job, tables[-1]["time"]) | tables[-1])
        position += made
        done[number] = position
        if made < len(wanted):
            break
    if float(progress.time) > tables[-1]["time"][-1]:  # what is returned is also the last record
        here = {k: np.asarray(v)[None] for k, v in _measure(lane, progress.params).items()}
        tables.append({"time": np.array([float(progress.time)])} | here)
    return _assemble(job, progress, tables, clock.perf_counter() - started, cancelled=cancel.is_set())


_measure = jax.jit(loop.measure)


def _clocks(job: FlowJob, times: np.ndarray) -> Rows:
    clocks = {} if job.learning_rate is None else {"step": times / job.learning_rate}
    if job.penalty is not None and len(job.penalty.strengths) == 1:
        clocks["slow_time"] = times * job.penalty.strengths[0]
    return clocks


def _assemble(job: FlowJob, progress: FlowProgress, tables: list[Rows], seconds: float, *, cancelled: bool) -> Run:
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    columns = {"time": columns["time"]} | _clocks(job, columns["time"]) | columns
    last = float(columns["time"][-1])
    found = [_milestone(watch, which, progress, last) for which, watch in enumerate(job.watches)]
    sharp = milestones.sharpness(columns["time"], columns["test_error"], found[0], found[1])
    measured = job.problem.has_test
    counts = {"steps": int(progress.accepted), "rejected": int(progress.rejected)}
    return Run(
        configuration=job.configuration(),
        columns=columns,
        params=jax.tree.map(np.asarray, progress.params),
        outcome=_outcome(job, progress, last, cancelled),
        milestones=Milestones(found[0], found[1] if measured else None, sharp if measured else None),
        provenance=provenance(seconds, int(progress.gradients)) | counts | {"learning_rate": job.learning_rate},
    )


def _milestone(watch: Watch, which: int, progress: FlowProgress, last: float) -> Milestone:
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
        clock="time",
    )


def _outcome(job: FlowJob, progress: FlowProgress, last: float, cancelled: bool) -> outcome.Outcome:
    where = f"time {last:.6g}"
    if last >= job.until:
        return outcome.Outcome(outcome.Ending.FINISHED, last, f"finished at {where}")
    if bool(progress.broken):
        return outcome.Outcome(
            outcome.Ending.NOT_FINITE, last, f"no finite step from {where} on: look at train_loss, scale the data down"
        )
    if cancelled:
        return outcome.Outcome(outcome.Ending.INTERRUPTED, last, f"interrupted at {where}: what was done is kept")
    return outcome.Outcome(
        outcome.Ending.BUDGET,
        last,
        f"budget of {job.max_gradients:,} gradients spent at {where}: raise max_gradients or the tolerances",
    )
