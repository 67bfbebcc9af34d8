"""The fast phase: on [0, T] the flow without weight decay (Proposition 1), up to the junction (Lemma 2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Study
from latebloom.catalog.bounds import at_least, at_most, each, holds, within
from latebloom.catalog.controls import Altered, Instead
from latebloom.catalog.measures import distance, flat, log_slope
from latebloom.catalog.riemannian.curvature import hessian
from latebloom.catalog.riemannian.phases import STRENGTH
from latebloom.catalog.small_completion import END, LONG, SmallCompletion, end_of
from latebloom.core.fields import number, numbers
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

CELL, KIND = "λ={strength:g}, t={time:g}", "{kind}, λ={strength:g}"
LOGARITHM, LATER = "t = -ln λ", "t = λ^(-1/2)"
PROOF = "at the proof's time"
TIMES = (0.1, 0.3, 1.0, 3.0, 10.0)


class UniformSettings(SmallCompletion):
    strengths: tuple[float, ...] = numbers(default=(1e-1, 1e-2, 1e-3, 1e-4, 1e-5), above=0, note="λ, falling")
    times: tuple[float, ...] = numbers(default=TIMES, above=0, note="rising to T")
    slow_time: float = number(default=5.0, above=0, note="λt at which the limits λ → 0, t → ∞ do not commute")
    slow_strengths: tuple[float, ...] = numbers(default=(1e-1, 1e-2), above=0, note="λ at that slow time")


class JunctionSettings(SmallCompletion):
    strengths: tuple[float, ...] = numbers(default=(1e-2, 1e-3, 1e-4, 1e-5), above=0, below=1, note="λ, falling")
    shown_strength: float = number(default=1e-3, above=0, below=1, note="λ of which the whole passage is shown")
    shown_times: tuple[float, ...] = numbers(
        default=[float(f"{time:.4g}") for time in np.geomspace(0.03, 1e3, 16)], above=0, note="of the passage, rising"
    )


prop1 = Entry(
    "riemannian/prop1",
    "Proposition 1: the fast phase is that of the unregularised flow",
    "On a fixed interval of time the distance to the unregularised flow falls linearly in the weight decay.",
    source="Section 4.1, Proposition 1; Appendix A.1",
    seconds=15,
    settings=UniformSettings(),
    notes=("The distance is that of all parameters, at five times up to T.",),
)
junction = Entry(
    "riemannian/junction",
    "Lemma 2: where the fast phase hands over to the slow one",
    "At time -ln λ the flow is at the end of the unregularised flow up to -λ ln λ.",
    source="Appendix A.2, Lemma 2",
    seconds=30,
    settings=JunctionSettings(),
    notes=(
        "The lemma fixes the order of the junction up to a constant 1/(2c). With a slowest rate μ of the fast phase "
        "above 1, t = -ln λ is late enough; in general it must be -ln λ/μ.",
    ),
)


@prop1.runs
def prop1_runs(s):
    grid = lb.Grid(s.flow_to, {"strength": (0.0, *s.strengths), "time": s.times}, name=CELL)
    slow = {CELL.format(strength=x, time=s.slow_time / x): s.flow_to(x, s.slow_time / x) for x in s.slow_strengths}
    return dict(grid) | slow | {END: s.flow_to(0.0, LONG)}


@junction.runs
def junction_runs(s):
    times = {LOGARITHM: lambda strength: lb.theory.junction_time(strength).time, LATER: lambda strength: strength**-0.5}

    def job(kind, strength):
        return s.flow_to(strength, times[kind](strength))

    grid = lb.Grid(job, {"kind": list(times), "strength": s.strengths}, name=KIND)
    passage = lb.Grid(s.flow_to, {"strength": [s.shown_strength], "time": s.shown_times}, name=CELL)
    return dict(grid) | dict(passage) | {END: s.flow_to(0.0, LONG)}


def at_the_proofs_time(s):
    """The relative distance to Φ(w0) at time -ln λ/(2c), with the least c that start and end allow, for every λ."""
    problem = s.problem()
    end = lb.run(s.flow_to(0.0, LONG), progress=False).params
    rate, goal = 2 * steepness(problem, end), flat(end)
    times = np.array([-np.log(strength) / rate for strength in s.strengths])
    points = [flat(lb.run(s.flow_to(*pair), progress=False).params) for pair in zip(s.strengths, times, strict=True)]
    return {"time": times, "distance": np.array([distance(point, goal) for point in points])}


@junction.studies
def junction_studies(s):
    configuration = {"experiment": "riemannian/junction", "study": PROOF, "version": 1, **s.values}
    return [Study(PROOF, configuration, lambda: at_the_proofs_time(s))]


def at_one_time(e):
    """Every λ as the largest."""
    table = {name: np.repeat(column[:1], len(column)) for name, column in e.tables[PROOF].items()}
    return replace(e, tables={PROOF: table})


def at_the_logarithm(e):
    """The distances at -ln λ in the place of those at the proof's time."""
    return replace(e, tables={PROOF: {"distance": np.array(distances(e, LOGARITHM))}})


def apart(e):
    """`|w^λ(t) - w^GF(t)|`, a row per λ, a column per time."""
    s = e.settings
    ends = [[end_of(e, CELL.format(strength=x, time=t)) for t in s.times] for x in (0.0, *s.strengths)]
    return np.linalg.norm(np.array(ends[1:]) - np.array(ends[0]), axis=-1)


@prop1.claim(
    within(0.98, 1.02),
    "slope of the largest distance in λ, for T = 10 and λ from 1e-2 down,",
    source="Proposition 1, Eq. 9",
)
def linear_in_lambda(e):
    """On [0, T] the flow with weight decay converges uniformly to the one without as λ → 0."""
    return log_slope(e.settings.strengths[1:], apart(e)[1:].max(axis=1))


def steepness(problem, point):
    """The largest curvature of F at the start and at a point: a constant c of Eq. 9 is at least that."""
    return max(np.linalg.norm(hessian(problem, params), 2) for params in (problem.init(), point))


@prop1.claim(
    at_most(1.0),
    "largest ratio of the distance to λ t exp(ct) sup|w|, with the least c and sup|w| that start and end allow,",
    source="Appendix A.1, Eq. 9",
    control=Instead({CELL.format(strength=1e-5, time=t): CELL.format(strength=0.1, time=t) for t in TIMES}),
)
def groenwall_bound(e):
    """The distance is at most λ t exp(ct) sup|w|, with c the Lipschitz constant of the gradient."""
    s, problem, end = e.settings, e.problem(END), e[END].params
    times, size = np.array(s.times), max(np.linalg.norm(flat(params)) for params in (problem.init(), end))
    bound = np.outer(s.strengths, times * np.exp(steepness(problem, end) * times)) * size
    return float((apart(e) / bound).max())


@prop1.claim(at_most(1.0), "largest ratio", source="sharpens the previous claim", kind="ours", rate=0.8)
def without_the_exponential(e):
    """Measured, the distance is at most λ t |w0|: the exponential of the bound is not seen."""
    start = np.linalg.norm(flat(e.problem(END).init()))
    return float((apart(e) / (np.outer(e.settings.strengths, e.settings.times) * start)).max())


@prop1.claim(
    at_least(0.3), "smallest relative distance over λ = 1e-1 and 1e-2", source="Section 4.1, after Proposition 1"
)
def not_uniform_on_all_times(e):
    """The convergence is not uniform on all times: at slow time λt = 5 the two flows are apart for every λ."""
    s, goal = e.settings, end_of(e, END)
    ends = [end_of(e, CELL.format(strength=x, time=s.slow_time / x)) for x in s.slow_strengths]
    return float(min(np.linalg.norm(end - goal) for end in ends) / np.linalg.norm(goal))


@prop1.figure
def prop1_figure(e):
    s, found = e.settings, apart(e)
    largest, strengths = found.max(axis=1), np.array(s.strengths)
    slopes = [
        Line(strengths, largest, f"largest on [0, {s.times[-1]:g}]", marks="points"),
        Line(strengths, largest[-1] * strengths / strengths[-1], "slope 1", "theory"),
    ]
    rows = [
        Line(
            s.times,
            row / strength,
            rf"$\lambda = ${strength:g}",
            "cycle 0",
            "linked",
            shade=panels.shade_of(place, len(found)),
        )
        for place, (strength, row) in enumerate(zip(s.strengths, found, strict=True))
    ]
    left = Panel(slopes, STRENGTH, Axis(r"distance of $w^\lambda$ to $w^{GF}$", "log"), legend="upper left")
    right = Panel(rows, Axis("time $t$", "log"), Axis(r"distance$\,/\,\lambda$", "log"), legend="upper left")
    return Figure([[left, right]])


def distance_of(e, name):
    """The relative distance of a run's end to Φ(w0)."""
    return distance(end_of(e, name), end_of(e, END))


def distances(e, kind):
    """That distance for every λ."""
    return [distance_of(e, KIND.format(kind=kind, strength=strength)) for strength in e.settings.strengths]


@junction.claim(within(0.8, 1.1), "slope of the distance in λ (1 up to the logarithm)", id="junction", rate=0.8)
def arrives(e):
    """At time -ln λ (slow time -λ ln λ) the flow is close to the end of the unregularised one, the closer the smaller
    λ."""
    return log_slope(e.settings.strengths, distances(e, LOGARITHM))


@junction.claim(each(at_most(3)), "relative distance over -λ ln λ", kind="ours", rate=0.8)
def order(e):
    """The distance there is of order -λ ln λ: all the drift so far."""
    pairs = zip(e.settings.strengths, distances(e, LOGARITHM), strict=True)
    found = [value / (-strength * np.log(strength)) for strength, value in pairs]
    return {"smallest": min(found), "largest": max(found)}


def passage(e):
    """The relative distance at every time of the passage that is shown."""
    s = e.settings
    return [distance_of(e, CELL.format(strength=s.shown_strength, time=time)) for time in s.shown_times]


@junction.claim(
    holds("at λ = 1e-3, inside the times of relative distance at most {most:g}", most=3e-2),
    source="Appendix A.2, after Lemma 2",
)
def in_the_window(e, most):
    """The time -ln λ lies where the flow has arrived at Φ(w0) and not left it."""
    s = e.settings
    near = [time for time, value in zip(s.shown_times, passage(e), strict=True) if value <= most]
    if not near:
        return None, False
    return {"from": near[0], "to": near[-1]}, near[0] <= -np.log(s.shown_strength) <= near[-1]


@junction.claim(
    at_most(0.98),
    "distance to Φ(w0) for λ = 1e-5 over that for 1e-2, at their times",
    source="Appendix A.2, proof of Lemma 2",
    control=Altered("the time is -ln λ/(2c) of the largest λ for every λ", at_one_time),
)
def at_the_time_of_the_proof(e):
    """At time -ln λ/(2c), with c the Lipschitz constant of the gradient, the flow tends to Φ(w0) as λ → 0."""
    found = e.tables[PROOF]["distance"]
    return float(found[-1] / found[0])


@junction.claim(
    at_least(10),
    "distance to Φ(w0) at the proof's time over that at -ln λ, for λ = 1e-5",
    source="measured here",
    kind="ours",
    control=Altered("at time -ln λ", at_the_logarithm),
)
def time_of_the_proof_is_early(e):
    """The constant 1/(2c) of the proof is small: at its time the flow is far from Φ(w0) yet, at -ln λ it is not."""
    return float(e.tables[PROOF]["distance"][-1] / distances(e, LOGARITHM)[-1])


@junction.claim(
    at_least(0.5),
    "distance at slow time √λ, for λ = 1e-5 over that for 1e-2,",
    source="Appendix A.2, after Lemma 2",
    fails="it tends to zero",
)
def necessary_as_printed(e):
    """A larger order than -λ ln λ would be a time at which the flow has significantly drifted."""
    found = distances(e, LATER)
    return found[-1] / found[0]


@junction.claim(within(0.4, 0.6), "slope in λ", source="corrects the previous claim", kind="corrected")
def any_vanishing_slow_time(e):
    """Any slow time that tends to zero will do if it is at least of that order: at √λ the distance falls as √λ."""
    return log_slope(e.settings.strengths, distances(e, LATER))


@junction.figure
def junction_figure(e):
    s, strengths = e.settings, np.array(e.settings.strengths)
    marks = [
        Rule(-np.log(s.shown_strength), r"$-\ln\lambda$"),
        Rule(s.shown_strength**-0.5, r"$\lambda^{-1/2}$"),
        Rule(1 / s.shown_strength, r"$1/\lambda$"),
    ]
    kinds = [
        (LOGARITHM, "o", r"$t = -\ln\lambda$", -strengths * np.log(strengths), r"$\propto -\lambda\ln\lambda$"),
        (LATER, "s", r"$t = \lambda^{-1/2}$", strengths**0.5, r"$\propto \sqrt{\lambda}$"),
    ]
    slopes = []
    for place, (kind, symbol, label, guide, name) in enumerate(kinds):
        found, role, second = np.array(distances(e, kind)), f"cycle {place}", min(2, len(strengths))
        slopes.append(Line(strengths, found, label, role, "points", symbol=symbol))
        slopes.append(Line(strengths, guide * found[-second] / guide[-second], name, role, "theory"))
    far, curve = (
        Axis(r"relative distance to $\Phi(w_0)$", "log"),
        Line(s.shown_times, passage(e), name="flow", marks="linked", size=2.5),
    )
    title = rf"$\lambda = {s.shown_strength:g}$"
    left = Panel([curve, *marks], Axis("time $t$", "log"), far, title=title, legend="lower left")
    return Figure([[left, Panel(slopes, STRENGTH, far, legend="lower right")]])
