"""A fitted law: its numbers, its rivals, what it says in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.core.json import plain
from latebloom.errors import InputError
from latebloom.laws import words
from latebloom.laws.intervals import Resampled
from latebloom.laws.observations import Counts, Observations
from latebloom.laws.rivalry import CRITERION, Rival
from latebloom.laws.shapes import Power

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from latebloom.figures import Figure


@dataclass(frozen=True)
class Fit:
    """`quantity = prefactor · Π regressor^exponent`, with intervals at `confidence`.

    `spread` is the standard deviation of log t2 about the law within a seed, `seed_spread` that between seeds (None
    where runs are taken one by one).
    """

    quantity: str
    exponents: dict[str, float]
    prefactor: float
    intervals: dict[str, tuple[float, float]]  # by regressor, and "prefactor"
    confidence: float
    counts: Counts
    spread: float
    seed_spread: float | None
    log_likelihood: float
    said: list[str]
    seen: Observations = field(repr=False)
    shape: Power = field(repr=False)
    resampled: Resampled = field(repr=False)
    doubt: Callable[[], list[str]] = field(repr=False)
    compare: Callable[[], list[Rival]] = field(repr=False)

    @property
    def exponent(self) -> float:
        """The exponent, where there is one."""
        return self.exponents[self._only("exponent")]

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the exponent, where there is one."""
        return self.intervals[self._only("interval")]

    @cached_property
    def notes(self) -> list[str]:
        """Sentences on what to beware of."""
        return [*self.said, *self.doubt()]

    @cached_property
    def rivals(self) -> list[Rival]:
        """The power law and what else could be, the most likely first."""
        return self.compare()

    @property
    def sentence(self) -> str:
        """What was found, with how much, of how many runs, and against which rivals."""
        parts = [words.law(self), words.runs(self.quantity, self.counts), words.verdict(self.rivals)]
        return " ".join([*parts, *(f"{note[0].upper()}{note[1:]}." for note in self.notes)])

    def __str__(self) -> str:
        return self.sentence

    def at(self, **values: Any) -> Any:
        """The law's value where its regressors are these; `fit.at(**{"learning_rate*strength": 1e-6})`."""
        names = list(self.exponents)
        if set(values) != set(names):
            raise InputError(f"the law is in {', '.join(names)}: give each, not {', '.join(values) or 'none'}")
        logs = np.column_stack([np.atleast_1d(np.log(np.asarray(values[name], float))) for name in names])
        found = np.exp(self.log_at(logs))
        return found if any(np.ndim(value) for value in values.values()) else float(found[0])

    def log_at(self, logs: np.ndarray) -> np.ndarray:
        """The law's logarithm at logarithms of the regressors, a column each."""
        return np.log(self.prefactor) + logs @ np.array(list(self.exponents.values()))

    def band(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the law's interval there, as logarithms."""
        return self.resampled.interval(np.column_stack([np.ones(len(logs)), logs]))

    def figure(self) -> Figure:
        """Runs, law and band, and below them what is left: a figure as data."""
        from latebloom.laws.picture import figure_of

        return figure_of(self)

    def plot(self) -> Picture:
        """The same, drawn."""
        from latebloom.figures import draw

        return draw(self.figure())

    def to_json(self) -> dict[str, Any]:
        exponents = [self._number(name, value) for name, value in self.exponents.items()]
        return plain(
            {
                "quantity": self.quantity,
                "against": list(self.exponents),
                "exponent": exponents[0] if len(exponents) == 1 else None,
                "exponents": exponents,
                "prefactor": self._number("prefactor", self.prefactor),
                "confidence": self.confidence,
                "interval": self.resampled.method,
                "counts": self.counts.to_json(),
                "spread": self.spread,
                "seed_spread": self.seed_spread,
                "log_likelihood": self.log_likelihood,
                "criterion": CRITERION,
                "rivals": [rival.to_json() for rival in self.rivals],
                "notes": self.notes,
                "sentence": self.sentence,
            }
        )

    def _number(self, name: str, value: float) -> dict[str, Any]:
        low, high = self.intervals[name]
        return {"name": name, "value": value, "low": low, "high": high, "plus_minus": (high - low) / 2}

    def _only(self, what: str) -> str:
        if len(self.exponents) > 1:
            raise InputError(
                f"this law has {len(self.exponents)} exponents: take {what}s[{next(iter(self.exponents))!r}]"
            )
        return next(iter(self.exponents))
