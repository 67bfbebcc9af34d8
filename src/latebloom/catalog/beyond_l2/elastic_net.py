"""l1 with l2 (Section 3.3, Appendix E): too much weight decay undoes recovery; a large start, with and without it."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.beyond_l2.draws import SparseSettings
from latebloom.catalog.bounds import above, at_least, at_most, holds, within
from latebloom.catalog.claims import NotAsked
from latebloom.catalog.controls import Instead, Set
from latebloom.catalog.measures import distance, over
from latebloom.core.fields import count, number
from latebloom.figures import Axis, Figure, Line, Panel, panels

L1_ONLY, MILD, STRONG = "l1", "l1 and mild l2", "l1 and strong l2"
LARGE_L1, LARGE_BOTH, LARGE_L2 = "large start, l1", "large start, l1 and mild l2", "large start, l2"


class BothSettings(SparseSettings):
    learning_rate: float = number(default=0.1, above=0, note="α")
    strength: float = number(default=1e-4, above=0, note="β of the l1 norm")
    mild: float = number(default=1e-4, above=0, note="weight decay that is small beside l1")
    strong: float = number(default=3.0, above=0, note="weight decay with αβ far above |â|_∞")
    large_init_scale: float = number(default=10.0, above=0, note="ζ of the large start")
    steps: int = count(default=40_000, note="enough for l1 from a small start")
    long_steps: int = count(default=1_500_000, note="of the runs from a large start")
    threshold: float = number(default=1e-2, above=0, note="relative error of t1 and t2; the l1 bias is at 3e-3")


app_e = Entry(
    "beyond-l2/app-e",
    "l1 with l2: what weight decay does beside l1, from a small and from a large start",
    "Much weight decay keeps the iterate near the ridge solution; from a large start l1 alone is slow, but arrives.",
    source="Section 3.3, Appendix E",
    seconds=15,
    settings=BothSettings(),
    notes=("Milestones at a relative error of 1e-2, which the l1 bias at β = 1e-4 allows.",),
)


@app_e.runs
def both_runs(s):
    def job(penalty, scale, steps):
        thresholds = {"memorised_at": s.threshold, "generalised_at": s.threshold}
        method = lb.GradientDescent(s.learning_rate)
        return lb.TrainJob(s.problem(init_scale=scale), method, penalty, steps=steps, **thresholds)

    l1, mild, strong = lb.L1(s.strength), lb.L2(s.mild), lb.L2(s.strong)
    small, large = (s.init_scale, s.steps), (s.large_init_scale, s.long_steps)
    started = {L1_ONLY: job(l1, *small), MILD: job(l1 + mild, *small), STRONG: job(l1 + strong, *small)}
    return started | {LARGE_L1: job(l1, *large), LARGE_BOTH: job(l1 + mild, *large), LARGE_L2: job(mild, *large)}


def recoverable(e):
    """Why a draw is not spoken of: the slow flow of |a|_1 does not come to the truth in time. None if it does."""
    s, problem = e.settings, e.problem()
    slow_time = e.cached(lb.flows.l1_path, problem).crossing(np.asarray(problem.truth), s.threshold)
    if slow_time is None:
        return NotAsked("the interpolator of least l1 norm is not the truth in this draw")
    return None if slow_time < 0.8 * s.learning_rate * s.strength * s.steps else NotAsked("this draw takes longer")


@app_e.claim(at_most(1e-2), "recovery error at the end", source="Appendix E", rate=0.9)
def small_start_needs_l1_only(e):
    """From a small start l1 is sufficient for generalisation."""
    return recoverable(e) or e[L1_ONLY].final["test_error"]


@app_e.claim(at_most(1e-2), "recovery error at the end", source="Appendix E", rate=0.9)
def mild_decay_is_harmless(e):
    """… provided that the l2 term is not very large."""
    return recoverable(e) or e[MILD].final["test_error"]


@app_e.claim(
    holds(
        "αβ at least {most:g} times |â|_∞, a(t) within {near:.0%} of the ridge solution â, error at least {error:g}",
        most=5,
        near=0.05,
        error=0.5,
    ),
    source="Section 3.3",
)
def stuck_near_ridge(e, most, near, error):
    """With a weight decay such that |â|_∞ is far below αβ, a(t) gets stuck near â, and nothing generalises."""
    s, problem = e.settings, e.problem(STRONG)
    design, y = np.asarray(problem.design), np.asarray(problem.targets)
    ridge = np.linalg.solve(design.T @ design + s.strong * np.eye(s.dimension), design.T @ y)
    found = {
        "αβ/|â|_∞": s.learning_rate * s.strong / float(np.abs(ridge).max()),
        "distance": distance(e[STRONG].params, ridge),
        "error": e[STRONG].final["test_error"],
    }
    return found, found["αβ/|â|_∞"] >= most and found["distance"] <= near and found["error"] >= error


@app_e.claim(
    at_least(0.5),
    "recovery error of l1 alone at the end",
    source="Appendix E",
    fails="it only takes the time in which αβ a step brings the start down",
    rate=0.9,
    control=Set(long_steps=40_000),
)
def l2_is_necessary_as_printed(e):
    """From a large start adding l2 is necessary to generalise."""
    return recoverable(e) or e[LARGE_L1].final["test_error"]


@app_e.claim(
    within(0.1, 10),
    "t2 over (|a(1)|_∞ + |a*|_∞)/(αβ)",
    source="corrects the previous claim",
    kind="corrected",
    rate=0.9,
    control=Set(large_init_scale=1e-3, long_steps=40_000),
)
def l1_alone_arrives(e):
    """l1 alone generalises from a large start, after the steps that take a component of its size to zero."""
    s, problem = e.settings, e.problem(LARGE_L1)
    path = sum(float(np.abs(np.asarray(a)).max()) for a in (problem.init(), problem.truth))
    return recoverable(e) or over(e[LARGE_L1].t2, path / (s.learning_rate * s.strength))


@app_e.claim(above(5), "t2 of l1 from the large start over that from the small one", kind="ours", rate=0.9)
def large_start_is_late(e):
    """What the large start costs l1 is time."""
    return recoverable(e) or over(e[LARGE_L1].t2, e[L1_ONLY].t2)


@app_e.claim(at_most(1e-2), "recovery error at the end", source="Appendix E", rate=0.9)
def both_generalise(e):
    """From a large start l1 and l2 together generalise."""
    return recoverable(e) or e[LARGE_BOTH].final["test_error"]


@app_e.claim(at_least(0.5), "recovery error at the end", source="Appendix E", control=Instead({LARGE_L2: LARGE_BOTH}))
def l2_is_not_sufficient(e):
    """l2 alone is not sufficient."""
    return e[LARGE_L2].final["test_error"]


@app_e.claim(
    holds("|a|₂ at the end of l2 below that of l1, error at least {times:g} times as large", times=50),
    source="Section 3.3",
    rate=0.9,
)
def norm_is_no_indicator(e, times):
    """The l2 norm is no indicator of grokking: the smaller one belongs to what only memorises."""
    if (reason := recoverable(e)) is not None:
        return reason
    small, sparse = e[LARGE_L2].final, e[L1_ONLY].final
    found = {"norm": small["l2_norm"] / sparse["l2_norm"], "error": small["test_error"] / sparse["test_error"]}
    return found, found["norm"] < 1 and found["error"] >= times


def outputs_and_features(e):
    """y_a(x) of the large start on the measurements over those of the truth, degree in a, and rank of the features."""
    problem = e.problem(LARGE_L1)
    design, start = np.asarray(problem.design), np.asarray(problem.init())
    outputs = float(np.linalg.norm(design @ start) / np.linalg.norm(design @ np.asarray(problem.truth)))
    degree = np.log(np.linalg.norm(design @ (1.5 * start)) / np.linalg.norm(design @ start)) / np.log(1.5)
    return outputs, round(float(degree), 9), int(np.linalg.matrix_rank(design))


@app_e.claim(
    holds(
        "degree of y in a equal to {degree:g}, rank of the {count} features equal to their number", degree=1, count="N"
    ),
    source="Appendix E",
    control=Set(measurements=120, steps=100, long_steps=100),
)
def homogeneous_and_independent(e, degree, count):
    """Assumptions 3.1 and 3.8 of Lyu et al. hold: y is 1-homogeneous, the features of the N samples independent."""
    _, found, rank = outputs_and_features(e)
    return {"degree": found, "rank": rank}, found == degree and rank == e.settings.measurements


@app_e.claim(
    at_least(1),
    "|X a(1)| over |X a*| from the large start",
    source="Appendix E",
    control=Set(large_init_scale=1e-3, steps=100, long_steps=100),
)
def outputs_do_not_vanish(e):
    """Assumption 3.2, that the start's outputs vanish, is violated by a large start."""
    return outputs_and_features(e)[0]


@app_e.figure
def app_e_figure(e):
    small = {name: e[name] for name in (L1_ONLY, MILD, STRONG)}
    large = {name: e[name] for name in (LARGE_L1, LARGE_BOTH, LARGE_L2)}

    def shown(runs, title):
        traces = []
        for place, (name, run) in enumerate(runs.items()):
            label, role = name.replace("large start, ", ""), f"cycle {place}"
            traces.append(Line(run["step"][1:], run["test_error"][1:], label, role))
            traces += panels.crossing(run, "test_error", label, role=role)
        return Panel(
            traces, panels.STEPS, Axis("relative recovery error", "log"), title=title, legend_title="dot: $t_2$"
        )

    return Figure([[shown(small, "small start"), shown(large, "large start")]])
