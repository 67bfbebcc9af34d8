"""What a run must do to count as across a boundary, as text: parsed, never evaluated as code."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from latebloom.core.formula import Formula
from latebloom.engine.outcome import Ending
from latebloom.errors import InputError, unknown_name

_COMPARISON = re.compile(r"<=|>=|==|<|>|=")
_WORD = re.compile(r"(\w+) is (not )?(.+)", re.DOTALL)
MILESTONES = {"t1": "memorised", "t2": "generalised"}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
EXAMPLES = "'t2 is reached', 'final_test_error < 1e-3', 't2 < 100 * t1' or 'outcome is diverged'"


class Condition:
    """A question to a run, given as what its row says. What did not happen is neither below nor above anything.

    >>> Condition("t2 is reached")({"t2": 145.0}), Condition("t2 is reached")({"t2": float("nan")})
    (True, False)
    >>> Condition("t2 < 100 * t1 and final_test_error < 1e-3")({"t1": 1.0, "t2": 50.0, "final_test_error": 1e-2})
    False
    """

    def __init__(self, text: str):
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"crosses={text!r} is no condition: write {EXAMPLES}")
        self.text = " ".join(text.split())
        self._parts = [_read(part.strip(), self.text) for part in re.split(r"\band\b", self.text)]

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"

    def __call__(self, row: Mapping[str, Any]) -> bool:
        return all(part(row) for part in self._parts)


def _read(text: str, whole: str) -> Callable[[Mapping[str, Any]], bool]:
    if match := _WORD.fullmatch(text):
        return _is(match[1], bool(match[2]), match[3].strip().strip("'\""), whole)
    found = _COMPARISON.findall(text)
    if len(found) != 1 or found[0] not in _COMPARE:
        raise InputError(f"{text!r} in crosses={whole!r} is no condition: write {EXAMPLES}")
    left, right = (Formula(side) for side in text.split(found[0]))
    return lambda row: _compared(left, found[0], right, row)


def _is(name: str, negated: bool, word: str, whole: str) -> Callable[[Mapping[str, Any]], bool]:
    if word == "reached" and name in MILESTONES:
        return lambda row: (_number(name, row) is None) is negated
    if name == "outcome" and word in MILESTONES.values():
        return _is(next(one for one, called in MILESTONES.items() if called == word), negated, "reached", whole)
    if name == "outcome":
        endings = [ending.value for ending in Ending]
        if word not in endings:
            raise unknown_name("outcome", word, [*endings, *MILESTONES.values()])
        return lambda row: (row.get("outcome") == word) is not negated
    raise InputError(f"{name!r} in crosses={whole!r} is not asked so: write {EXAMPLES}")


def _compared(left: Formula, how: str, right: Formula, row: Mapping[str, Any]) -> bool:
    names = dict.fromkeys([*left.names, *right.names])
    values = {name: _number(name, row) for name in names}
    if None in values.values():
        return False
    return bool(_COMPARE[how](left(values), right(values)))


def _number(name: str, row: Mapping[str, Any]) -> float | None:
    """A value of a row; None where it did not happen, or is no number."""
    if name not in row:
        raise unknown_name(
            "value of a run", name, [one for one, value in row.items() if isinstance(value, int | float)]
        )
    value = row[name]
    if value is None or isinstance(value, str):
        return None
    return None if math.isnan(value) else float(value)
