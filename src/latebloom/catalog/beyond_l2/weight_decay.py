"""Weight decay alone, from a large start: a late drop that is not generalisation (Figures 7 and 16, Theorem 3.6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.beyond_l2.draws import SparseSettings
from latebloom.catalog.bounds import above, at_least, at_most, holds, within
from latebloom.catalog.controls import Altered, Instead, Set
from latebloom.catalog.measures import over
from latebloom.core.fields import choice, count, number
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

MAIN, FEW = "l2 only", "far too few measurements"


class DecaySettings(SparseSettings):
    init_scale: float = number(default=10.0, least=0, note="ζ, of a start on a sphere its norm")
    init_kind: str = choice(("sphere", "gaussian"), default="sphere", note="how the start is drawn")
    learning_rate: float = number(default=0.1, above=0, note="α")
    weight_decay: float = number(default=1e-5, above=0, note="β")
    steps: int = count(default=12_000_000, note="the drop comes at log(|a0|/|â|)/(αβ), about 4.5e6")


class FewSettings(DecaySettings):
    few: int = count(default=4, note="N with which no method recovers: fewer than s")
    few_decay: float = number(default=1e-3, above=0, note="β of the run with so few")
    few_steps: int = count(default=120_000, note="of that run")


BRIEF = Set(steps=20_000)  # the start has hardly decayed
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
    settings=FewSettings(),
    notes=NOTES,
    controls=(BRIEF,),
)
fig16 = Entry(
    "beyond-l2/fig16",
    "Grokking without understanding on a linear and on a logarithmic axis",
    "On a linear axis weight decay alone seems to grok; on a logarithmic one it does not.",
    source="Appendix E, Figure 16",
    seconds=8,
    settings=DecaySettings(init_kind="gaussian"),
    notes=NOTES,
    controls=(BRIEF,),
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
def fig7_runs(s):
    """The run of the figure, and one with far too few measurements."""
    problem = s.problem(init_kind=s.init_kind, measurements=s.few, normalise="rows")
    method, decay = lb.GradientDescent(s.learning_rate), lb.L2(s.few_decay)
    return {**decay_runs(s), FEW: lb.TrainJob(problem, method, decay, steps=s.few_steps)}


@fig16.runs
@thm3_6.runs
def decay_runs(s):
    """One run, with the distance to its limit measured along the way."""
    problem = s.problem(init_kind=s.init_kind)
    limit = lb.theory.L2Iteration(problem, s.learning_rate, s.weight_decay).limit
    method, probes = lb.GradientDescent(s.learning_rate), (lb.probes.DistanceTo("limit", limit),)
    return {MAIN: lb.TrainJob(problem, method, lb.L2(s.weight_decay), steps=s.steps, probes=probes)}


def _at_truth(e):
    """The evidence with the truth in the place of the iterate."""
    return replace(e, runs={**e.runs, MAIN: replace(e[MAIN], params=np.asarray(e.problem(MAIN).truth))})


def closed_form(e):
    """The iteration solved."""
    return e.cached(lb.theory.L2Iteration, e.problem(MAIN), e.settings.learning_rate, e.settings.weight_decay)


@fig16.claim(
    holds("at most {linear:.0%} of a linear axis at the end, and an error of at least {left:g}", linear=0.05, left=0.5),
)
def looks_like_grokking(e, linear, left):
    """Without a logarithmic scale of the error it looks like grokking has occurred, whereas this is not the case."""
    end = e[MAIN].final["test_error"]
    share = end / float(e[MAIN]["test_error"].max())
    return {"of the axis": share, "error": end}, share <= linear and end >= left


def half_way(run, column, end):
    """The step at which a column is half way, in its logarithm, from its value at step 1000 to an end."""
    begin = run.at(column, step=1000)
    return run.first((run["step"] > 1000) & (run[column] <= np.sqrt(begin * end)))


LATE_DROP = (
    holds(
        "half of the fall (logarithmic) at least {late:g} times t1, and within {by:.0%} of the step at which |a|₂ is "
        "half way to |a*|₂",
        late=1000,
        by=0.1,
    ),
)


@fig7.claim(*LATE_DROP, source="Section 3.3, Appendix E")
@fig16.claim(*LATE_DROP, source="Section 3.3, Appendix E", rate=0.95)
def late_drop(e, late, by):
    """There is a late transition in the generalisation error, and it is that of the l2 norm."""
    return dropped(e, MAIN, late, by)


def dropped(e, name, late, by):
    """How late a run's drop is, beside that of its norm, and whether that is late, and the same."""
    run, size = e[name], float(np.linalg.norm(np.asarray(e.problem(name).truth)))
    error, norm = half_way(run, "test_error", run.final["test_error"]), half_way(run, "l2_norm", size)
    if not (error and norm and run.t1):
        return None, False
    found = {"over t1": error / run.t1, "over the norm's": error / norm}
    return found, found["over t1"] >= late and abs(found["over the norm's"] - 1) <= by


SET_BY_START = within(0.95, 1.05), "error after memorisation over √(|P a0|² + |â - a*|²)/|a*|, P on the kernel of X,"


@fig7.claim(*SET_BY_START, source="Appendix E", kind="ours")
@fig16.claim(*SET_BY_START, source="Appendix E", kind="ours")
def drop_is_the_start(e):
    """What drops is the start: the error before the transition is the start's part in the kernel of X, no more."""
    problem, truth = e.problem(MAIN), np.asarray(e.problem(MAIN).truth)
    _, _, rows = np.linalg.svd(np.asarray(problem.design), full_matrices=False)
    start = np.asarray(problem.init())
    hidden, gap = start - rows.T @ (rows @ start), closed_form(e).limit - truth
    said = np.sqrt(hidden @ hidden + gap @ gap + 2 * hidden @ (gap - rows.T @ (rows @ gap))) / np.linalg.norm(truth)
    return float(e[MAIN].record(step=2000)["test_error"] / said)


@fig7.claim(
    holds(
        "a drop at least {late:g} times as late as t1 and within {by:.0%} of that of |a|₂; error at the end at least "
        "{error:g}",
        late=100,
        by=0.1,
        error=0.8,
    ),
    source="Section 3.3, Appendix E",
    control=Instead({FEW: MAIN}),
    rate=0.6,
)
def drop_without_solution(e, late, by, error):
    """The transition appears even where the problem has no solution: fewer measurements than components to find."""
    found, holds_so = dropped(e, FEW, late, by)
    end = e[FEW].final["test_error"]
    few = e.problem(FEW).measurements < e.settings.sparsity
    return {"drop": found, "error": end, "N < s": few}, holds_so and end >= error and few


@fig7.claim(
    within(1, 1),
    "|a|_0 at the end over that at the start",
    source="Caption of Figure 7",
    control=Altered("the sparse truth in the place of the iterate", _at_truth),
)
def sparsity_is_not_reduced(e):
    """Weight decay reduces the components, not their number."""
    return float(np.count_nonzero(np.asarray(e[MAIN].params)) / np.count_nonzero(np.asarray(e.problem(MAIN).init())))


@fig7.claim(within(0.7, 0.95), "relative recovery error at the end", source="Section 3.3", rate=0.9)
@fig16.claim(within(0.7, 0.95), "relative recovery error at the end", source="Section 3.3", rate=0.9)
def without_understanding(e):
    """The transition does not result in convergence to the truth: grokking without understanding."""
    return e[MAIN].final["test_error"]


DROP_TIME = within(0.95, 1.05), "step at which |a| is √2 |â|, over log(|P a0|/|â|)/(αβ),"
KERNEL = "Theorem 3.6: the factor (1-αβ)^t on the kernel of X"


@fig7.claim(*DROP_TIME, source=KERNEL, kind="ours")
@fig16.claim(*DROP_TIME, source=KERNEL, kind="ours")
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


@thm3_6.claim(
    within(0.999, 1.001), "measured log-rate from step 1e5 to 8e6 over log ρ₂", source="Theorem 3.6", kind="ours"
)
def sharp_rate(e):
    """The rate ρ₂ is sharp; for N < n it is 1-αβ, the factor on the kernel of X."""
    (measured, _), steps = distances(e), e[MAIN]["step"]
    late = (steps > 1e5) & (steps < 8e6)
    slope = np.polyfit(steps[late], np.log(measured[late]), 1)[0]
    return float(slope / np.log(closed_form(e).rate))


def over_floor(e):
    """The error at the end over the norm of the part of a* in the kernel of X."""
    gap = np.linalg.norm(np.asarray(e[MAIN].params) - np.asarray(e.problem().truth))
    return float(gap / lb.theory.ridge_error_floor(e.problem()))


@thm3_6.claim(
    at_least(1 - 1e-3),
    "error at the end of the run over the bound",
    source="Theorem 3.6",
    control=Altered("the sparse truth in the place of the iterate", _at_truth),
)
def lower_bound(e):
    """|â - a*| is at least the norm of the part of a* in the kernel of X."""
    return over_floor(e)


@thm3_6.claim(
    at_most(1.001), "error at the end of the run over the bound", source="Theorem 3.6", kind="ours", control=BRIEF
)
def lower_bound_is_tight(e):
    """The lower bound is attained up to noise and the bias of β."""
    return over_floor(e)


def kernel_residual(e, strength):
    """|F(â + (I - VVᵀ)c)| over β|(I - VVᵀ)c| for a random c, and the smallest eigenvalue of Q over β."""
    design = np.asarray(e.problem().design)
    normal = design.T @ design + strength * np.eye(e.settings.dimension)
    _, _, rows = np.linalg.svd(design, full_matrices=False)
    c = np.random.default_rng(e.settings.seed).normal(size=e.settings.dimension)
    c -= rows.T @ (rows @ c)
    ridge = np.linalg.solve(normal, design.T @ np.asarray(e.problem().targets))
    force = normal @ (ridge + c) - design.T @ np.asarray(e.problem().targets)
    return float(np.linalg.norm(force) / np.linalg.norm(c)), float(np.linalg.eigvalsh(normal)[0])


@thm3_6.claim(
    at_most(1e-6),
    "|F| at â + (I - VVᵀ)c over |(I - VVᵀ)c|, for a random c,",
    source="Lemma C.52, Eq. 112",
    fails="for β > 0 XᵀX + βI is invertible: F is β times that part",
    control=Set(weight_decay=1e-12, steps=1000),
)
def solutions_as_printed(e):
    """F(a) = 0 if and only if a = â + (I - VVᵀ)c for some c."""
    return kernel_residual(e, e.settings.weight_decay)[0]


@thm3_6.claim(
    above(0),
    "smallest eigenvalue of XᵀX + βI",
    source="corrects the previous claim",
    kind="corrected",
    control=Altered("β off", lambda e: replace(e, settings=e.settings.but(weight_decay=1e-300))),
)
def solution_is_unique(e):
    """For β > 0 the ridge solution is the only one."""
    return kernel_residual(e, e.settings.weight_decay)[1] - 1e-9


def solved(e, values):
    """A quantity of the closed form, dashed over the measurement."""
    return Line(e[MAIN]["step"], values, "closed form", "theory", above=1)


@fig7.figure
def fig7_figure(e):
    run, exact = e[MAIN], closed_form(e)
    errors = panels.errors(run, solved(e, exact.test_error(run["step"])))
    limit = Rule(float(np.linalg.norm(exact.limit)), r"$|\hat a|_2$", "grey", across="y")
    norm = panels.norm(run, "l2_norm", r"$|a|_2$", solved(e, exact.norm(run["step"])), limit, log=True)
    return Figure([[errors, norm]])


@fig16.figure
def fig16_figure(e):
    run = e[MAIN]
    linear = panels.errors(run, log=False, title="linear axis")
    theory = solved(e, closed_form(e).test_error(run["step"]))
    logarithmic = panels.errors(run, theory, title="logarithmic axis")
    norm = panels.norm(run, "l1_norm", r"$|a|_1$")
    return Figure([[linear, logarithmic, norm]])


@thm3_6.figure
def thm3_6_figure(e):
    run, (measured, bound) = e[MAIN], distances(e)
    distance = [
        Line(run["step"], measured, r"$|a(t) - \hat a|$", "norm"),
        Line(run["step"], bound, r"$\rho_2^t\,|a(0) - \hat a|$", "theory"),
    ]
    floor = lb.theory.ridge_error_floor(e.problem()) / np.linalg.norm(np.asarray(e.problem().truth))
    error = [
        panels.curve(run, "test_error", "recovery error", "test"),
        Rule(float(floor), "lower bound", across="y"),
        *panels.milestones(run),
    ]
    left = Panel(distance, Axis("step $t$"), Axis("distance to the limit", "log"))
    right = Panel(error, panels.STEPS, Axis("relative recovery error", "log"))
    return Figure([[left, right]])
