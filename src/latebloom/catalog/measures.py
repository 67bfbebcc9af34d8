"""Measurements and draws that entries of several papers share."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Evidence

if TYPE_CHECKING:
    from latebloom.engine.run import Run
    from latebloom.oracles import NuclearResult
    from latebloom.problems import AbstractMatrix, MatrixCompletion


def log_slope(x: Iterable[float], y: Iterable[float]) -> float:
    """The least-squares slope of log y in log x."""
    return float(np.polyfit(np.log(np.asarray(list(x))), np.log(np.asarray(list(y))), 1)[0])


def value_at(run: Run, column: str, time: float) -> Any:
    """A column at a time, linear in log time between records; a row of it for a vector probe."""
    times, values = np.log(run["time"][1:]), run[column][1:]
    if values.ndim == 1:
        return float(np.interp(np.log(time), times, values))
    return np.array([np.interp(np.log(time), times, part) for part in values.T])


def first_time(run: Run, condition: np.ndarray) -> float | None:
    """The first recorded time at which a condition on the records holds."""
    hits = np.flatnonzero(condition)
    return float(run["time"][hits[0]]) if len(hits) else None


def fall_time(run: Run, column: str, share: float, *, after: float) -> float | None:
    """When a share of a column's fall between the time `after` and the end is done."""
    begin, end = value_at(run, column, after), run[column][-1]
    below = (run["time"] >= after) & (run[column] <= begin - share * (begin - end))
    return first_time(run, below)


def flat(params: Any) -> np.ndarray:
    """All parameters in one vector, layers in the order of their names."""
    if not isinstance(params, dict):
        return np.asarray(params).ravel()
    return np.concatenate([np.asarray(layer).ravel() for _, layer in sorted(params.items())])


def completion(seed: int, **problem: Any) -> MatrixCompletion:
    """A planted matrix with some entries observed; a row that is never observed is part of the experiment."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.problems.UnobservedWarning)
        return lb.problems.MatrixCompletion(seed=seed, **problem)


def matrix_problem(evidence: Evidence, name: str) -> AbstractMatrix:
    """The problem that a run was made on."""
    problem = evidence.jobs[name].problem
    assert isinstance(problem, lb.problems.AbstractMatrix)
    return problem


def truth_of(evidence: Evidence, name: str) -> np.ndarray:
    """The planted matrix of a run's problem."""
    return np.asarray(matrix_problem(evidence, name).truth)


@lru_cache(maxsize=256)  # several claims and the figure ask for the same draw
def oracle(problem: AbstractMatrix) -> NuclearResult:
    """The minimum nuclear-norm interpolator of a draw."""
    return lb.oracles.min_nuclear_norm(problem)
