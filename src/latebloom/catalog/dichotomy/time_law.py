"""The law of the transition: λt = log α + c, with slope one and a constant that the theorems leave open."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.bounds import at_most, within
from latebloom.catalog.dichotomy.margins import DUAL_NOTE, when_falls
from latebloom.catalog.dichotomy.scales import FULL, FULL_NOTE, ScaleSettings, scale_runs
from latebloom.figures import Axis, Figure, Line, Panel, panels

time_law = Entry(
    "dichotomy/time-law",
    "The law of the transition: λt = log α + c",
    "The slow time of the transition is log α plus a constant: slope 1 over six decades of α, the constant about 3.",
    source="Theorems 3.4 and 3.5; Section 3.2",
    seconds=15,
    settings=ScaleSettings(),
    full=FULL,
    notes=(
        DUAL_NOTE,
        "The transition is where the normalised l2 margin is half of its largest value.",
        FULL_NOTE,
    ),
)


time_law.runs(scale_runs)


def transitions(e):
    """The slow times at which the normalised l2 margin has fallen to half of its largest value, by α; NaN for none."""
    margins = [(run, run["margin_l2"]) for run in e.runs.values()]
    return np.array([when_falls(run, margin, float(np.nanmax(margin)) / 2) for run, margin in margins], dtype=float)


def line_through(scales, times):
    """The line of slow times in log α; None where a time is missing or there are no two scales."""
    found = np.isfinite(times).all() and len(set(scales)) > 1
    return lb.theory.fit_transition(scales, times) if found else None


def of_law(e, what):
    """Slope, offset (with α the entries of the start) or spread of the line through the transitions; NaN for none."""
    return getattr(line_through(e.settings.init_scales, transitions(e)), what, float("nan"))


@time_law.claim(within(0.98, 1.02), "slope of λt in log α", source="Theorems 3.4 and 3.5, Section 3.2")
def slope_one(e):
    """The transition is at time (1/λ) log α: its slow time λt grows as log α."""
    return of_law(e, "slope")


@time_law.claim(at_most(0.05), "largest residual of the line", source="Theorems 3.4 and 3.5, finite α", kind="ours")
def straight_line(e):
    """λt = log α + c with one constant for all α."""
    return of_law(e, "spread")


@time_law.claim(
    within(2, 4), "constant c, with α the entries of the start,", source="Theorems 3.4 and 3.5, finite α", kind="ours"
)
def constant(e):
    """Beside log α there is a constant that the limit α → ∞ leaves open: positive with α the entries of the start."""
    return of_law(e, "offset")


@time_law.claim(
    within(-2, -0.5),
    "constant c, with α the norm of the start,",
    source="Section 3.2.3, Figure 1a, finite α",
    kind="ours",
)
def constant_in_the_norm(e):
    """With the norm of the start for α, √(2d) times its entries, that constant is negative."""
    return of_law(e, "offset") - float(np.log(float(np.sqrt(2 * e.settings.dimension))))


@time_law.figure
def time_law_figure(e):
    scales, paths = np.array(e.settings.init_scales), []
    for place, (scale, run) in enumerate(zip(scales, e.runs.values(), strict=True)):
        fitted = run["slow_time"] > 1e-2
        share = run["margin_l2"][fitted] / np.nanmax(run["margin_l2"])
        shade = panels.shade_of(place, len(scales))
        paths.append(Line(run["slow_time"][fitted] - np.log(scale), share, rf"$\alpha=${scale:g}", shade=shade))
    times = [Line(scales, transitions(e), "measured", "train", "points")]
    if (found := line_through(scales, transitions(e))) is not None:
        name = f"fit: slope {found.slope:.3f}, c = {found.offset:.2f}"
        times.append(Line(scales, found.slope * np.log(scales) + found.offset, name, "grey", "theory"))
    times.append(Line(scales, np.log(scales), r"$\log\alpha$", "theory"))
    x = Axis(r"$\lambda t - \log\alpha$", low=-4, high=10)
    left = Panel(paths, x, Axis(r"$L^2$ margin over its largest"), legend="upper right")
    y = Axis(r"slow time $\lambda t$ of the transition")
    right = Panel(times, Axis(r"initial scale $\alpha$ (every entry)", "log"), y, legend="upper left")
    return Figure([[left, right]])
