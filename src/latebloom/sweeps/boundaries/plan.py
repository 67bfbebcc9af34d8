"""What is asked of a boundary, checked against its sweep before anything runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import Any

import numpy as np

from latebloom.core.formula import Formula
from latebloom.errors import InputError, check_choice, check_count, check_number, unknown_name
from latebloom.laws.search import Search
from latebloom.sweeps.axes import MOST
from latebloom.sweeps.boundaries.condition import Condition
from latebloom.sweeps.definition import Cell, Sweep
from latebloom.sweeps.file import read_tables, saying_the_line
from latebloom.sweeps.template import concerning

TABLE = "boundary"
PARTS = ("along", "crosses", "seeds", "width", "most_runs", "oracle", "theory")
SEEDS = 20  # runs per value of the full grid, where nobody says
SEED = "problem.seed"
ORACLES = ("basis_pursuit", "min_norm", "min_nuclear_norm")
FEWEST = 200  # runs that a line must be allowed, where the number of cells is what bounds them
LOGARITHMIC = 1e-6  # relative difference of ratios up to which an axis is evenly spaced in the logarithm


@dataclass(frozen=True)
class Line:
    """One value of the other axis and its place there; None and 0 without one."""

    value: Any
    place: int


class Plan:
    """A sweep, the axis along which its runs go over, and how sharply that is to be known.

    `seeds` is how many runs per value the full grid would have; here every run of a line has a seed of its own, so
    that outcomes at neighbouring values are independent, as the model has them.
    """

    def __init__(
        self,
        sweep: Sweep,
        *,
        along: str | None = None,
        crosses: str = "t2 is reached",
        seeds: int | None = None,
        width: float | None = None,
        most_runs: int | None = None,
        oracle: str | Callable[[Any], Any] | None = None,
        theory: str | None = None,
    ):
        self.sweep = sweep
        self.seed = next((path for path in sweep.axes if path.rpartition(".")[2] == "seed"), SEED)
        given = list(sweep.axes.get(self.seed, ()))
        with concerning(TABLE, "crosses"):
            self.condition = Condition(crosses)
        with concerning(TABLE, "along"):
            self.along = self._axis(along)
            self.other = self._beside()
            self.values = self._numbers()
            self.scale = scale_of(self.values)
        with concerning(TABLE, "seeds"):
            self.seeds = check_count("seeds", seeds) if seeds is not None else len(given) if len(given) > 1 else SEEDS
        with concerning(TABLE, "width"):
            self.width = None if width is None else check_number("width", width, above=0)
        with concerning(TABLE, "most_runs"):
            self.most_runs = None if most_runs is None else check_count("most_runs", most_runs)
        with concerning(TABLE, "oracle"):
            self.oracle = _oracle(oracle)
        with concerning(TABLE, "theory"):
            self.theory = None if theory is None else Formula(theory)
        self.cells = self._extended(given)

    @classmethod
    def read(cls, sweep: Sweep, table: Mapping[str, Any], **given: Any) -> Plan:
        """The plan of a table as a file has it; what is given beside it counts more."""
        for name in table:
            if name not in PARTS:
                with concerning(TABLE, name):
                    raise unknown_name("part of [boundary]", name, PARTS)
        return cls(sweep, **{**table, **{name: value for name, value in given.items() if value is not None}})

    def _axis(self, along: str | None) -> str:
        if along is None:
            raise InputError("a boundary needs along: the axis on which it lies, e.g. along = 'problem.measurements'")
        known = [path for path in self.sweep.axes if path != self.seed]
        matches = [path for path in known if along in (path, path.rpartition(".")[2])]
        if len(matches) != 1:
            raise unknown_name("axis to search along", along, known)
        return matches[0]

    def _beside(self) -> str | None:
        """The one axis that is neither searched along nor the seeds'."""
        others = [path for path in self.sweep.axes if path not in (self.along, self.seed)]
        if len(others) > 1:
            raise InputError(
                f"a boundary has one axis beside {self.along!r} and the seeds, not {len(others)} ({', '.join(others)}):"
                " give the others one value each, in the problem, method or penalty"
            )
        return others[0] if others else None

    def _numbers(self) -> list[float]:
        values = list(self.sweep.axes[self.along])
        if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
            raise InputError(f"{self.along!r} has values that are no numbers: a boundary lies between numbers")
        return sorted(values)

    def _extended(self, given: Sequence[int]) -> Sweep:
        """The sweep with as many seeds as there can be runs in a line, the other axis first and the seeds last."""
        lines = len(self.sweep.axes[self.other]) if self.other else 1
        grid = len(self.values) * self.seeds
        wanted = self.most_runs or grid
        seeds = min(wanted, MOST // (lines * len(self.values)))
        if seeds < min(wanted, FEWEST):
            raise InputError(
                f"{lines:,} x {len(self.values):,} values leave {seeds} seeds each: at most {MOST:,} cells, "
                "so shorten an axis"
            )
        first = list(given) or [0]
        after = count(max(first) + 1)
        kept = {path: self.sweep.axes[path] for path in ([self.other] if self.other else [])}
        fresh = list(islice(chain(first, after), seeds))
        return self.sweep.over({**kept, self.along: self.values, self.seed: fresh})

    @property
    def most(self) -> int:
        """Runs in a line at most."""
        return len(self.cells.axes[self.seed])

    def number(self, line: Line, value: int, run: int) -> int:
        """The number of a cell: the run-th of a line, at a value of the axis."""
        return (line.place * len(self.values) + value) * self.most + run

    def cell(self, line: Line, value: int, run: int) -> Cell:
        """That cell."""
        return self.cells.cell(self.number(line, value, run))

    def lines(self) -> list[Line]:
        """The lines to search: one, or one per value of the other axis."""
        if self.other is None:
            return [Line(None, 0)]
        return [Line(value, place) for place, value in enumerate(self.sweep.axes[self.other])]

    def search(self) -> Search:
        """A search that has not begun."""
        return Search(self.values, scale=self.scale, seeds=self.seeds, width=self.width, most_runs=self.most)


def plan_of(sweep: Sweep | str | os.PathLike[str], **given: Any) -> Plan:
    """The plan for a sweep, or for a file with its table `[boundary]`; what is wrong there is said with its line."""
    if isinstance(sweep, Sweep):
        return Plan.read(sweep, {}, **given)
    wanted, table = read_tables(sweep)
    with saying_the_line(sweep):
        return Plan.read(wanted, table, **given)


def scale_of(values: Sequence[float]) -> str:
    """ "log" of an axis that is evenly spaced in the logarithm and not as it is.

    >>> scale_of([1, 2, 3]), scale_of([1e-6, 1e-5, 1e-4])
    ('linear', 'log')
    """
    points = np.asarray(values, float)
    if len(points) < 3 or (points <= 0).any():
        return "linear"
    ratios = np.diff(np.log(points))
    return "log" if np.ptp(ratios) <= LOGARITHMIC * abs(ratios).max() else "linear"


def _oracle(given: Any) -> Callable[[Any], Any] | None:
    if given is None or callable(given):
        return given
    from latebloom import oracles

    return getattr(oracles, check_choice("oracle of a boundary", str(given), ORACLES))
