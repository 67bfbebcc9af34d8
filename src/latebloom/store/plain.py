"""Plain JSON values from Python and NumPy ones, and back.

JSON has no infinities. They are written as the strings "NaN", "Infinity" and "-Infinity",
which `float` in Python and `Number` in JavaScript both read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from latebloom.errors import InputError

_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def plain(value: Any, where: str = "value") -> Any:
    """`value` made of dict, list, str, int, finite float, bool and None only.

    >>> plain({"until": math.inf, "shape": (20, 20)})
    {'until': 'Infinity', 'shape': [20, 20]}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _name(value)
    if isinstance(value, Mapping):
        return {_key(key, where): plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if callable(getattr(value, "tolist", None)):  # NumPy and JAX arrays and scalars, without importing either
        return plain(value.tolist(), where)
    raise InputError(
        f"{where}={value!r} cannot be stored: it must be made of numbers, text, lists and dicts; "
        f"write its text, e.g. {where}=str(...)"
    )


def restore(value: Any) -> Any:
    """The inverse of `plain` on floats: the three names become numbers again."""
    if isinstance(value, dict):
        return {key: restore(item) for key, item in value.items()}
    if isinstance(value, list):
        return [restore(item) for item in value]
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value


def parse(text: str) -> dict[str, Any]:
    """The dictionary written in `text`; ValueError if it is anything else."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, got {type(value).__name__}")
    return restore(value)


def _name(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise InputError(f"{where} has the key {key!r}: keys must be text; write {str(key)!r}")
    return key
