"""The values along an axis: a list, whole numbers from one to another, or so many numbers between two."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from latebloom.core.spacing import geometric, linear
from latebloom.errors import InputError, check_choice, check_count, check_number, unknown_name

MOST = 1_000_000  # cells of a sweep: at 300 a second, an hour
SCALES = ("linear", "log")
RANGE = ("from", "to", "count", "scale")


def read_axis(path: str, given: Any) -> Sequence[Any]:
    """The values of an axis as it is written in a file or in Python, each once.

    >>> read_axis("problem.seed", {"from": 0, "to": 4})
    range(0, 5)
    >>> read_axis("penalty.strength", {"from": 1e-6, "to": 1e-4, "count": 3, "scale": "log"})
    (1e-06, 1e-05, 0.0001)
    >>> read_axis("problem.seed", [])
    Traceback (most recent call last):
    latebloom.errors.InputError: the axis 'problem.seed' has no values: give at least one
    """
    if isinstance(given, range):
        values: Sequence[Any] = given
    elif isinstance(given, Mapping):
        values = _between(path, given)
    elif isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(
            f"the axis {path!r} is {given!r}: give a list of values, or {{from = 0, to = 4}}, or "
            '{from = 0.01, to = 0.1, count = 5, scale = "log"}'
        )
    else:
        values = tuple(_plain(value) for value in given)
    if not values:
        raise InputError(f"the axis {path!r} has no values: give at least one")
    if not isinstance(values, range):
        _check_each(path, values)
    return values


def whole_numbers(path: str, values: Sequence[Any]) -> Sequence[Any]:
    """The values of an axis that counts something: computed ones are rounded, and those that fall together are one."""
    if isinstance(values, range):
        return values
    return tuple(dict.fromkeys(round(value) if isinstance(value, float) else value for value in values))


def values_at(axes: Mapping[str, Sequence[Any]], number: int) -> dict[str, Any]:
    """The values of a cell by the paths of the axes; the last axis changes first.

    >>> values_at({"a": [1, 2], "b": [10, 20, 30]}, 4)
    {'a': 2, 'b': 20}
    """
    found: dict[str, Any] = {}
    for path, values in reversed(list(axes.items())):
        number, place = divmod(number, len(values))
        found[path] = values[place]
    return dict(reversed(list(found.items())))


def _between(path: str, given: Mapping[str, Any]) -> Sequence[Any]:
    for name in given:
        if name not in RANGE:
            raise unknown_name(f"part of the axis {path!r}", str(name), RANGE)
    for name in ("from", "to"):
        if name not in given:
            raise InputError(f"the axis {path!r} has no {name!r}: write {{from = …, to = …}}, or a list of values")
    low, high = (check_number(f"{name} of the axis {path!r}", given[name]) for name in ("from", "to"))
    if "count" in given:
        scale = check_choice(f"scale of the axis {path!r}", given.get("scale", "linear"), SCALES)
        return _spaced(path, low, high, check_count(f"count of the axis {path!r}", given["count"], most=MOST), scale)
    if low != int(low) or high != int(high) or "scale" in given:
        raise InputError(f"the axis {path!r} goes from {low:g} to {high:g}: say in how many values, with count = 5")
    return range(int(low), int(high) + 1)


def _spaced(path: str, low: float, high: float, count: int, scale: str) -> tuple[float, ...]:
    """So many numbers from one to another, both included."""
    if scale == "log" and not (low > 0 and high > 0):
        raise InputError(f"the axis {path!r} goes from {low:g} to {high:g}: a logarithmic one needs both above zero")
    return geometric(low, high, count) if scale == "log" else linear(low, high, count)


def _check_each(path: str, values: Sequence[Any]) -> None:
    seen: set[Any] = set()
    for place, value in enumerate(values, 1):
        if isinstance(value, float) and math.isnan(value):
            raise InputError(f"the axis {path!r} has NaN in place {place}: leave it out")
        if value in seen:
            raise InputError(f"the axis {path!r} has {value!r} twice: give each value once")
        seen.add(value)


def _plain(value: Any) -> Any:
    """A value as it is typed: a number of NumPy as one of Python, a list as a tuple."""
    if callable(getattr(value, "tolist", None)):
        value = value.tolist()
    return tuple(_plain(item) for item in value) if isinstance(value, list | tuple) else value
