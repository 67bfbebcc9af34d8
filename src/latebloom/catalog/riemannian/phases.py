"""What entries on flows with weight decay share: the time scale 1/λ, and the two phases in errors and norm."""

from __future__ import annotations

from dataclasses import replace

from latebloom.catalog.base import Settings
from latebloom.catalog.bounds import within
from latebloom.catalog.controls import Altered
from latebloom.catalog.measures import fall_time, times
from latebloom.core.fields import number
from latebloom.figures import Axis, Line, Panel, Rule, panels

FLOW, WITHOUT = "flow", "without weight decay"
AROUND = within(0.1, 10.0), "λt at which half of the late fall is done (one order either side of 1)"
STRENGTH = Axis(r"weight decay $\lambda$", "log")


class DecaySettings(Settings):
    weight_decay: float = number(default=1e-3, above=0, below=1, note="λ")


def clocked(name, factor, words):
    """A control: a run's clock goes faster or slower than it did."""

    def broken(e):
        run = e[name]
        return replace(e, runs={**e.runs, name: replace(run, columns=run.columns | {"time": factor * run["time"]})})

    return Altered(words, broken)


FAST_CLOCK = clocked(FLOW, 1e-2, "a hundredth of the time is shown")
SLOW_CLOCK = clocked(FLOW, 1e2, "a hundred times the time is shown")


def half_fall(s, run, column, *, after):
    """λ times the time at which half of a column's late fall is done."""
    return times(s.weight_decay, fall_time(run, column, 0.5, after=after))


def clock(s, low=1e-2):
    """Time, on a logarithmic axis."""
    return Axis("time $t$", "log", low, s.time)


def slow_scale(s):
    """The time 1/λ."""
    return Rule(1 / s.weight_decay, r"$1/\lambda$")


def errors_over_time(e, **limits):
    """Both errors, the test error without weight decay, t1, t2 and 1/λ."""
    run = e[FLOW]
    traces = [
        panels.curve(run, "train_error", "train error", "train"),
        panels.curve(run, "test_error", "test error", "test"),
        panels.curve(e[WITHOUT], "test_error", r"test, $\lambda = 0$", "test", "beside"),
        *panels.thresholds(run),
        *panels.milestones(run),
        slow_scale(e.settings),
    ]
    return Panel(traces, clock(e.settings), Axis("relative error", "log", **limits), legend="lower left")


def norm_over_time(e, weights, least):
    """The squared norm over its start, with the least that fits as a level."""
    run = e[FLOW]
    start = run["l2_norm"][0] ** 2
    traces = [
        Line(run["time"], run["l2_norm"] ** 2 / start, "flow", "norm"),
        Line(e[WITHOUT]["time"], e[WITHOUT]["l2_norm"] ** 2 / start, r"$\lambda = 0$", "norm", "beside"),
        *([Rule(least / start, "smallest that fits", across="y")] if least is not None else []),
        *panels.milestones(run),
        slow_scale(e.settings),
    ]
    name = f"$|{weights}|^2 / |{weights}_0|^2$"
    return Panel(traces, clock(e.settings), Axis(name, "log"), legend="lower left")
