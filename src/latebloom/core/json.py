"""Values as JSON can carry them, and back.

JSON has no infinities. A report shows them as null; what is to be read back (`lossless`) has them as the strings "NaN",
"Infinity" and "-Infinity", which `float` in Python and `Number` in JavaScript both read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from latebloom.errors import InputError

_DEEPEST = 100  # ten times what any document of ours has; beyond a thousand Python gives up where it happens to be
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def plain(value: Any, where: str = "value", *, lossless: bool = False) -> Any:
    """`value` made of dict, list, str, int, finite float, bool and None only; `where` names it in a refusal.

    >>> plain({"until": math.inf, "shape": (20, 20)})
    {'until': None, 'shape': [20, 20]}
    >>> plain({"until": math.inf, "shape": (20, 20)}, lossless=True)
    {'until': 'Infinity', 'shape': [20, 20]}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _not_finite(value) if lossless else None
    if isinstance(value, Mapping):
        named = {_key(key, where) if lossless else key: item for key, item in value.items()}
        return {key: plain(item, f"{where}.{key}", lossless=lossless) for key, item in named.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{i}]", lossless=lossless) for i, item in enumerate(value)]
    if callable(getattr(value, "tolist", None)):  # NumPy and JAX arrays and scalars, without importing either
        return plain(value.tolist(), where, lossless=lossless)
    raise InputError(
        f"{where}={value!r} cannot be written as JSON: it must be made of numbers, text, lists and dicts; "
        f"write its text, e.g. {where}=str(...)"
    )


def parse(text: str) -> dict[str, Any]:
    """The dictionary that was written losslessly as `text`; ValueError if it is anything else.

    >>> parse('{"until": "Infinity"}')
    {'until': inf}
    """
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, got {type(value).__name__}")
    # Most documents have none of the names and are shallow by their number of brackets: a third of the time.
    is_plain = text.count("{") + text.count("[") <= _DEEPEST and "NaN" not in text and "Infinity" not in text
    return value if is_plain else _restored(value)


def _restored(value: Any, depth: int = 0) -> Any:
    """The three names as numbers again, wherever they are."""
    if depth > _DEEPEST:
        raise ValueError(f"nested deeper than {_DEEPEST}")
    if isinstance(value, dict):
        return {key: _restored(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_restored(item, depth + 1) for item in value]
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _key(key: Any, where: str) -> str:
    """A number as a key would come back as text."""
    if not isinstance(key, str):
        raise InputError(f"{where} has the key {key!r}: keys must be text; write {str(key)!r}")
    return key
