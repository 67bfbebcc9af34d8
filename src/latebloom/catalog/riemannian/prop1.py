"""Proposition 1: on [0, T] the flow with weight decay tends to the one without, linearly in λ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog import small_completion
from latebloom.catalog.measures import flat, log_slope
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_least, at_most, within
from latebloom.figures.look import THEORY, canvas, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.flows import FlowJob

HORIZON = 10.0
TIMES = (0.1, 0.3, 1.0, 3.0, HORIZON)
STRENGTHS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
SLOW = 5.0  # a slow time λt at which the limits λ → 0 and t → ∞ are seen not to commute
SLOW_STRENGTHS = (1e-1, 1e-2)


def name_of(strength: float, time: float) -> str:
    return f"λ={strength:g}, t={time:g}"


def jobs(request: Request) -> dict[str, FlowJob]:
    seed = request.seed
    grid = {name_of(s, t): small_completion.flow_to(seed, s, t) for s in (0.0, *STRENGTHS) for t in TIMES}
    slow = {name_of(s, SLOW / s): small_completion.flow_to(seed, s, SLOW / s) for s in SLOW_STRENGTHS}
    return grid | slow | {small_completion.END: small_completion.flow_to(seed, 0.0, small_completion.LONG)}


def distances(evidence: Evidence) -> np.ndarray:
    """`|w^λ(t) - w^GF(t)|`, a row for each λ, a column for each time."""
    ends = [[small_completion.end_of(evidence, name_of(s, t)) for t in TIMES] for s in (0.0, *STRENGTHS)]
    return np.linalg.norm(np.array(ends[1:]) - np.array(ends[0]), axis=-1)


def slope(evidence: Evidence) -> Measured:
    """The slope of the log of the largest distance on [0, T] in log λ, from 1e-2 down."""
    return within(log_slope(STRENGTHS[1:], distances(evidence)[1:].max(axis=1)), 0.98, 1.02)


def within_bound(evidence: Evidence) -> Measured:
    """The largest distance over λ T |w0|: Eq. 9 without its factor e^{cT}."""
    largest = flat(evidence.jobs[small_completion.END].problem.init())
    bounds = np.outer(STRENGTHS, TIMES) * np.linalg.norm(largest)
    return at_most(float((distances(evidence) / bounds).max()), 1.0)


def gronwall(evidence: Evidence) -> Measured:
    """The power of ten of the bound of Eq. 9 at T = 10 over the measured distance."""
    steepest, _ = small_completion.curvatures(evidence)
    measured = distances(evidence)[-1, -1]
    bound = np.log10(STRENGTHS[-1] * HORIZON) + steepest * HORIZON / np.log(10)
    return Measured(float(bound - np.log10(measured)), bool(bound >= np.log10(measured)))


def not_uniform(evidence: Evidence) -> Measured:
    """The smallest distance to the unregularised flow's end at slow time 5, over λ: it does not fall with λ."""
    goal = small_completion.end_of(evidence, small_completion.END)
    found = [np.linalg.norm(small_completion.end_of(evidence, name_of(s, SLOW / s)) - goal) for s in SLOW_STRENGTHS]
    return at_least(float(min(found) / np.linalg.norm(goal)), 0.3)


CLAIMS = (
    Claim(
        "linear-in-lambda",
        "On [0, T] the flow with weight decay converges uniformly to the one without as λ → 0.",
        "Proposition 1, Eq. 9",
        "slope of the largest distance in λ between 0.98 and 1.02, for T = 10",
        slope,
    ),
    Claim(
        "groenwall-bound",
        "The distance is at most λ t exp(ct) sup|w|, with c the Lipschitz constant of the gradient.",
        "Appendix A.1, Eq. 9",
        "the bound is larger (shown: by how many powers of ten at T = 10)",
        gronwall,
    ),
    Claim(
        "without-the-exponential",
        "Measured, the distance is at most λ t |w0|: the exponential of the bound is not seen.",
        "sharpens the previous claim",
        "largest ratio at most 1",
        within_bound,
        rate=0.8,
    ),
    Claim(
        "not-uniform-on-all-times",
        "The convergence is not uniform on all times: at slow time λt = 5 the two flows are apart for every λ.",
        "Section 4.1, after Proposition 1",
        "relative distance at least 0.3 for λ = 1e-1 and 1e-2",
        not_uniform,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (slopes, times) = canvas(1, 2, height=2.5)
    found = distances(evidence)
    slopes.plot(STRENGTHS, found.max(axis=1), "o", label=f"largest on [0, {HORIZON:g}]")
    reference = found.max(axis=1)[-1] * np.array(STRENGTHS) / STRENGTHS[-1]
    slopes.plot(STRENGTHS, reference, "--", color=THEORY, linewidth=0.9, label="slope 1")
    slopes.set_xlabel(r"weight decay $\lambda$")
    slopes.set_ylabel(r"distance of $w^\lambda$ to $w^{GF}$")
    slopes.legend(loc="upper left")
    for strength, row, colour in zip(STRENGTHS, found, shades(len(STRENGTHS)), strict=True):
        times.plot(TIMES, row / strength, "o-", color=colour, label=rf"$\lambda = ${strength:g}")
    times.set_xlabel("time $t$")
    times.set_ylabel(r"distance$\,/\,\lambda$")
    times.legend(loc="upper left", fontsize=6)
    for axis in (slopes, times):
        axis.set_xscale("log")
        axis.set_yscale("log")
    return figure


EXPERIMENT = Experiment(
    id="riemannian/prop1",
    title="Proposition 1: the fast phase is that of the unregularised flow",
    claim="On a fixed interval of time the distance to the unregularised flow falls linearly in the weight decay.",
    source="Section 4.1, Proposition 1; Appendix A.1",
    seconds=15,
    settings=small_completion.SETTINGS | {"weight decay λ": STRENGTHS, "T": HORIZON},
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=("The distance is that of all parameters, at five times up to T.",),
)
