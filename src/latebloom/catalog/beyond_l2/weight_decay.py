"""Weight decay alone, from a large start: a late drop that is not generalisation (Figures 7 and 16, Theorem 3.6)."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.beyond_l2.draws import SparseSettings
from latebloom.catalog.bounds import at_least, at_most, within
from latebloom.catalog.measures import over
from latebloom.core.fields import choice, count, number
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

MAIN = "l2 only"


class DecaySettings(SparseSettings):
    init_scale: float = number(default=10.0, least=0, note="ζ, of a start on a sphere its norm")
    init_kind: str = choice(("sphere", "gaussian"), default="sphere", note="how the start is drawn")
    learning_rate: float = number(default=0.1, above=0, note="α")
    weight_decay: float = number(default=1e-5, above=0, note="β")
    steps: int = count(default=12_000_000, note="the drop comes at log(|a0|/|â|)/(αβ), about 4.5e6")


NOTES = (
    "Gradient descent with l2 has a closed form on this problem; it is drawn dashed and checked against the run.",
    "12 million steps are made all the same: they cost a few seconds.",
)
fig7 = Entry(
    "beyond-l2/fig7",
    "Large start and weight decay: a late drop that is not generalisation",
    "With l2 alone the recovery error drops late, to 0.8-0.9 and not to 0: grokking without understanding.",
    source="Section 3.3, Figure 7",
    seconds=8,
    settings=DecaySettings(),
    notes=NOTES,
)
fig16 = Entry(
    "beyond-l2/fig16",
    "Grokking without understanding on a linear and on a logarithmic axis",
    "On a linear axis weight decay alone seems to grok; on a logarithmic one it does not.",
    source="Appendix E, Figure 16",
    seconds=8,
    settings=DecaySettings(init_kind="gaussian"),
    notes=NOTES,
)
thm3_6 = Entry(
    "beyond-l2/thm3.6",
    "Theorem 3.6: rate and lower bound of weight decay",
    "Weight decay converges at the geometric rate ρ₂ to a point whose error has a tight lower bound.",
    source="Theorem 3.6, Appendix C.8",
    seconds=8,
    settings=DecaySettings(),
    notes=NOTES,
)


@fig7.runs
@fig16.runs
@thm3_6.runs
def decay_runs(s):
    """One run, with the distance to its limit measured along the way."""
    problem = s.problem(init_kind=s.init_kind)
    limit = lb.theory.L2Iteration(problem, s.learning_rate, s.weight_decay).limit
    method, probes = lb.GradientDescent(s.learning_rate), (lb.probes.DistanceTo("limit", limit),)
    return {MAIN: lb.TrainJob(problem, method, lb.L2(s.weight_decay), steps=s.steps, probes=probes)}


def closed_form(e):
    """The iteration solved."""
    return e.cached(lb.theory.L2Iteration, e.problem(), e.settings.learning_rate, e.settings.weight_decay)


@fig16.claim(at_most(0.05), "error at the end over the height of a linear axis")
def looks_like_grokking(e):
    """Without a logarithmic scale of the error it looks like grokking has occurred, whereas this is not the case."""
    return e[MAIN].final["test_error"] / float(e[MAIN]["test_error"].max())


LATE_DROP = at_least(10), "recovery error after memorisation over that at the end"


@fig7.claim(*LATE_DROP, source="Section 3.3, Appendix E")
@fig16.claim(*LATE_DROP, source="Section 3.3, Appendix E")
def late_drop(e):
    """There is an abrupt late transition in the generalisation error, driven by the l2 norm."""
    return float(e[MAIN].record(step=1000)["test_error"] / e[MAIN].final["test_error"])


@fig7.claim(within(0.7, 0.95), "relative recovery error at the end", source="Section 3.3", rate=0.9)
@fig16.claim(within(0.7, 0.95), "relative recovery error at the end", source="Section 3.3", rate=0.9)
def without_understanding(e):
    """The transition does not result in convergence to the truth: grokking without understanding."""
    return e[MAIN].final["test_error"]


DROP_TIME = within(0.95, 1.05), "step at which |a| is √2 |â|, over log(|P a0|/|â|)/(αβ),"
KERNEL = "Theorem 3.6: the factor (1-αβ)^t on the kernel of X"


@fig7.claim(*DROP_TIME, source=KERNEL)
@fig16.claim(*DROP_TIME, source=KERNEL)
def drop_time(e):
    """The drop comes when the start has decayed to the size of the least-squares solution."""
    run, exact = e[MAIN], closed_form(e)
    return over(run.first(run["l2_norm"] <= np.sqrt(2) * np.linalg.norm(exact.limit)), float(exact.drop_step))


LARGEST_DIFFERENCE = at_most(1e-9), "largest relative difference of the recovery errors"


@fig7.claim(*LARGEST_DIFFERENCE, id="closed-form", source="Appendix C.8")
@fig16.claim(*LARGEST_DIFFERENCE, id="closed-form", source="Appendix C.8")
def agrees(e):
    """a(t) - â = (I - α(XᵀX + βI))^t (a(0) - â), at every recorded step."""
    exact = closed_form(e).test_error(e[MAIN]["step"])
    return float(np.max(np.abs(e[MAIN]["test_error"] - exact) / exact))


def distances(e):
    """|a(t) - â| as measured and the theorem's bound, at every record."""
    run, exact = e[MAIN], closed_form(e)
    return run["distance_to_limit"] * np.linalg.norm(exact.limit), np.asarray(exact.distance_bound(run["step"]))


@thm3_6.claim(at_most(1 + 1e-9), "largest measured distance over bound", source="Theorem 3.6")
def geometric_bound(e):
    """|a(t) - â| ≤ ρ₂^t |a(0) - â| for all t."""
    measured, bound = distances(e)
    return float(np.max(measured / bound))


@thm3_6.claim(within(0.999, 1.001), "measured log-rate from step 1e5 to 8e6 over log ρ₂", source="Theorem 3.6")
def sharp_rate(e):
    """The rate ρ₂ is sharp; for N < n it is 1-αβ, the factor on the kernel of X."""
    (measured, _), steps = distances(e), e[MAIN]["step"]
    late = (steps > 1e5) & (steps < 8e6)
    slope = np.polyfit(steps[late], np.log(measured[late]), 1)[0]
    return float(slope / np.log(closed_form(e).rate))


@thm3_6.claim(at_least(1 - 1e-12), "limit's error over the bound", source="Theorem 3.6")
def lower_bound(e):
    """|â - a*| is at least the norm of the part of a* in the kernel of X."""
    gap = np.linalg.norm(closed_form(e).limit - np.asarray(e.problem().truth))
    return float(gap / lb.theory.ridge_error_floor(e.problem()))


@thm3_6.claim(at_most(1.001), "limit's error over the bound", source="Theorem 3.6")
def lower_bound_is_tight(e):
    """The lower bound is attained up to noise and the bias of β."""
    return lower_bound(e)


def solved(e, values):
    """A quantity of the closed form, dashed over the measurement."""
    return Line(e[MAIN]["step"], values, "closed form", "theory", "dashed", above=1)


@fig7.figure
def fig7_figure(e):
    run, exact = e[MAIN], closed_form(e)
    errors = panels.errors(run, solved(e, exact.test_error(run["step"])))
    limit = Rule(float(np.linalg.norm(exact.limit)), r"$|\hat a|_2$", "grey", "dotted", across="y")
    norm = panels.norm(run, "l2_norm", r"$|a|_2$", solved(e, exact.norm(run["step"])), limit, log=True)
    return Figure([[errors, norm]], height=2.4)


@fig16.figure
def fig16_figure(e):
    run = e[MAIN]
    linear = panels.errors(run, log=False, title="linear axis")
    theory = solved(e, closed_form(e).test_error(run["step"]))
    logarithmic = panels.errors(run, theory, title="logarithmic axis")
    norm = Panel([panels.curve(run, "l1_norm", role="norm")], panels.STEPS, Axis(r"$|a|_1$"))
    return Figure([[linear, logarithmic, norm]])


@thm3_6.figure
def thm3_6_figure(e):
    run, (measured, bound) = e[MAIN], distances(e)
    distance = [
        Line(run["step"], measured, r"$|a(t) - \hat a|$", "norm"),
        Line(run["step"], bound, r"$\rho_2^t\,|a(0) - \hat a|$", "theory", "dashed"),
    ]
    floor = lb.theory.ridge_error_floor(e.problem()) / np.linalg.norm(np.asarray(e.problem().truth))
    error = [
        panels.curve(run, "test_error", "recovery error", "test"),
        Rule(float(floor), "lower bound", across="y"),
    ]
    left = Panel(distance, Axis("step $t$"), Axis("distance to the limit", "log"))
    right = Panel(error, panels.STEPS, Axis("relative recovery error", "log"))
    return Figure([[left, right]], height=2.4)
