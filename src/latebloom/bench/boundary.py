"""A boundary found by the adaptive search, against all runs of the grid: how many runs for the same interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latebloom.bench.base import BenchResult
from latebloom.laws.crossing import crossing
from latebloom.laws.search import Search

NAME = "boundary"
VALUES, SEEDS = 91, 10  # of the grid in examples/recovery.toml
SCALES = (
    1e-4,
    1 / 120,
    1 / 60,
    1 / 40,
)  # a step first, then transitions of the axis; that of the example is some 1/40: 90 % follow 10 % in a ninth of it
FEWER = 5.0  # times fewer runs, the target
COVERS = (0.90, 0.99)  # share of intervals of 95 % that hold what was planted
AS_NARROW = 1.05  # mean width in units of the grid's


@dataclass
class Tally:
    """Planted curves searched, and the same curves on the whole grid."""

    runs: list[int]
    widths: list[float]
    grid_widths: list[float]
    covered: int
    grid_covered: int


def measure(*, curves: int = 200, scales: tuple[float, ...] = SCALES) -> list[BenchResult]:
    """Runs until the interval is as narrow as the grid's, on planted curves.

    Runs and not seconds are compared: `ours` and `theirs` are left open. No search can need fewer than 4 w of the
    grid's, w being the transition's scale in units of the axis: all runs where P is 1/2 tell no more.
    """
    return [_row(planted(scale, curves), scale) for scale in scales]


def planted(scale: float, curves: int, *, values: int = VALUES, seeds: int = SEEDS) -> Tally:
    """Searches on curves with crossings in the middle three fifths of the axis, rising or falling."""
    found = Tally([], [], [], 0, 0)
    for number in range(curves):
        draws = np.random.default_rng([number, round(1e6 * scale)])
        middle, side = draws.uniform(0.2, 0.8), draws.choice([-1, 1])
        search = Search(range(values), seeds=seeds)
        chances = 1 / (1 + np.exp(-np.clip(side * (search.places - middle) / scale, -700, 700)))
        while cells := search.propose():
            for cell in cells:
                search.tell(cell, crossed=bool(draws.random() < chances[cell]))
        every = np.full(values, seeds)
        whole = crossing(search.places, tried=every, crossed=draws.binomial(every, chances))
        found.runs.append(search.runs)
        found.widths.append(search.known.width)
        found.grid_widths.append(whole.width)
        found.covered += _holds(search.known.interval(), middle)
        found.grid_covered += _holds(whole.interval(), middle)
    return found


def _holds(interval: tuple[float, float], value: float) -> bool:
    return interval[0] <= value <= interval[1]


def _row(found: Tally, scale: float) -> BenchResult:
    curves, grid = len(found.runs), VALUES * SEEDS
    ratio, covered = grid / float(np.mean(found.runs)), found.covered / curves
    narrow = float(np.mean(found.widths) / np.mean(found.grid_widths))
    meets = ratio >= FEWER and COVERS[0] <= covered <= COVERS[1] and narrow <= AS_NARROW
    note = (
        f"{np.mean(found.runs):.0f} runs (at most {max(found.runs)}) in place of {grid}, on {curves} planted curves; "
        f"intervals {narrow:.2f} times as wide as the grid's, {found.covered} cover, the grid's {found.grid_covered}"
    )
    what = f"runs for the grid's interval, a scale of 1/{1 / scale:,.0f} of the axis"
    return BenchResult(NAME, what, None, None, ratio, f"at least {FEWER:g}", bool(meets), note)
