"""Functions of one variable that a network goes through: snapshots under the panels over time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from latebloom.catalog.riemannian.phases import clock, slow_scale
from latebloom.figures import Axis, Figure, Line, Panel, panels


def moment(run, column, time):
    """A column at a time, between records linear in time."""
    return float(np.interp(time, run["time"], run[column]))


def title_of(run, row, time):
    """A time, powers of ten as such, and the number of kinks where it was counted."""
    power = round(np.log10(time)) if time > 0 else 0
    shown = f"time $10^{{{power}}}$" if power > 1 and time == 10.0**power else f"time {time:g}"
    return f"{shown}: {run['kinks'][row]:.0f} kinks" if "kinks" in run.columns else shown


KEY = (
    Line([], [], "teacher", "grey", "level", width=1.4),
    Line([], [], "network", "test", width=1.1),
    Line([], [], "samples", "theory", "points", symbol="x"),
)


def snapshot(run, time, grid, target, points, vertical):
    """The network's function at a time, over the teacher and the samples."""
    row = int(np.abs(run["time"] - time).argmin())
    shown = (grid, target(grid)), (grid, run["function_values"][row]), (points, target(points))
    traces = [replace(line, x=x, y=y) for line, (x, y) in zip(KEY, shown, strict=True)]
    return Panel(traces, Axis("$x$"), vertical, title=title_of(run, row, time), legend=None)


def network_figure(e, run, learning, grid, target, *, start, low):
    """Panels over time with 1/λ marked, above the function at some times."""
    s, points = e.settings, np.asarray(e.problem().points)
    above = [replace(panel, traces=[*panel.traces, slow_scale(s)], x=clock(s, start)) for panel in learning]
    vertical = Axis("$f_w(x)$", low=low, high=5)
    below = [snapshot(run, time, grid, target, points, vertical) for time in s.snapshots]
    return Figure(panels.in_rows([*above, *below], 3), key=KEY)
