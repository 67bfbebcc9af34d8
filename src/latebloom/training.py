"""The discrete loop: the exact iteration of the paper, compiled, millions of steps."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, TypeVar

import jax
import numpy as np

from latebloom import milestones, outcome
from latebloom.drive import LaneResult, Rows, drive
from latebloom.errors import InputError, LatebloomWarning, check_choice, check_count
from latebloom.loop import Lane
from latebloom.methods import AbstractMethod, GradientDescent, ProximalGradient
from latebloom.milestones import Milestones, Watch
from latebloom.penalties import AbstractPenalty
from latebloom.probes import ALWAYS, AbstractProbe, TestError, TrainError
from latebloom.problems import AbstractLinear, AbstractProblem
from latebloom.run import Run
from latebloom.schedule import PER_DECADE, log_spaced

EVENTS = ("memorised", "generalised")

T = TypeVar("T")


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
    on_records: Callable[[int, Rows], None] | None = None,
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
    return train_batch(
        [problem],
        [method],
        [penalty],
        steps=[steps],
        probes=[probes],
        memorised=memorised,
        generalised=generalised,
        until=until,
        records_per_decade=records_per_decade,
        on_records=on_records,
        progress=progress,
    )[0]


def train_batch(
    problems: AbstractProblem | Sequence[AbstractProblem],
    methods: AbstractMethod | Sequence[AbstractMethod],
    penalties: AbstractPenalty | None | Sequence[AbstractPenalty | None] = None,
    *,
    steps: int | Sequence[int],
    probes: Sequence[AbstractProbe] | Sequence[Sequence[AbstractProbe]] = (),
    memorised: float = 1e-3,
    generalised: float = 1e-3,
    until: str | None = None,
    records_per_decade: int = PER_DECADE,
    on_records: Callable[[int, Rows], None] | None = None,
    progress: bool | None = None,
) -> list[Run]:
    """Runs many configurations of one structure in one compiled program, on all cores.

    Each of `problems`, `methods`, `penalties`, `steps` is one value for all or a list; lists have one length.
    The runs may differ in seed, strength, learning rate, initial scale and number of steps, and every run
    gives bit for bit the numbers that `train` gives for it alone.
    """
    started = time.perf_counter()
    per_run_probes = probes if probes and not isinstance(probes[0], AbstractProbe) else [tuple(probes)]
    columns = [_listed(values) for values in (problems, methods, penalties, steps)] + [list(per_run_probes)]
    cells = _broadcast(columns)
    watches = (Watch("memorised", "train_error", memorised), Watch("generalised", "test_error", generalised))
    if until is not None:
        check_choice("event", until, EVENTS)
    lanes = [_lane(problem, method, penalty, extra, watches, until) for problem, method, penalty, _, extra in cells]
    schedules = [log_spaced(check_count("steps", count, least=0), records_per_decade) for *_, count, _ in cells]
    results = drive(lanes, schedules, on_records=on_records, show_progress=progress)
    seconds = time.perf_counter() - started
    return [
        _assemble(cell, lane, result, watches=watches, until=until, seconds=seconds / len(cells))
        for cell, lane, result in zip(cells, lanes, results, strict=True)
    ]


def _listed(values: T | Sequence[T]) -> list[T]:
    return list(values) if isinstance(values, list | tuple | range | np.ndarray) else [values]  # type: ignore[list-item]


def _broadcast(columns: Sequence[list[Any]]) -> list[tuple[Any, ...]]:
    count = max(len(column) for column in columns)
    lengths = {len(column) for column in columns} - {1}
    if len(lengths) > 1 or 0 in lengths:
        sizes = ", ".join(str(len(column)) for column in columns[:4])
        raise InputError(f"a batch needs lists of one length, got {sizes} problems, methods, penalties and steps")
    return list(zip(*(column * count if len(column) == 1 else column for column in columns), strict=True))


def _lane(
    problem: AbstractProblem,
    method: AbstractMethod,
    penalty: AbstractPenalty | None,
    extra: Sequence[AbstractProbe],
    watches: Sequence[Watch],
    until: str | None,
) -> Lane:
    _check_kinds(problem, method, penalty)
    method.check(problem, penalty)
    always = {probe.column: probe for probe in ALWAYS}
    probes = tuple((always | {probe.column: probe for probe in extra}).values())
    for probe in probes:
        probe.check(problem, penalty)
    _warn_unstable(problem, method)
    if penalty is not None:
        jax.eval_shape(penalty.value, problem.init())  # refuses parts that the parameters do not have
    return Lane(
        problem=problem,
        method=method,
        penalty=penalty,
        probes=probes,
        watched=(TrainError(), TestError()),
        thresholds=np.array([watch.threshold for watch in watches]),
        stop_on=np.array([watch.name == until for watch in watches]),
    )


def _check_kinds(problem: object, method: object, penalty: object) -> None:
    for what, value, kind in (("problem", problem, AbstractProblem), ("method", method, AbstractMethod)):
        if not isinstance(value, kind):
            raise InputError(f"{what} must be a {kind.__name__[8:].lower()} record, not {type(value).__name__}")
    if penalty is not None and not isinstance(penalty, AbstractPenalty):
        raise InputError(f"penalty must be a penalty record such as L1(1e-5), not {type(penalty).__name__}")


def largest_learning_rate(problem: AbstractProblem, method: AbstractMethod) -> float:
    """`2/σ_max(XᵀX)` for gradient steps on a linear problem, infinite where no such limit is known."""
    limited = isinstance(method, GradientDescent | ProximalGradient)
    if not (limited and isinstance(problem, AbstractLinear) and problem.linear):
        return float("inf")
    return 2 / problem.sharpness()


def _warn_unstable(problem: AbstractProblem, method: AbstractMethod) -> None:
    limit = largest_learning_rate(problem, method)
    if _learning_rate(method) > limit:
        warnings.warn(
            f"learning_rate={_learning_rate(method):g} is above 2/σ_max = {limit:.4g}: the run will diverge; "
            f"use at most {limit:.3g}",
            LatebloomWarning,
            stacklevel=4,
        )


def _learning_rate(method: AbstractMethod) -> float:
    return float(getattr(method, "learning_rate", 1.0))


def _assemble(cell, lane: Lane, result: LaneResult, *, watches, until: str | None, seconds: float) -> Run:
    problem, method, penalty, steps, _ = cell
    columns = result.columns()
    columns = _clocks(columns["step"], method, penalty) | {k: v for k, v in columns.items() if k != "step"}
    found = [replace(seen, name=watch.name) for seen, watch in zip(result.milestones, watches, strict=True)]
    sharp = milestones.sharpness(columns["step"], columns["test_error"], *found)
    measured = not np.isnan(columns["test_error"][0])
    return Run(
        configuration=configuration(problem, method, penalty, steps, lane.probes, watches, until),
        columns=columns,
        params=jax.tree.map(np.asarray, result.point.params if result.point is not None else None),
        outcome=_outcome(problem, method, columns, result, until),
        milestones=Milestones(found[0], found[1] if measured else None, sharp if measured else None),
        provenance=_provenance(seconds, result.steps_run),
    )


def _clocks(steps: np.ndarray, method: AbstractMethod, penalty: AbstractPenalty | None) -> Rows:
    when = steps * _learning_rate(method)
    clocks = {"step": steps, "time": when}
    if penalty is not None and len(penalty.strengths) == 1:
        clocks["slow_time"] = when * penalty.strengths[0]
    return clocks


def _outcome(problem, method, columns: Rows, result: LaneResult, until: str | None) -> outcome.Outcome:
    last = int(columns["step"][-1])
    if result.broken_at is not None:
        return outcome.broken(result.broken_at, finite=not result.not_finite, cause=_cause(problem, method))
    if result.interrupted:
        return outcome.interrupted(last)
    if until is None:
        return outcome.finished(last)
    return outcome.stopped(last, until) if result.stopped else outcome.budget_spent(last, until)


def _cause(problem: AbstractProblem, method: AbstractMethod) -> str:
    rate, limit = _learning_rate(method), largest_learning_rate(problem, method)
    if rate > limit:
        return f"learning_rate={rate:g} is above 2/σ_max = {limit:.4g}; use at most {limit:.3g}"
    return f"learning_rate={rate:g} is probably too large; try {rate / 10:g}"


def configuration(
    problem: AbstractProblem,
    method: AbstractMethod,
    penalty: AbstractPenalty | None,
    steps: int,
    probes: Sequence[AbstractProbe],
    watches: Sequence[Watch],
    until: str | None,
) -> dict[str, Any]:
    """Everything that decides a run's numbers, as plain JSON values: the run's identity."""
    return {
        "problem": problem.text,
        "method": method.text,
        "penalty": None if penalty is None else penalty.text,
        "steps": int(steps),
        "probes": sorted(probe.text for probe in probes),
        "thresholds": {watch.name: watch.threshold for watch in watches},
        "until": until,
        "precision": "float64" if jax.config.jax_enable_x64 else "float32",  # type: ignore[attr-defined]
    }


def _provenance(seconds: float, gradients: int) -> dict[str, Any]:
    packages = ("latebloom", "jax", "jaxlib", "equinox", "numpy")
    return {
        "seconds": seconds,
        "gradients": gradients,
        "versions": {name: version(name) for name in packages} | {"python": platform.python_version()},
        "platform": platform.platform(),
        "device": jax.devices()[0].platform,
    }
