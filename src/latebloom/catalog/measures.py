"""Measurements and draws that entries of several papers share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Evidence, any_draw

if TYPE_CHECKING:
    from latebloom.engine.run import Run
    from latebloom.flows import SlowPath
    from latebloom.penalties import AbstractPenalty
    from latebloom.problems import AbstractLinear, MatrixCompletion

ETAS = np.geomspace(1e-3, 1.0, 25)  # the precisions at which the delays of Theorems 3.1 and 3.4 are tried


def log_slope(x: Iterable[float], y: Iterable[float]) -> float:
    """The least-squares slope of log y in log x; of fewer than two points there is none."""
    across, up = np.log(np.asarray(list(x))), np.log(np.asarray(list(y)))
    return float(np.polyfit(across, up, 1)[0]) if len(across) > 1 else np.nan


def fall_time(run: Run, column: str, share: float, *, after: float) -> float | None:
    """When a share of a column's fall between the time `after` and the end is done."""
    begin, end = run.at(column, time=after), run[column][-1]
    below = (run["time"] >= after) & (run[column] <= begin - share * (begin - end))
    return run.first(below)


def over(a: float | None, b: float | None) -> float | None:
    """One time over another; None if one of them was not seen."""
    return a / b if a and b else None


def times(factor: float, time: float | None) -> float | None:
    """A time on another clock; None if it was not seen."""
    return factor * time if time else None


def ends_and_times(runs: Sequence[Run]) -> tuple[Sequence[float | None], ...]:
    """Final train error, final test error, t1 and t2 of every run."""
    ends = ([run.final[column] for run in runs] for column in ("train_error", "test_error"))
    return (*ends, [run.t1 for run in runs], [run.t2 for run in runs])


def distance(a: Any, b: Any) -> float:
    """The distance of one array from another, over the norm of the other."""
    return float(np.linalg.norm(np.asarray(a) - np.asarray(b)) / np.linalg.norm(np.asarray(b)))


def t2_predicted(evidence: Evidence, name: str, path: SlowPath, by: float) -> tuple[Any, bool]:
    """Predicted over measured t2, less one, and whether that is small.

    Of a run without t2: whether none was predicted before its end.
    """
    job, run = evidence.job(name), evidence[name]
    rate = float(job.method.learning_rate)
    step = lb.theory.predicted_t2(job.problem, rate, job.penalty, threshold=job.generalised_at, path=path).step
    if run.t2 is None:
        return {"predicted": step, "measured": None}, step > (1 - by) * job.steps
    return step / run.t2 - 1, abs(step / run.t2 - 1) <= by


def times_to_gap(
    run: Run, gaps: np.ndarray, problem: AbstractLinear, learning_rate: float, penalty: AbstractPenalty
) -> tuple[np.ndarray, np.ndarray]:
    """For every η of `ETAS`: the first record after t1 with a gap of at most η/2, and the theorem's t1 + Δt(η).

    Both are NaN, within no bound, of a run without t1: near zero the gap is below η/2 before anything is learnt.
    """
    if run.t1 is None:
        return np.full(len(ETAS), np.nan), np.full(len(ETAS), np.nan)
    start = run.t1
    after = run["step"] >= start
    reached = [np.flatnonzero(gaps[after] <= eta / 2) for eta in ETAS]
    measured = [run["step"][after][hits[0]] if len(hits) else np.inf for hits in reached]
    params = run["components"][after][0].reshape(problem.truth.shape)
    delays = [lb.theory.generalisation_delay(problem, learning_rate, penalty, eta=eta, params=params) for eta in ETAS]
    return np.array(measured, dtype=float), start + np.array([delay.step for delay in delays])


def flat(params: Any) -> np.ndarray:
    """All parameters in one vector, layers in the order of their names."""
    if not isinstance(params, dict):
        return np.asarray(params).ravel()
    return np.concatenate([np.asarray(layer).ravel() for _, layer in sorted(params.items())])


def completion(seed: int, **problem: Any) -> MatrixCompletion:
    """A planted matrix with some entries observed."""
    with any_draw():
        return lb.problems.MatrixCompletion(seed=seed, **problem)
