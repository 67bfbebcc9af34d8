"""Propositions 2 to 4 and Lemmas 3 and 4 on problems that meet Assumptions 1 and 2 along the whole slow path."""

from __future__ import annotations

from typing import Any

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.bounds import at_least, at_most, each, within
from latebloom.catalog.measures import flat, log_slope
from latebloom.catalog.riemannian.phases import STRENGTH
from latebloom.catalog.riemannian.smooth import LINEAR, SMOOTH, TOY, SmoothSettings
from latebloom.core.fields import number, numbers
from latebloom.figures import Axis, Figure, Line, Panel

SLOW, FLOW = "{}: slow flow", "{}: flow, λ={:g}"
ON = "{} from a point of the set"  # as Lemmas 3 and 4 have it
UNIT = within(0.9, 1.1)


class SmoothSlowSettings(SmoothSettings):
    strengths: tuple[float, ...] = numbers(default=(1e-2, 1e-3, 1e-4), above=0, note="λ, falling")
    slow_time: float = number(default=20.0, above=0, note="λt at the end")
    from_slow_time: float = number(default=0.1, above=0, note="ε, from which the flows are compared")
    toy_on_the_set: tuple[float, ...] = numbers(default=(0.4, 2.5), note="a point with w1 w2 = 1")

    def started(self):
        """The problems with their own starts, and two with a start of zero loss."""
        linear = self.problem(LINEAR)
        design, targets, start = (np.asarray(part) for part in (linear.design, linear.targets, linear.start))
        foot = start + np.linalg.lstsq(design, targets - design @ start, rcond=None)[0]
        return {name: self.problem(name) for name in SMOOTH} | {
            ON.format(LINEAR): lb.problems.LinearRegression(design, targets, truth=linear.truth, init=foot),
            ON.format(TOY): lb.problems.ToyModel("curved", init=self.toy_on_the_set),
        }


entry = Entry(
    "riemannian/prop2-smooth",
    "Propositions 2 to 4 where their assumptions hold: linear regression, a hyperbola, a tanh network",
    "The flow follows the slow flow up to order λ, from a point of zero loss from time 0 on, and ends where it ends.",
    source="Section 4.2, Propositions 2 to 4; Appendix A.3, Lemmas 3 and 4",
    seconds=40,
    settings=SmoothSlowSettings(),
    notes=("The problems are ours; that they meet Assumption 2 on the slow path is checked in riemannian/limit-map.",),
)


@entry.runs
def smooth_runs(s):
    records = {"rtol": 1e-7, "atol": 1e-10, "records_per_decade": 20, "probes": (lb.probes.Trajectory(),)}
    made = {}
    for name, problem in s.started().items():
        made[SLOW.format(name)] = lb.SlowFlowJob(problem, None, slow_time=s.slow_time, **records)
        for strength in s.strengths:
            time = s.slow_time / strength
            flow = lb.FlowJob(problem, lb.L2(strength), time=time, solver="rkc", **records)
            made[FLOW.format(name, strength)] = flow
    return made


def apart(e, name, strength, *, since):
    """Slow times from `since` on, and the distance of all parameters there between flow and slow flow."""
    flow, slow = e[FLOW.format(name, strength)], e[SLOW.format(name)]
    kept = flow["slow_time"] >= 0.999 * since
    limit = [np.interp(flow["slow_time"][kept], slow["slow_time"], column) for column in slow["parameters"].T]
    if since > 0:  # there both have records at the same slow times
        limit = slow["parameters"][slow["slow_time"] >= 0.999 * since].T
    return flow["slow_time"][kept], np.linalg.norm(flow["parameters"][kept] - np.array(limit).T, axis=1)


def slope(e, name, values):
    """The slope in λ of what there is for every λ."""
    return log_slope(e.settings.strengths, [values(name, strength) for strength in e.settings.strengths])


@entry.claim(
    each(at_least(0.9)),
    "slope in λ of the largest distance on [0.1, 20] of slow time",
    source="Proposition 2",
    rate=0.9,
)
def converges_uniformly(e):
    """On [ε, T] the slow dynamics converges uniformly to the Riemannian flow of the norm as λ → 0."""
    since = e.settings.from_slow_time
    return {name: slope(e, name, lambda n, x: apart(e, n, x, since=since)[1].max()) for name in SMOOTH}


@entry.claim(
    each(at_least(0.9)), "slope in λ of the largest distance over slow time [0, 20]", source="Appendix A.3, Lemma 4"
)
def uniform_from_zero_on(e):
    """From starts on the manifold the convergence is uniform on [0, T]."""
    names = [ON.format(name) for name in (LINEAR, TOY)]
    return {name: slope(e, name, lambda n, x: apart(e, n, x, since=0.0)[1].max()) for name in names}


@entry.claim(each(at_least(1.8)), "slope in λ of the largest F on the way", source="Appendix A.3, Lemma 3")
def stays_near_the_manifold(e):
    """From starts on the manifold the whole trajectory is in any neighbourhood F < F* + ε, for small λ."""
    names = [ON.format(name) for name in (LINEAR, TOY)]
    return {name: slope(e, name, lambda n, x: e[FLOW.format(n, x)]["train_loss"].max()) for name in names}


def ends_apart(e, name, strength):
    """The distance between the ends of flow and slow flow."""
    return float(np.linalg.norm(flat(e[FLOW.format(name, strength)].params) - flat(e[SLOW.format(name)].params)))


@entry.claim(each(UNIT), "slope in λ of the distance between their ends", source="Propositions 3 and 4", rate=0.9)
def ends_where_the_slow_flow_ends(e):
    """The limit of the flow tends to that of the slow flow, a KKT point of least norm, as λ → 0."""
    return {name: slope(e, name, lambda n, x: ends_apart(e, n, x)) for name in SMOOTH}


@entry.claim(each(at_most(1e-2)), "|Pw|/|w| at slow time 20", source="Section 4.2, before Proposition 3", rate=0.9)
def ends_at_kkt_points(e):
    """The slow flow tends to KKT points of the least norm on the manifold."""
    runs = ((name, SLOW.format(name)) for name in SMOOTH)
    return {name: float(lb.zero_loss.kkt_residual(e.problem(run), e[run].params)) for name, run in runs}


@entry.figure
def smooth_figure(e):
    s = e.settings
    looks: dict[str, dict[str, Any]] = {
        name: {"role": f"cycle {place}", "label": name} for place, name in enumerate(SMOOTH)
    }
    time = [
        Line(*apart(e, name, strength, since=s.from_slow_time), role=look["role"], opacity=1 - 0.3 * place,
             label=look["label"] if place == 0 else "", name=f"{name}, λ = {strength:g}")
        for name, look in looks.items()
        for place, strength in enumerate(s.strengths)
    ]  # fmt: skip
    largest, strengths = [], np.array(s.strengths)
    for name, look in looks.items():
        found = np.array([apart(e, name, x, since=s.from_slow_time)[1].max() for x in s.strengths])
        largest.append(Line(strengths, found, marks="points", symbol="o", **look))
        law = found[-1] * strengths / strengths[-1]
        largest.append(Line(strengths, law, "slope 1", "theory", name=f"{name}, slope 1"))
    clock, far = Axis(r"slow time $s = \lambda t$", "log"), "distance of flow and slow flow"
    left = Panel(time, clock, Axis(far, "log"), legend_title="paler: smaller λ")
    right = Panel(largest, STRENGTH, Axis(f"largest {far}", "log"), legend="upper left")
    return Figure([[left, right]])
