"""When a run memorised and when it generalised, and what can be said of the delay.

A milestone is found on the records first, as a bracket [last record before, first record
at or below the threshold]; `train` then pins it to the exact step by running the bracket again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from latebloom.errors import InputError, check_number


@dataclass(frozen=True)
class Watch:
    """A milestone to look for: the first step at which `column` is at or below `threshold`."""

    name: str
    column: str
    threshold: float

    def __post_init__(self):
        check_number(f"{self.name} threshold", self.threshold, above=0)


@dataclass(frozen=True)
class Crossing:
    """A passage from above to below the threshold, seen on records `bracket`; `step` is exact if `pinned`.

    In a flow it is a time, located on the solver's dense output. Both ends of the bracket are the first record where
    the value was below from the start: `at_most`, since it may have been so before.
    """

    step: float
    bracket: tuple[float, float]
    pinned: bool = False

    @property
    def at_most(self) -> bool:
        return self.bracket[0] == self.bracket[1] and (self.step == 0 or not self.pinned)


@dataclass(frozen=True, repr=False)
class Milestone:
    """What became of a `Watch`.

    - `first`: the first crossing; `stable`: the crossing after which the value stayed below to the end. Crossings
      are looked for on the records and pinned inside their bracket: a value that chatters around the threshold
      between two records is not seen there.
    - `lost`: the record at which the value was found above the threshold again, if it was.
    - `censored`: the run ended without a crossing; then the milestone is later than `last_step`, if ever.
    - `clock`: what the numbers count, "step" in `train`, "time" in a flow, "slow_time" in a slow flow.
    - `log_time`: the natural logarithm of the time of the first crossing, in a run that keeps it.
    """

    name: str
    column: str
    threshold: float
    first: Crossing | None
    stable: Crossing | None
    lost: float | None
    last_step: float
    clock: str = "step"
    log_time: float | None = None

    @property
    def censored(self) -> bool:
        return self.first is None

    @property
    def when(self) -> float | None:
        """The first crossing on the run's own clock, exact where it was pinned."""
        return None if self.first is None else self.first.step

    @property
    def step(self) -> int | None:
        """The step of the first crossing, None in a flow."""
        return int(self.first.step) if self.first is not None and self.clock == "step" else None

    @property
    def time(self) -> float | None:
        """The time of the first crossing in a flow, None in an iteration (whose learning rate it does not know)."""
        return self.when if self.clock == "time" else None

    def to_json(self, learning_rate: float | None) -> dict[str, Any] | None:
        """The milestone as `reproduce --json` shows it; null if censored.

        A flow without a learning rate knows no steps.
        """
        if self.first is None:
            return None
        when = self.first.step
        steps = when if self.clock == "step" else when / learning_rate if learning_rate else None
        times = when if self.clock == "time" else when * learning_rate if learning_rate else None
        slow = {"step": None, "time": None, "slow_time": when}
        logs = {"step": steps, "time": _exponential(self.log_time), "log_time": self.log_time}
        plain = {"step": steps, "time": times} if self.log_time is None else logs
        return (slow if self.clock == "slow_time" else plain) | {
            "bracket": list(self.first.bracket),
            "pinned": self.first.pinned,
            "threshold": self.threshold,
            "column": self.column,
            "stable_step": None if self.stable is None else self.stable.step,
            "stable_bracket": None if self.stable is None else list(self.stable.bracket),
            "lost": self.lost,
        }

    def __str__(self) -> str:
        if self.first is None:
            return f"not {self.name} by {self._at(self.last_step)} ({self.column} ≤ {self.threshold:g})"
        low, high = self.first.bracket
        exact = self.first.pinned or self.first.at_most
        bracket = "" if exact else f" [{self._show(low)}, {self._show(high)}]"
        where = f"{self.name} at {'most at ' * self.first.at_most}{self._at(self.first.step)}{bracket}"
        where += "" if self.log_time is None else f" (log time {self.log_time:.5g})"
        return where if self.lost is None else f"{where}, lost again by {self._at(self.lost)}"

    __repr__ = __str__

    def _at(self, when: float) -> str:
        return f"{self.clock.replace('_', ' ')} {self._show(when)}"

    def _show(self, when: float) -> str:
        return f"{when:,}" if self.clock == "step" else f"{when:.5g}"


@dataclass(frozen=True, repr=False)
class Milestones:
    """Memorisation (t1), generalisation (t2), and the delay between them; shown as a sentence."""

    memorised: Milestone | None
    generalised: Milestone | None
    sharpness: float | None

    @property
    def delay(self) -> float | None:
        """`t2 - t1` on the run's clock."""
        if self.memorised is None or self.generalised is None:
            return None
        if self.memorised.when is None or self.generalised.when is None:
            return None
        return self.generalised.when - self.memorised.when

    @property
    def ratio(self) -> float | None:
        """`t2 / t1`; None where it is not defined."""
        if self.delay is None or self.memorised is None or not self.memorised.when:
            return None
        return (self.memorised.when + self.delay) / self.memorised.when

    @property
    def reversed(self) -> bool:
        """Whether it generalised before it memorised, or without: then there was no delay to speak of."""
        if self.memorised is None or self.generalised is None or self.generalised.when is None:
            return False
        return self.memorised.when is None or self.generalised.when < self.memorised.when

    def to_json(self, learning_rate: float | None) -> dict[str, Any]:
        both = {"memorised": self.memorised, "generalised": self.generalised}
        shown: dict[str, Any] = {k: None if m is None else m.to_json(learning_rate) for k, m in both.items()}
        return shown | {"delay": self.delay, "sharpness": self.sharpness}

    def __str__(self) -> str:
        parts = [str(m) for m in (self.memorised, self.generalised) if m is not None]
        if self.reversed:
            return f"{', '.join(parts)}; generalised before it memorised: no grokking"
        if self.ratio is not None and self.memorised is not None and self.memorised.first is not None:
            parts.append(f"delay {'at least ' * self.memorised.first.at_most}{self.ratio:,.0f}x")
        return ", ".join(parts) or "no milestones"

    __repr__ = __str__


def find(watch: Watch, steps: np.ndarray, values: np.ndarray, *, clock: str = "step") -> Milestone:
    """The milestone on a recorded curve, over steps or over times; a NaN counts as above the threshold.

    >>> m = find(Watch("generalised", "test_error", 0.1), np.array([0, 1, 2, 4]), np.array([1, 0.5, 0.05, 0.01]))
    >>> m.first
    Crossing(step=2, bracket=(1, 2), pinned=False)
    """
    steps, values = np.asarray(steps), np.asarray(values, dtype=float)
    if len(steps) == 0 or len(steps) != len(values):
        raise InputError(f"a curve needs as many values as steps and at least one: got {len(steps)} and {len(values)}")
    below = np.less_equal(values, watch.threshold)
    entered = np.flatnonzero(below & ~np.concatenate([[False], below[:-1]]))
    left = np.flatnonzero(~below & np.concatenate([[False], below[:-1]]))
    number = int if clock == "step" else float
    crossings = [_crossing(steps, int(i), number) for i in entered]
    return Milestone(
        watch.name,
        watch.column,
        watch.threshold,
        first=crossings[0] if crossings else None,
        stable=crossings[-1] if crossings and below[-1] else None,
        lost=number(steps[left[0]]) if len(left) else None,
        last_step=number(steps[-1]),
        clock=clock,
    )


def first_crossing(clock: np.ndarray, reached: np.ndarray) -> Crossing | None:
    """The first record at which a condition holds, with the record before it; None if it never does.

    It is the record and not a value between two: where in its bracket the passage was, records do not say.

    >>> first_crossing(np.array([0.0, 1.0, 2.0]), np.array([False, False, True]))
    Crossing(step=2.0, bracket=(1.0, 2.0), pinned=False)
    """
    hits = np.flatnonzero(reached)
    return _crossing(clock, int(hits[0]), int if clock.dtype.kind == "i" else float) if len(hits) else None


def _crossing(steps: np.ndarray, index: int, number: type[int] | type[float]) -> Crossing:
    return Crossing(number(steps[index]), (number(steps[max(index - 1, 0)]), number(steps[index])))


def sharpness(steps: np.ndarray, test: np.ndarray, memorised: Milestone, generalised: Milestone) -> float | None:
    """`t_half / t2`: how much of the way to t2 had passed when the test error had halved since t1 (1 is a cliff)."""
    if memorised.when is None or generalised.when is None or generalised.when <= memorised.when:
        return None
    steps, test = np.asarray(steps), np.asarray(test)
    after = np.flatnonzero(steps >= memorised.when)
    halved = after[test[after] <= test[after[0]] / 2]
    return float(min(steps[halved[0]], generalised.when) / generalised.when) if len(halved) else None


def pin(milestone: Milestone, *, first: int, stable: int) -> Milestone:
    """The milestone with its crossings, where it has them, at the exact steps; -1 leaves one as it is."""
    exact = {"first": first, "stable": stable}
    held = {kind: getattr(milestone, kind) for kind, step in exact.items() if step >= 0}
    pinned = {kind: replace(c, step=exact[kind], pinned=True) for kind, c in held.items() if c is not None}
    return replace(milestone, **pinned)


def with_log_time(milestone: Milestone, steps: np.ndarray, log_times: np.ndarray) -> Milestone:
    """The milestone with the log time of the record at its first crossing."""
    if milestone.first is None:
        return milestone
    row = min(int(np.searchsorted(steps, milestone.first.step)), len(steps) - 1)
    return replace(milestone, log_time=float(log_times[row]))


def _exponential(log_time: float | None) -> float | None:
    """The time itself, where it is a float."""
    return float(np.exp(log_time)) if log_time is not None and log_time < np.log(np.finfo(float).max) else None
