"""A grid of jobs: one job, and the values that some of its fields take."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from latebloom.engine.job import AbstractJob
from latebloom.errors import InputError

J = TypeVar("J", bound=AbstractJob)


def grid(job: J, axes: Mapping[str, Sequence[Any]]) -> dict[str, J]:
    """The job once for every combination of values, by a name that tells them apart: `learning_rate=0.1, seed=0`.

    An axis is a field of the job (`steps`) or of one of its parts (`method.learning_rate`); the last one changes first.
    `lb.run` takes the mapping and gives one of the same names.

    >>> import latebloom as lb
    >>> problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12)
    >>> job = lb.TrainJob(problem, lb.GradientDescent(0.1), lb.L1(1e-3), steps=100)
    >>> list(grid(job, {"method.learning_rate": [0.1, 0.05], "problem.seed": range(2)}))[:2]
    ['learning_rate=0.1, seed=0', 'learning_rate=0.1, seed=1']
    """
    values = {path: list(given) for path, given in axes.items()}
    for path, given in values.items():
        if not given:
            raise InputError(f"the axis {path!r} has no values: give at least one")
    shown = _short(list(values))
    jobs: dict[str, J] = {}
    for cell in itertools.product(*values.values()):
        name = ", ".join(f"{shown[path]}={_text(value)}" for path, value in zip(values, cell, strict=True))
        if name in jobs:
            raise InputError(f"two cells of the grid are called {name!r}: give each value once")
        jobs[name] = job.but(dict(zip(values, cell, strict=True)))
    return jobs


def _short(paths: Sequence[str]) -> dict[str, str]:
    """The last part of a path where no other ends alike, the whole path elsewhere."""
    ends = [path.rpartition(".")[2] for path in paths]
    return {path: end if ends.count(end) == 1 else path for path, end in zip(paths, ends, strict=True)}


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(getattr(value, "text", value))
