"""A result of a sweep against a formula in its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.core.formula import Formula
from latebloom.errors import InputError, unknown_name
from latebloom.figures.traces import Axis, Figure, Line, Panel, Trace

if TYPE_CHECKING:
    import pandas as pd

SPREAD = 5.0  # the ratio of largest to smallest from which an axis is logarithmic
MOST_HUES = 12


def scatter(frame: pd.DataFrame, y: str, x: str, hue: str | None) -> Figure:
    """Points of a column against a formula in columns, a series per value of `hue`.

    Of a milestone that was not reached by the end, the end is shown, as a hollow triangle.
    """
    for name in [y, *([hue] if hue else [])]:
        if name not in frame.columns:
            raise unknown_name("column", name, [str(one) for one in frame.columns])
    formula = Formula(x)
    across = np.asarray(formula({name: frame[name].to_numpy(float) for name in formula.names if name in frame}), float)
    across = np.broadcast_to(across, (len(frame),))
    values = frame[y].to_numpy(float)
    later = frame[f"{y}_low"].to_numpy(float) if f"{y}_high" in frame else np.full(len(frame), np.nan)
    later = np.where(np.isnan(values) & np.isfinite(later), later, np.nan)
    traces: list[Trace] = []
    for name, chosen, look in _series(frame, hue):
        there = chosen & np.isfinite(values)
        traces.append(Line(across[there], values[there], name, marks="points", **look))
        if (open_ := chosen & np.isfinite(later)).any():
            look |= {"symbol": "^", "hollow": True, "name": f"{name} later than".strip()}
            traces.append(Line(across[open_], later[open_], "", marks="points", **look))
    shown = np.concatenate([values[np.isfinite(values)], later[np.isfinite(later)]])
    title = "" if hue is None else hue.replace("_", " ")
    panel = Panel(traces, _axis(_words(x), across), _axis(_words(y), shown), legend_title=title)
    return Figure([[panel]])


def _series(frame: pd.DataFrame, hue: str | None) -> list[tuple[str, np.ndarray, dict[str, Any]]]:
    """Name, rows and look of every series; shades of one colour for numbers."""
    if hue is None:
        return [("", np.ones(len(frame), bool), {})]
    found = sorted(frame[hue].dropna().unique())
    if len(found) > MOST_HUES:
        raise InputError(f"{hue} takes {len(found)} values: at most {MOST_HUES} can be told apart; draw some of them")
    shades = np.linspace(0.0, 0.8, len(found))
    numeric = frame[hue].dtype.kind in "if"
    looks = [{"shade": float(shade)} if numeric else {"role": f"cycle {place}"} for place, shade in enumerate(shades)]
    names = [f"{value:g}" if numeric else str(value) for value in found]
    return [(name, (frame[hue] == value).to_numpy(), look)
            for name, value, look in zip(names, found, looks, strict=True)]  # fmt: skip


def _words(text: str) -> str:
    return text.replace("_", " ").replace("*", " · ").replace("  ", " ")


def _axis(label: str, values: np.ndarray) -> Axis:
    values = values[np.isfinite(values)]
    spread = len(values) > 0 and values.min() > 0 and values.max() > SPREAD * values.min()
    return Axis(label, "log" if spread else "linear")
