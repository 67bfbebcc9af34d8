"""The discrete loop: the exact iteration of the paper, compiled, millions of steps."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.precision import in_precision
from latebloom.engine import milestones, outcome
from latebloom.engine.descent import Lane
from latebloom.engine.job import Probed
from latebloom.engine.milestones import Milestones
from latebloom.engine.provenance import provenance
from latebloom.engine.record_times import PER_DECADE, log_spaced
from latebloom.engine.run import Run
from latebloom.engine.scheduler import LaneResult, Rows, drive
from latebloom.errors import InputError, LatebloomWarning, check_choice, check_count
from latebloom.methods import AbstractMethod, GradientDescent, ProximalGradient
from latebloom.penalties import AbstractPenalty
from latebloom.probes import ALWAYS, AbstractProbe, GradientRatio, TestError, TrainError
from latebloom.problems import AbstractLinear, AbstractProblem

EVENTS = ("memorised", "generalised")
CLOCKS = ("step", "time", "slow_time", "log_time")
ENGINE = 2  # raised when the numbers of an unchanged configuration change: stored runs of older engines are not served

FELT = 0.1  # a penalty with a smaller share of the loss's gradient is not what keeps a run from learning
NO_LOWER = 0.99  # a train error that ends above this share of a level is not below it

T = TypeVar("T")


@dataclass(frozen=True)
class Job(Probed):
    """Everything that decides one run's numbers."""

    problem: AbstractProblem
    method: AbstractMethod
    penalty: AbstractPenalty | None
    steps: int
    probes: Sequence[AbstractProbe] = ()
    memorised: float = 1e-3
    generalised: float = 1e-3
    until: str | None = None
    records_per_decade: int = PER_DECADE

    def __post_init__(self):
        _check_kinds(self.problem, self.method, self.penalty)
        probes = (self.probes,) if isinstance(self.probes, AbstractProbe) else tuple(self.probes)
        object.__setattr__(self, "probes", check_probes(probes))
        object.__setattr__(self, "steps", check_count("steps", self.steps, least=0, most=2**62))
        check_count("records_per_decade", self.records_per_decade)
        if self.until is not None:
            check_choice("event", self.until, EVENTS)
        if self.until == "generalised" and not self.problem.has_test:
            raise InputError(f"until='generalised' needs a test measure and {self.problem!r} has none: give it a truth")

    def configuration(self) -> dict[str, Any]:
        """The run's identity, as plain JSON values."""
        return {
            "engine": ENGINE,
            "problem": self.problem.text,
            "method": self.method.text,
            "penalty": None if self.penalty is None else self.penalty.text,
            "steps": int(self.steps),
            "probes": sorted(probe.text for probe in self.all_probes),
            "thresholds": {watch.name: watch.threshold for watch in self.watches},
            "until": self.until,
            "records_per_decade": self.records_per_decade,
            "precision": self.precision,
        }

    def lane(self) -> Lane:
        """The job as the compiled loop takes it; refuses combinations that cannot work."""
        self.method.check(self.problem, self.penalty)
        self.check_parts()
        return Lane(
            problem=in_precision(self.problem, self.precision),
            method=in_precision(self.method, self.precision),
            penalty=in_precision(self.penalty, self.precision),
            probes=self.all_probes,
            watched=(TrainError(), TestError()),
            thresholds=jnp.asarray([watch.threshold for watch in self.watches]),
            stop_on=jnp.asarray([watch.name == self.until for watch in self.watches]),
        )


def train(
    problem: AbstractProblem,
    method: AbstractMethod,
    penalty: AbstractPenalty | None = None,
    *,
    steps: int,
    probes: Sequence[AbstractProbe] = (),
    memorised: float = 1e-3,
    generalised: float = 1e-3,
    until: str | None = None,
    records_per_decade: int = PER_DECADE,
    progress: bool | None = None,
) -> Run:
    """Runs `method` on `problem` with `penalty` for `steps` steps and returns what happened.

    Every run records the training loss, both errors, the norms and the penalty; `probes` adds to them.
    `memorised` and `generalised` are the thresholds on the train and test error; `until="generalised"`
    stops at the first record at which that has happened. Ctrl-C returns the run so far.

    >>> import latebloom as lb
    >>> problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12, seed=1)
    >>> run = lb.train(problem, lb.GradientDescent(0.1), lb.L1(1e-4), steps=30_000)
    >>> run.outcome.sentence
    'finished after 30,000 steps'
    """
    job = Job(problem, method, penalty, steps, probes, memorised, generalised, until, records_per_decade)
    (run,) = run_jobs([job], progress=progress)
    if run is None:
        raise KeyboardInterrupt
    return run


def train_batch(
    problems: AbstractProblem | Sequence[AbstractProblem],
    methods: AbstractMethod | Sequence[AbstractMethod],
    penalties: AbstractPenalty | Sequence[AbstractPenalty | None] | None = None,
    *,
    steps: int | Sequence[int],
    probes: Sequence[AbstractProbe] = (),
    memorised: float = 1e-3,
    generalised: float = 1e-3,
    until: str | None = None,
    records_per_decade: int = PER_DECADE,
    progress: bool | None = None,
) -> list[Run]:
    """Runs many configurations on all cores, those of one structure in one compiled program.

    Each of `problems`, `methods`, `penalties`, `steps` is one value for all or a list; lists have one length.
    Runs that differ in seed, strength, learning rate, initial scale or number of steps have one structure, and
    every run gives bit for bit the numbers that `train` gives for it alone. Ctrl-C returns the runs so far; those that
    had not begun are left out.
    """
    columns = [listed(values) for values in (problems, methods, penalties, steps)]
    cells = broadcast(columns, ("problems", "methods", "penalties", "steps"))
    options: Any = (probes, memorised, generalised, until, records_per_decade)
    jobs = [Job(problem, method, penalty, count, *options) for problem, method, penalty, count in cells]
    return [run for run in run_jobs(jobs, progress=progress) if run is not None]


def run_jobs(
    jobs: Sequence[Job],
    *,
    label: str = "training",
    on_records: Callable[[int, Rows], None] | None = None,
    progress: bool | None = None,
) -> list[Run | None]:
    """Runs jobs on all cores; `on_records(number, rows)` sees the records of each as they are made.

    After Ctrl-C, a job that had not begun gives None.
    """
    started = time.perf_counter()
    for job in jobs:
        _warn_unstable(job)
    lanes = [job.lane() for job in jobs]
    schedules = [log_spaced(job.steps, job.records_per_decade) for job in jobs]
    results = drive(lanes, schedules, label=label, on_records=on_records, show_progress=progress)
    total = max(sum(result.steps_run for result in results), 1)
    seconds = time.perf_counter() - started
    shares = [seconds * result.steps_run / total for result in results]
    return [
        _assemble(job, result, share) if result.rows else None
        for job, result, share in zip(jobs, results, shares, strict=True)
    ]


def listed(values: T | Sequence[T]) -> list[T]:
    """A list as it is, one value as a list of one."""
    return list(values) if isinstance(values, list | tuple | range | np.ndarray) else [values]  # type: ignore[list-item]


def broadcast(columns: Sequence[list[Any]], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The cells of a batch: a list of one holds for all of them."""
    count = max(len(column) for column in columns)
    lengths = {len(column) for column in columns} - {1}
    if len(lengths) > 1 or 0 in lengths:
        sizes = ", ".join(str(len(column)) for column in columns)
        raise InputError(f"a batch needs lists of one length, got {sizes} {', '.join(names[:-1])} and {names[-1]}")
    return list(zip(*(column * count if len(column) == 1 else column for column in columns), strict=True))


def _check_kinds(problem: object, method: object, penalty: object) -> None:
    for what, value, kind in (("problem", problem, AbstractProblem), ("method", method, AbstractMethod)):
        if not isinstance(value, kind):
            raise InputError(f"{what} must be a {kind.__name__[8:].lower()} record, not {type(value).__name__}")
    if penalty is not None and not isinstance(penalty, AbstractPenalty):
        raise InputError(f"penalty must be a penalty record such as L1(1e-5), not {type(penalty).__name__}")


def check_probes(probes: Sequence[AbstractProbe]) -> tuple[AbstractProbe, ...]:
    """Probes that write different columns."""
    columns: dict[str, AbstractProbe] = {probe.column: probe for probe in ALWAYS}
    for probe in probes:
        if not isinstance(probe, AbstractProbe):
            raise InputError(f"probes must be probe records such as GradientRatio(), not {probe!r}")
        if probe.column in CLOCKS or columns.setdefault(probe.column, probe) != probe:
            raise InputError(
                f"two probes would write the column {probe.column!r}: leave one out, or name it differently"
            )
    return tuple(probes)


def largest_learning_rate(job: Job) -> float:
    """`2/σ_max(XᵀX)` for gradient steps on a linear problem, infinite where no such limit is known."""
    limited = isinstance(job.method, GradientDescent | ProximalGradient)
    if not (limited and isinstance(job.problem, AbstractLinear) and job.problem.linear):
        return float("inf")
    return 2 / max(job.problem.sharpness(), float(np.finfo(float).tiny))


def _warn_unstable(job: Job) -> None:
    rate, limit = _learning_rate(job.method), largest_learning_rate(job)
    if rate > limit:
        advice = f"{_above(rate, limit)}: the run will diverge; use e.g. {limit / 2:.2g}"
        warnings.warn(advice, LatebloomWarning, stacklevel=4)


def _above(rate: float, limit: float) -> str:
    return f"learning_rate={rate:g} is above 2/σ_max(XᵀX) = {limit:.6g}"


def _learning_rate(method: AbstractMethod) -> float:
    return float(getattr(method, "learning_rate", 1.0))


def _assemble(job: Job, result: LaneResult, seconds: float) -> Run:
    columns = result.columns()
    clocks = _clocks(columns, job)
    columns = clocks | {name: values for name, values in columns.items() if name not in clocks}
    found = [replace(seen, name=watch.name) for seen, watch in zip(result.milestones, job.watches, strict=True)]
    if "log_time" in columns:
        found = [milestones.with_log_time(one, columns["step"], columns["log_time"]) for one in found]
    sharp = milestones.sharpness(columns["step"], columns["test_error"], found[0], found[1])
    measured = job.problem.has_test
    return Run(
        configuration=job.configuration(),
        columns=columns,
        params=None if result.point is None else jax.tree.map(np.asarray, result.point.params),
        outcome=_outcome(job, int(columns["step"][-1]), result),
        milestones=Milestones(found[0], found[1] if measured else None, sharp if measured else None),
        provenance=provenance(seconds, result.steps_run) | {"learning_rate": _constant_rate(job.method, columns)},
    )


def _constant_rate(method: AbstractMethod, columns: Rows) -> float | None:
    """What turns steps into times; None where the method keeps the time itself."""
    return None if "log_time" in columns else _learning_rate(method)


def _clocks(columns: Rows, job: Job) -> Rows:
    steps = columns["step"]
    if "log_time" in columns:  # the method's own; its exponential overflows
        return {"step": steps, "log_time": columns["log_time"]}
    clocks = {"step": steps, "time": steps * _learning_rate(job.method)}
    if job.penalty is not None and len(job.penalty.strengths) == 1:
        clocks["slow_time"] = clocks["time"] * job.penalty.strengths[0]
    return clocks


def _outcome(job: Job, last: int, result: LaneResult) -> outcome.Outcome:
    if result.broken_at is not None:
        return outcome.broken(result.broken_at, finite=not result.not_finite, cause=_cause(job, result.broken_at))
    if result.interrupted:
        return outcome.interrupted(last)
    remark = _collapse(job, result)
    if job.until is None:
        return outcome.finished(last, remark)
    return outcome.stopped(last, job.until) if result.stopped else outcome.budget_spent(last, job.until, remark)


def _collapse(job: Job, result: LaneResult) -> str:
    """What to say of a run with a penalty that has learned nothing by its end; nothing of others."""
    errors = result.scheduled("train_error")
    level, name = job.problem.trivial or (errors[0], "it began")
    if len(errors) < 2 or errors[-1] < NO_LOWER * level or (errors <= job.memorised).any() or not _felt(job, result):
        return ""
    advice = f"{job.penalty!r} outweighs the loss: try a tenth of its strength"
    return f", with a train error of {errors[-1]:.3g}, no lower than {name}: probably {advice}"


def _felt(job: Job, result: LaneResult) -> bool:
    """Whether there is a penalty that pulls at least a tenth as hard as the loss where the run has ended."""
    if job.penalty is None or result.point is None or not any(job.penalty.strengths):
        return False
    ratio = float(GradientRatio().measure(job.problem, job.penalty, result.point.params))
    return not ratio > 1 / FELT  # NaN: at zero the penalty has no slope to compare with


def _cause(job: Job, step: int) -> str:
    if step == 0:
        return "the start itself is beyond all numbers; scale the data or the initial parameters down"
    rate, limit = _learning_rate(job.method), largest_learning_rate(job)
    if rate > limit:
        return f"{_above(rate, limit)}; use e.g. {limit / 2:.2g}"
    return f"learning_rate={rate:g} is probably too large; try {rate / 10:g}"
