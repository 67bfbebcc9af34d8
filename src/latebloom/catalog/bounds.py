"""What a claim's number must be, as data: the object that judges it is the one that `latebloom show` prints.

>>> print(within(40, 90), "·", at_most(1e-3), "·", near(-1, by=0.02), "·", each(at_least(0.99)))
between 40 and 90 · at most 0.001 · between -1.02 and -0.98 · each at least 0.99
>>> within(40, 90).judge(59), within(40, 90).judge(None), each(at_least(0.99)).judge({"l1": 1.0, "l2": 0.9})
(True, False, False)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from latebloom.core.json import plain


class AbstractBound(ABC):
    """A condition on a measured value."""

    @abstractmethod
    def judge(self, value: Any) -> bool:
        """Whether the value meets it; None never does."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Kind and numbers."""


@dataclass(frozen=True)
class Interval(AbstractBound):
    """From `low` to `high`, both included unless `strict`."""

    low: float = -math.inf
    high: float = math.inf
    strict: bool = False

    def judge(self, value: Any) -> bool:
        if value is None:
            return False
        return bool(self.low < value < self.high) if self.strict else bool(self.low <= value <= self.high)

    def __str__(self) -> str:
        if self.low == self.high:
            return f"equal to {_short(self.low)}"
        if self.high == math.inf:
            return f"{'above' if self.strict else 'at least'} {_short(self.low)}"
        if self.low == -math.inf:
            return f"{'below' if self.strict else 'at most'} {_short(self.high)}"
        return f"between {_short(self.low)} and {_short(self.high)}"

    def to_json(self) -> dict[str, Any]:
        return {"kind": "interval", "low": plain(self.low), "high": plain(self.high), "strict": self.strict}


@dataclass(frozen=True)
class Each(AbstractBound):
    """The same interval for every item of a list or mapping, of which there must be one at least."""

    interval: Interval

    def judge(self, value: Any) -> bool:
        if value is None:
            return False
        items = list(value.values() if isinstance(value, Mapping) else value)
        return bool(items) and all(self.interval.judge(item) for item in items)

    def __str__(self) -> str:
        return f"each {self.interval}"

    def to_json(self) -> dict[str, Any]:
        return self.interval.to_json() | {"kind": "each"}


@dataclass(frozen=True)
class Condition(AbstractBound):
    """A sentence with numbers in it, which the measure gets by name, and by which it says whether it holds."""

    sentence: str
    numbers: Mapping[str, Any]

    def judge(self, value: Any) -> bool:
        raise TypeError(f"a measure under the condition {self.sentence!r} returns (value, whether it holds)")

    def __str__(self) -> str:
        return self.sentence.format(**self.numbers)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "condition", "sentence": str(self), "numbers": plain(dict(self.numbers))}


def within(low: float, high: float) -> Interval:
    """From `low` to `high`."""
    return Interval(low, high)


def near(value: float, *, by: float) -> Interval:
    """At most `by` away from a value."""
    return Interval(value - by, value + by)


def at_most(high: float) -> Interval:
    """Not above `high`."""
    return Interval(high=high)


def at_least(low: float) -> Interval:
    """Not below `low`."""
    return Interval(low)


def below(high: float) -> Interval:
    """Less than `high`."""
    return Interval(high=high, strict=True)


def above(low: float) -> Interval:
    """More than `low`."""
    return Interval(low, strict=True)


def each(interval: Interval) -> Each:
    """Every item within an interval."""
    return Each(interval)


def holds(sentence: str, /, **numbers: Any) -> Condition:
    """A sentence whose `{name}`s are numbers; the measure takes them as keywords and returns `(value, holds)`."""
    condition = Condition(sentence, numbers)
    for name in numbers:
        if "{" + name not in sentence:
            raise TypeError(f"the sentence {sentence!r} does not say {name}")
    str(condition)  # a slip in a sentence is found when the entry is loaded
    return condition


def _short(value: float) -> str:
    """As many digits as the number has."""
    return f"{value:g}" if float(f"{value:g}") == value else f"{value:.10g}"
