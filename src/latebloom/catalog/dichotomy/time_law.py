"""The law of the transition: λt = log α + c, with slope one and a constant that the theorems leave open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.catalog.dichotomy import margins, scales
from latebloom.catalog.dichotomy.margins import when_falls
from latebloom.catalog.dichotomy.scales import SCALES, name_of
from latebloom.catalog.old_base import Claim, Evidence, Experiment, at_most, within
from latebloom.figures.look import TEST, THEORY, TRAIN, canvas, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.theory import TransitionLaw


def transitions(evidence: Evidence) -> list[float]:
    """The slow times at which the normalised l2 margin has fallen to half of its largest value, by α."""
    runs = [evidence.runs[name_of(scale)] for scale in SCALES]
    found = [when_falls(run, run["margin_l2"], float(np.nanmax(run["margin_l2"])) / 2) for run in runs]
    return [np.nan if value is None else value for value in found]


def law(evidence: Evidence) -> TransitionLaw:
    from latebloom.theory import fit_transition

    return fit_transition(SCALES, transitions(evidence))


def norm_factor(evidence: Evidence) -> float:
    """The initial norm over α, `√(2d)`."""
    job: Any = evidence.jobs[name_of(SCALES[0])]
    return float(np.sqrt(2 * job.problem.data.dimension))


def printed_gap(evidence: Evidence) -> float:
    """λt at the transition minus the logarithm of the initial norm."""
    return law(evidence).offset - float(np.log(norm_factor(evidence)))


CLAIMS = (
    Claim(
        "slope-one",
        "The transition is at time (1/λ) log α: its slow time λt grows as log α.",
        "Theorems 3.4 and 3.5, Section 3.2",
        "slope of λt in log α between 0.98 and 1.02",
        lambda e: within(law(e).slope, 0.98, 1.02),
    ),
    Claim(
        "straight-line",
        "λt = log α + c with one constant for all α.",
        "Theorems 3.4 and 3.5",
        "largest residual of the line at most 0.05",
        lambda e: at_most(law(e).spread, 0.05),
    ),
    Claim(
        "no-constant-in-the-entries",
        "The transition is at λt = log α, with α the entries of the start, as the corollaries have it.",
        "Corollaries 3.6 and 3.7, read without the limit",
        "constant c between -0.5 and 0.5; fails: it is about 3",
        lambda e: within(law(e).offset, -0.5, 0.5),
        documented=False,
    ),
    Claim(
        "no-constant-in-the-norm",
        "The transition is at λt = log α, with α the norm of the start, as the experiment gives it.",
        "Section 3.2.3, Figure 1a",
        "constant c between -0.5 and 0.5; fails: it is about -1.3, and about -2 at d = 1e5",
        lambda e: within(printed_gap(e), -0.5, 0.5),
        documented=False,
    ),
    Claim(
        "constant",
        "The constant is positive in the entries of the start and negative in its norm, √(2d) times as large.",
        "corrects the two previous claims",
        "c between 2 and 4 in the entries",
        lambda e: within(law(e).offset, 2.0, 4.0),
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (paths, line) = canvas(1, 2, height=2.4)
    for scale, colour in zip(SCALES, shades(len(SCALES)), strict=True):
        run = evidence.runs[name_of(scale)]
        fitted = run["slow_time"] > 1e-2
        share = run["margin_l2"][fitted] / np.nanmax(run["margin_l2"])
        paths.plot(run["slow_time"][fitted] - np.log(scale), share, color=colour, label=rf"$\alpha=${scale:g}")
    paths.set_xlim(-4, 10)
    paths.set_xlabel(r"$\lambda t - \log\alpha$")
    paths.set_ylabel(r"$L^2$ margin over its largest")
    paths.legend(loc="upper right", fontsize=6)
    found = law(evidence)
    logs = np.log(SCALES)
    line.plot(SCALES, transitions(evidence), "o", color=TRAIN, label="measured")
    line.plot(
        SCALES,
        found.slope * logs + found.offset,
        "-",
        color=TEST,
        linewidth=0.9,
        label=f"fit: slope {found.slope:.3f}, c = {found.offset:.2f}",
    )
    line.plot(SCALES, logs, "--", color=THEORY, linewidth=0.9, label=r"$\log\alpha$")
    line.set_xscale("log")
    line.set_xlabel(r"initial scale $\alpha$ (every entry)")
    line.set_ylabel(r"slow time $\lambda t$ of the transition")
    line.legend(loc="upper left")
    return figure


EXPERIMENT = Experiment(
    id="dichotomy/time-law",
    title="The law of the transition: λt = log α + c",
    claim="The slow time of the transition is log α plus a constant: slope 1 over six decades of α, "
    "the constant about 3.",
    source="Theorems 3.4 and 3.5; Section 3.2",
    seconds=15,
    settings=scales.SETTINGS,
    jobs=scales.jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(margins.DUAL_NOTE, "The transition is where the normalised l2 margin is half of its largest value."),
)
