"""Which rows of a frame are meant: `strength < 1e-4 and problem = 'sparse_recovery' and t1 is not null`.

The same spelling as in `latebloom runs list --where`, of which this reads comparisons joined by `and`: both sides of
one are arithmetic on columns, or one is a column and the other a text in quotes. Nothing is evaluated as code.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.core.formula import Formula
from latebloom.errors import InputError, unknown_name

if TYPE_CHECKING:
    import pandas as pd

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<>": operator.ne,
    "==": operator.eq,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_NULL = re.compile(r"\s*([\w.]+)\s+is\s+(not\s+)?null\s*", re.IGNORECASE)
_TEXT = re.compile(r"\s*([\w.]+)\s*(!=|<>|==?)\s*(['\"])(.*)\3\s*")
_NUMBERS = re.compile(r"([^<>=!]+)(<=|>=|!=|<>|==?|<|>)([^<>=!]+)")
TAKES = "conditions joined by 'and', e.g. \"strength < 1e-4 and problem = 'sparse_recovery' and t1 is not null\""


def rows_where(frame: pd.DataFrame, where: Any) -> pd.DataFrame:
    """The rows that meet a condition: a text, a mask of as many rows, or a function of the frame that gives one."""
    if where is None:
        return frame
    if isinstance(where, str):
        return choose(frame, np.logical_and.reduce([_met(frame, part) for part in _parts(where)]))
    mask = np.asarray(where(frame) if callable(where) else where)
    if mask.dtype != bool or mask.shape != (len(frame),):
        raise InputError(f"where must be a text, or true or false for each of {len(frame)} rows, not {where!r}")
    return choose(frame, mask)


def choose(frame: pd.DataFrame, mask: Any) -> pd.DataFrame:
    """The rows for which a mask is true."""
    chosen: Any = frame[mask]
    return chosen


def column(frame: pd.DataFrame, name: str) -> pd.Series:
    """A column by its name, or by a path that ends with it (`method.learning_rate`)."""
    for known in (name, name.rsplit(".", 1)[-1]):
        if known in frame.columns:
            found: Any = frame[known]
            return found
    raise unknown_name("column", name, map(str, frame.columns))


def numbers(frame: pd.DataFrame, name: str) -> np.ndarray:
    """A column as floats; what is missing is NaN."""
    import pandas as pd

    found: Any = column(frame, name)
    numeric: Any = pd.to_numeric(found, errors="coerce")
    values = numeric.to_numpy(float, na_value=np.nan)
    wrong = found[np.isnan(values) & found.notna().to_numpy()]
    if len(wrong):
        raise InputError(f"the column {name!r} has {wrong.iloc[0]!r}, which is no number: use a column of numbers")
    return values


def value(frame: pd.DataFrame, formula: Formula) -> np.ndarray:
    """What a formula is in every row."""
    found = formula({name: numbers(frame, name) for name in formula.names})
    return np.broadcast_to(np.asarray(found, float), (len(frame),))


def _parts(where: str) -> list[str]:
    outside = re.sub(r"'[^']*'|\"[^\"]*\"", lambda text: " " * len(text[0]), where)
    if re.search(r"\b(or|like|in|between)\b|;", outside, re.IGNORECASE):
        raise InputError(f"{where!r} cannot be read here: write {TAKES}")
    cuts = [match.span() for match in re.finditer(r"\band\b", outside, re.IGNORECASE)]
    ends = [0, *(place for cut in cuts for place in cut), len(where)]
    return [where[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)]


def _met(frame: pd.DataFrame, part: str) -> np.ndarray:
    if (null := _NULL.fullmatch(part)) is not None:
        return column(frame, null[1]).isna().to_numpy() != bool(null[2])
    if (text := _TEXT.fullmatch(part)) is not None:
        found = column(frame, text[1])
        same = (found.astype(object) == text[4]).to_numpy(bool)
        return same if text[2] in ("=", "==") else ~same & found.notna().to_numpy()
    if (compared := _NUMBERS.fullmatch(part)) is None:
        raise InputError(f"{part.strip()!r} is no condition: write {TAKES}")
    left, right = (value(frame, Formula(side)) for side in (compared[1], compared[3]))
    return _COMPARE[compared[2]](left, right) & ~np.isnan(left) & ~np.isnan(right)
