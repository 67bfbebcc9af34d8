"""A grid of jobs: the values that some things take, and a job for every combination."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from latebloom.engine.job import AbstractJob
from latebloom.errors import InputError, says_what_it_takes

J = TypeVar("J", bound=AbstractJob)


class Grid(Mapping[str, J], Generic[J]):
    """Jobs by name, one per combination of values; `cells` has the values of each. The last axis changes first.

    `job` is called with the values by the names of their axes; `name` is a text with these names in braces.

    >>> import latebloom as lb
    >>> problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12)
    >>> def job(rate, strength):
    ...     steps = round(1e-2 / (rate * strength))
    ...     return lb.TrainJob(problem, lb.GradientDescent(rate), lb.L1(strength), steps=steps)
    >>> cells = Grid(job, {"rate": [0.1, 0.05], "strength": [1e-3, 1e-4]}, name="α={rate:g}, β={strength:g}")
    >>> list(cells)[:2], cells["α=0.1, β=0.0001"].steps, cells.cells["α=0.1, β=0.001"]
    (['α=0.1, β=0.001', 'α=0.1, β=0.0001'], 1000, {'rate': 0.1, 'strength': 0.001})
    """

    def __init__(self, job: Callable[..., J], axes: Mapping[str, Sequence[Any]], *, name: str):
        self.axes = {axis: list(values) for axis, values in axes.items()}
        self.name = name
        for axis, values in self.axes.items():
            if not values:
                raise InputError(f"the axis {axis!r} has no values: give at least one")
        self.cells: dict[str, dict[str, Any]] = {}
        self._jobs: dict[str, J] = {}
        for values in itertools.product(*self.axes.values()):
            cell = dict(zip(self.axes, values, strict=True))
            called = self.name_of(**cell)
            if called in self.cells:
                raise InputError(f"two cells of the grid are called {called!r}: give each value once")
            self.cells[called] = cell
            self._jobs[called] = job(**cell)

    def name_of(self, **cell: Any) -> str:
        """The name of the cell with these values."""
        return self.name.format(**cell)

    def __getitem__(self, name: str) -> J:
        return self._jobs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._jobs)

    def __len__(self) -> int:
        return len(self._jobs)


@says_what_it_takes
def grid(job: J, axes: Mapping[str, Sequence[Any]]) -> Grid[J]:
    """The job once for every combination of values, by a name that tells them apart: `learning_rate=0.1, seed=0`.

    An axis is a field of the job (`steps`) or of one of its parts (`method.learning_rate`); the last one changes first.
    `lb.run` takes the mapping and gives one of the same names.

    >>> import latebloom as lb
    >>> problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12)
    >>> job = lb.TrainJob(problem, lb.GradientDescent(0.1), lb.L1(1e-3), steps=100)
    >>> list(grid(job, {"method.learning_rate": [0.1, 0.05], "problem.seed": range(2)}))[:2]
    ['learning_rate=0.1, seed=0', 'learning_rate=0.1, seed=1']
    """
    return _FieldGrid(lambda **cell: job.but(cell), axes, name="")


class _FieldGrid(Grid[J]):
    """A grid over fields of a job, named by them."""

    def name_of(self, **cell: Any) -> str:
        return name_of_cell(cell)


def name_of_cell(cell: Mapping[str, Any]) -> str:
    """The values of a cell by their paths, as a name: `learning_rate=0.1, seed=0`."""
    shown = short_names(list(cell))
    return ", ".join(f"{shown[path]}={_text(value)}" for path, value in cell.items())


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """The last part of a path where no other ends alike, the whole path elsewhere."""
    ends = [path.rpartition(".")[2] for path in paths]
    return {path: end if ends.count(end) == 1 else path for path, end in zip(paths, ends, strict=True)}


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(getattr(value, "text", value))
