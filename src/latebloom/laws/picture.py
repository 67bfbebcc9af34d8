"""The runs a law is fitted to, the law with its band, and below them what is left over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.figures import Axis, Figure, Line, Panel, Rule

if TYPE_CHECKING:
    from latebloom.laws.law import Fit

_POINTS = 100  # of the law's line


def figure_of(fit: Fit) -> Figure:
    """Two panels: the quantity, and the quantity over the law, both against the regressor.

    With several regressors both are against the law itself. Censored runs are hollow triangles at their end.
    """
    data, quantity = fit.seen.data, words_of(fit.quantity)
    law, x = fit.log_at(data.logs), _across(fit, data.logs)
    axis = Axis(fit.seen.labels[0] if len(fit.exponents) == 1 else f"{quantity} by the law", "log")
    band = f"{100 * fit.confidence:g} % band"
    runs = Panel([*_runs(fit, x, np.zeros_like(law)), *_law(fit, band)], axis, Axis(quantity, "log"))
    left = [*_runs(fit, x, law), Rule(1.0, "", across="y", name="law")]
    below = Panel(left, axis, Axis(f"{quantity} / law", "log"), legend=None)
    return Figure([[runs], [below]], caption=fit.sentence.split(". ")[0])


def words_of(quantity: str) -> str:
    return {"t1": "$t_1$", "t2": "$t_2$"}.get(quantity, quantity.replace("_", " "))


def _across(fit: Fit, logs: np.ndarray) -> np.ndarray:
    return np.exp(logs[:, 0] if len(fit.exponents) == 1 else fit.log_at(logs))


def _runs(fit: Fit, x: np.ndarray, law: np.ndarray) -> list[Line]:
    """The runs over the law: those with a bracket at its upper end, which is where it was seen, the others hollow."""
    data, censored = fit.seen.data, fit.seen.censored
    seen, gone = np.exp(data.high[~censored] - law[~censored]), np.exp(data.low[censored] - law[censored])
    found = [Line(x[~censored], seen, "runs", "cycle 0", "points", size=3.0)]
    if censored.any():
        look = {"symbol": "^", "hollow": True, "size": 4.0}
        found.append(Line(x[censored], gone, "censored: later than this", "cycle 1", "points", **look))
    return found


def _law(fit: Fit, band: str) -> list[Line]:
    """The law along its regressor, or along itself from the least to the most, and its interval."""
    logs = fit.seen.data.logs
    order = np.argsort(logs[:, 0] if len(fit.exponents) == 1 else fit.log_at(logs))
    along = np.interp(np.linspace(0, len(order) - 1, _POINTS), [0, len(order) - 1], [0.0, 1.0])
    ends = logs[order[[0, -1]]]
    path = ends[0] + along[:, None] * (ends[1] - ends[0])
    x, (low, high) = _across(fit, path), fit.band(path)
    lines = [Line(x, np.exp(fit.log_at(path)), "power law", "theory")]
    if np.isfinite(low).all() and np.isfinite(high).all():
        lines.append(Line(x, np.exp(np.column_stack([low, high])), band, "theory", "level"))
    return lines
