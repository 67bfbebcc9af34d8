"""An adaptive search for a crossing: which places to try next, and when the answer is as sharp as the whole grid's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from latebloom.errors import InputError, check_choice, check_count, check_number
from latebloom.laws.crossing import Crossing, crossing

BATCH = 8  # runs per proposal, whatever the machine: the cells tried are then the same everywhere
MISSED = 0.05  # a crossing is looked for in vain when it is on the axis with less than this probability
FEWEST = 3  # values of an axis
DIGITS = 6  # of a gain: rounding must not choose between two places that are as good


class Search:
    """What was tried along an axis, and what to try next. It is a function of its counts: nothing is drawn.

    >>> search = Search(range(0, 101), seeds=20)
    >>> while cells := search.propose():
    ...     for cell in cells:
    ...         search.tell(cell, crossed=cell > 30)
    >>> search.why, search.runs, [round(end, 1) for end in search.interval]
    ('narrow', 40, [30.0, 30.9])
    """

    def __init__(
        self,
        values: Sequence[float],
        *,
        scale: str = "linear",
        seeds: int = 20,
        width: float | None = None,
        most_runs: int | None = None,
        batch: int = BATCH,
    ):
        self.values = np.array([check_number("a value of the axis", value) for value in values])
        if len(self.values) < FEWEST or not (np.diff(self.values) > 0).all():
            raise InputError(
                f"a boundary needs an axis of at least {FEWEST} rising values, not {len(self.values)}: add some"
            )
        self.scale = check_choice("scale of the axis", scale, ("linear", "log"))
        if scale == "log" and self.values[0] <= 0:
            raise InputError(f"an axis from {self.values[0]:g} has no logarithm: write scale = 'linear'")
        self.seeds = check_count("seeds", seeds)
        self.asked = None if width is None else check_number("width", width, above=0)
        self.grid_runs = len(self.values) * self.seeds
        self.most_runs = self.grid_runs if most_runs is None else check_count("most_runs", most_runs)
        self.batch = check_count("batch", batch)
        self.allowed = np.full(len(self.values), True)
        self.tried, self.crossed = np.zeros(len(self.values)), np.zeros(len(self.values))

    @cached_property
    def places(self) -> np.ndarray:
        """The values on an axis from 0 to 1."""
        positions = self._position(self.values)
        return (positions - positions[0]) / (positions[-1] - positions[0])

    @cached_property
    def spacing(self) -> float:
        return float(np.diff(self.places).min())

    def _position(self, values):
        return np.log(values) if self.scale == "log" else np.asarray(values, float)

    def value(self, place: float) -> float:
        """A place from 0 to 1 as a value of the axis."""
        first, last = self._position(self.values[[0, -1]])
        at = first + place * (last - first)
        return float(np.exp(at) if self.scale == "log" else at)

    def place(self, values):
        """Values of the axis as places from 0 to 1."""
        first, last = self._position(self.values[[0, -1]])
        return (self._position(np.asarray(values, float)) - first) / (last - first)

    @property
    def runs(self) -> int:
        """How many were tried."""
        return round(self.tried.sum())

    def tell(self, number: int, crossed: bool) -> None:
        """A run at the value of this number did, or did not, cross."""
        self.tried[number] += 1
        self.crossed[number] += bool(crossed)
        self.__dict__.pop("known", None)
        self.__dict__.pop("target", None)

    def leave_out(self, number: int) -> None:
        """There can be no run at the value of this number."""
        self.allowed[number] = False

    @cached_property
    def known(self) -> Crossing:
        """The posterior, on the axis from 0 to 1."""
        return crossing(self.places, tried=self.tried, crossed=self.crossed, spacing=self.spacing)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the crossing is at 95 %, in values of the axis."""
        low, high = self.known.interval()
        return self.value(low), self.value(high)

    @property
    def middle(self) -> float:
        """The crossing: the median of the posterior, in values of the axis."""
        return self.value(self.known.middle)

    @cached_property
    def target(self) -> float:
        """How narrow the interval has to be: what was asked for, or that of the whole grid, were P as now believed."""
        if self.asked is not None:
            return self.asked
        chances = 1 / (1 + np.exp(-np.clip((self.places - self.known.middle) / self.known.scale, -700, 700)))
        every = np.full(len(self.places), float(self.seeds))
        return crossing(self.places, tried=every, crossed=self.seeds * chances, spacing=self.spacing).width

    @property
    def width(self) -> float:
        """How wide the interval is: in values where a width was asked for, else on the axis from 0 to 1."""
        low, high = self.interval
        return self.known.width if self.asked is None else high - low

    def _is_narrow(self) -> bool:
        """Whether the interval is no wider than it has to be; what is plainly wider is not compared in full.

        By the information in independent outcomes at even spacing d, the grid's is about 3.92 √(w d / seeds).
        """
        rough = max(3.92 * (abs(self.known.scale) * self.spacing / self.seeds) ** 0.5, self.spacing)
        return (self.asked is not None or self.known.width < 2 * rough) and self.width <= self.target

    @property
    def why(self) -> str:
        """Why nothing more is tried: "narrow", "none" or "all" cross, "spent", "impossible"; "" while it goes on."""
        if self.allowed.sum() < FEWEST:
            return "impossible"
        if not self.runs:
            return ""
        inside = self.known.inside(*self.places[np.flatnonzero(self.allowed)[[0, -1]]])
        if inside < MISSED:
            return "all" if self.crossed.sum() > self.runs / 2 else "none"
        if self.runs > self.batch and inside >= 1 - MISSED and self._is_narrow():
            return "narrow"
        return "spent" if self.runs >= self.most_runs else ""

    def propose(self) -> list[int]:
        """The numbers of the values to try next, a fresh run each; none when the search is over."""
        if self.why:
            return []
        count = min(self.batch, self.most_runs - self.runs)
        if not self.runs:  # evenly, with both ends
            possible = np.flatnonzero(self.allowed)
            return [int(possible[round(at)]) for at in np.linspace(0, len(possible) - 1, count)]
        return self._sharpest(count)

    def _sharpest(self, count: int) -> list[int]:
        """The values whose runs are expected to leave the least variance, each as if those before it had been made.

        A run that is not made yet counts with its chance: the likelihood of a share of a success.
        """
        known = self.known
        possible = np.flatnonzero(self.allowed)
        chances, weights = known.chances(self.places[possible]), known.weights
        found = []
        for _ in range(count):
            moments = np.stack([weights, weights * known.centres, weights * known.centres**2], axis=1)
            above = chances @ moments
            below = moments.sum(axis=0) - above
            left = _variance(above) + _variance(below)
            scale = 10.0**DIGITS / max(float(left.max()), 1e-300)
            best = int(np.argmin(np.round(left * scale)))
            found.append(int(possible[best]))
            chance, share = chances[best], float(above[best, 0])
            weights = weights * np.clip(chance, 1e-300, 1) ** share * np.clip(1 - chance, 1e-300, 1) ** (1 - share)
            weights = weights / weights.sum()
        return sorted(found)


def _variance(moments: np.ndarray) -> np.ndarray:
    """The variance after an outcome times the probability of that outcome, from its mass and moments."""
    mass = np.maximum(moments[:, 0], 1e-300)
    return np.maximum(moments[:, 2] - moments[:, 1] ** 2 / mass, 0)
