"""Lemma 2: at slow time about -λ ln λ the flow has reached the end of the unregularised one, and not yet left it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog import small_completion
from latebloom.catalog.measures import log_slope
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_least, at_most, within
from latebloom.figures.look import CYCLE, THEORY, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from latebloom.flows import FlowJob

STRENGTHS = (1e-2, 1e-3, 1e-4, 1e-5)
LOGARITHM, LATER = "t = -ln λ", "t = λ^(-1/2)"
CURVE = 1e-3  # the weight decay of which the whole passage is shown
CURVE_TIMES = tuple(float(f"{time:.4g}") for time in np.geomspace(0.03, 1e3, 16))


def time_of(kind: str, strength: float) -> float:
    from latebloom.theory import junction_time

    return junction_time(strength).time if kind == LOGARITHM else strength**-0.5


def name_of(kind: str, strength: float) -> str:
    return f"{kind}, λ={strength:g}"


def curve_name(time: float) -> str:
    return f"λ={CURVE:g}, t={time:g}"


def jobs(request: Request) -> dict[str, FlowJob]:
    seed = request.seed
    grid = {
        name_of(kind, s): small_completion.flow_to(seed, s, time_of(kind, s))
        for kind in (LOGARITHM, LATER)
        for s in STRENGTHS
    }
    curve = {curve_name(time): small_completion.flow_to(seed, CURVE, time) for time in CURVE_TIMES}
    return grid | curve | {small_completion.END: small_completion.flow_to(seed, 0.0, small_completion.LONG)}


def distance(evidence: Evidence, name: str) -> float:
    """The relative distance of a run's end to Φ(w0)."""
    goal = small_completion.end_of(evidence, small_completion.END)
    return float(np.linalg.norm(small_completion.end_of(evidence, name) - goal) / np.linalg.norm(goal))


def distances(evidence: Evidence, kind: str) -> list[float]:
    return [distance(evidence, name_of(kind, strength)) for strength in STRENGTHS]


def slope(evidence: Evidence, kind: str) -> float:
    """The slope of the log of the distance in log λ."""
    return log_slope(STRENGTHS, distances(evidence, kind))


def per_logarithm(evidence: Evidence) -> Measured:
    """The distance at t = -ln λ over -λ ln λ: its largest and smallest value over λ."""
    found = [value / (-s * np.log(s)) for s, value in zip(STRENGTHS, distances(evidence, LOGARITHM), strict=True)]
    return Measured({"smallest": min(found), "largest": max(found)}, bool(max(found) <= 3))


def proof_exponent(evidence: Evidence) -> Measured:
    """μ/(2c): the power of λ that remains at the proof's t = -ln λ/(2c)."""
    steepest, flattest = small_completion.curvatures(evidence)
    return at_most(flattest / (2 * steepest), 0.2)


def later_drifts(evidence: Evidence) -> Measured:
    """The distance at t = λ^(-1/2), for the smallest λ over the largest: 1 if it did not tend to Φ(w0)."""
    found = distances(evidence, LATER)
    return at_least(found[-1] / found[0], 0.5)


def window(evidence: Evidence) -> Measured:
    """The times between which the flow at λ = 1e-3 is within 3 % of Φ(w0), and λ times the later one."""
    near = [time for time in CURVE_TIMES if distance(evidence, curve_name(time)) <= 3e-2]
    if not near:
        return Measured(None, False)
    junction = -np.log(CURVE)
    return Measured({"from": near[0], "to": near[-1]}, bool(near[0] <= junction <= near[-1]))


CLAIMS = (
    Claim(
        "junction",
        "At time -ln λ (slow time -λ ln λ) the flow is close to the end of the unregularised one, the closer the "
        "smaller λ.",
        "Appendix A.2, Lemma 2",
        "slope of the distance in λ between 0.8 and 1.1 (1 up to the logarithm)",
        lambda e: within(slope(e, LOGARITHM), 0.8, 1.1),
        rate=0.8,
    ),
    Claim(
        "order",
        "The distance there is of order -λ ln λ: all the drift so far.",
        "Appendix A.2, Lemma 2",
        "relative distance over -λ ln λ at most 3",
        per_logarithm,
        rate=0.8,
    ),
    Claim(
        "in-the-window",
        "The time -ln λ lies where the flow has arrived at Φ(w0) and not left it.",
        "Appendix A.2, after Lemma 2",
        "at λ = 1e-3, inside the times of relative distance at most 3e-2",
        window,
    ),
    Claim(
        "constant-of-the-proof",
        "At the proof's time -ln λ/(2c), with c the Lipschitz constant of the gradient, the flow tends to Φ(w0) as "
        "a small power of λ.",
        "Appendix A.2, proof of Lemma 2, which gives no rate for this term",
        "exponent μ/(2c) at most 0.2: c is much larger than the slowest rate μ",
        proof_exponent,
    ),
    Claim(
        "necessary-as-printed",
        "A larger order than -λ ln λ would be a time at which the flow has significantly drifted.",
        "Appendix A.2, after Lemma 2",
        "at slow time √λ the distance falls by less than a half over λ from 1e-2 to 1e-5; fails: it tends to zero",
        later_drifts,
        documented=False,
    ),
    Claim(
        "any-vanishing-slow-time",
        "Any slow time that tends to zero will do if it is at least of that order: at √λ the distance falls as √λ.",
        "corrects the previous claim",
        "slope in λ between 0.4 and 0.6",
        lambda e: within(slope(e, LATER), 0.4, 0.6),
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (passage, slopes) = canvas(1, 2, height=2.5)
    draw_passage(passage, evidence)
    for kind, colour, marker, label, power in (
        (LOGARITHM, CYCLE[0], "o", r"$t = -\ln\lambda$", 1.0),
        (LATER, CYCLE[1], "s", r"$t = \lambda^{-1/2}$", 0.5),
    ):
        found = np.array(distances(evidence, kind))
        slopes.plot(STRENGTHS, found, marker, color=colour, label=label)
        guide = -np.array(STRENGTHS) * np.log(STRENGTHS) if kind == LOGARITHM else np.array(STRENGTHS) ** power
        name = r"$\propto -\lambda\ln\lambda$" if kind == LOGARITHM else r"$\propto \sqrt{\lambda}$"
        slopes.plot(STRENGTHS, guide * found[-2] / guide[-2], "--", color=colour, linewidth=0.9, label=name)
    slopes.set_xlabel(r"weight decay $\lambda$")
    slopes.set_ylabel(r"relative distance to $\Phi(w_0)$")
    slopes.legend(loc="lower right", fontsize=6)
    for axis in (passage, slopes):
        axis.set_xscale("log")
        axis.set_yscale("log")
    return figure


def draw_passage(axis: Axes, evidence: Evidence) -> None:
    axis.plot(CURVE_TIMES, [distance(evidence, curve_name(time)) for time in CURVE_TIMES], "o-", markersize=2.5)
    marks = ((-np.log(CURVE), "--", r"$-\ln\lambda$"), (CURVE**-0.5, "-.", r"$\lambda^{-1/2}$"))
    for time, line, label in (*marks, (1 / CURVE, ":", r"$1/\lambda$")):
        axis.axvline(time, color=THEORY, linestyle=line, linewidth=0.9, label=label)
    axis.set_xlabel("time $t$")
    axis.set_ylabel(r"relative distance to $\Phi(w_0)$")
    axis.set_title(r"$\lambda = 10^{-3}$")
    axis.legend(loc="lower left", fontsize=6)


EXPERIMENT = Experiment(
    id="riemannian/junction",
    title="Lemma 2: where the fast phase hands over to the slow one",
    claim="At time -ln λ the flow is at the end of the unregularised flow up to -λ ln λ.",
    source="Appendix A.2, Lemma 2",
    seconds=30,
    settings=small_completion.SETTINGS | {"weight decay λ": STRENGTHS},
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(
        "The lemma fixes the order of the junction up to a constant 1/(2c). With a slowest rate μ of the fast phase "
        "above 1, t = -ln λ is late enough; in general it must be -ln λ/μ.",
    ),
)
