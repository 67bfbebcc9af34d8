"""Modular addition without weight decay: margin maximisation alone generalises, at times like 10^(10^3) (Figure 4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings
from latebloom.catalog.bounds import at_least, at_most, holds, within
from latebloom.catalog.controls import Altered
from latebloom.catalog.measures import over
from latebloom.core.fields import count, number
from latebloom.errors import InputError
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

LONG, EARLY = "to the end", "until it fits"
PRINTED = (1e2, 1e4)  # exponents of ten between which the test accuracy rises in the paper
FLOWING = 20.0  # an exponent of ten well before the steps leave the flow
GROWTH = 0.3  # of the norm, over which gradients are averaged
NOTHING = 1e-9  # a share of wrong rows below that of one row: none


class Fig4Settings(Settings):
    """Modular addition on ordered pairs: a two-layer ReLU net with first bias, He's start, mean cross-entropy."""

    modulus: int = count(default=17, least=2, note="p")
    width: int = count(default=128, note="h, hidden units")
    train_share: float = number(default=0.8, above=0, below=1, note="share of the pairs to train on")
    learning_rate: float = number(default=0.03, above=0, note="η of η/L(θ); the paper does not print it")
    steps: int = count(default=30_000)


fig4 = Entry(
    "dichotomy/fig4",
    "Grokking without weight decay: margin maximisation on modular addition",
    "With learning rate η/L(θ) and no weight decay the network fits by t = 10^3, and generalises between "
    "t = 10^(10^2) and 10^(10^4).",
    source="Appendix B.1, Figure 4",
    seconds=25,
    settings=Fig4Settings(),
    full={"modulus": 97, "width": 1024, "train_share": 0.4, "steps": 400_000},
    notes=(
        "Time is the sum of learning rates, as in the paper; its exponents are of ten (log_time is natural: divide by "
        "log 10). Read as e^(10^2) to e^(10^4) it held on seeds 0 and 1 as well.",
        "The paper does not print η. With η = 0.01 the steps leave the flow later, the margin falls by 6 % instead of "
        "22 %, and half of the test pairs are right at t = 10^940 and 10^430 (seeds 0 and 1), not 10^290 and 10^240.",
        "Once the steps have left the flow, the margin depends on rounding, and that on the number of cores: "
        "over seeds 0 to 4 and 1, 2, 4 and 8 threads it ends at 1.08 to 1.22 times that at t = 10^10, and is at most "
        "1.20 to 1.23 times that.",
        "--full is the paper's size: about a day, estimated from the time of a step; it was not run to the end here.",
        "With less it is later: 10 to 17 % of the test pairs are right at t = 10^500 to 10^900 with a width of 64, two "
        "thirds at 10^49000 with 70 % of the pairs to train on (and η = 0.01).",
    ),
)


@fig4.runs
def fig4_runs(s):
    problem = lb.problems.ModularClassifier(s.modulus, s.width, train_share=s.train_share, seed=s.seed)
    probes = (
        lb.probes.TrainLogLoss(),
        lb.probes.HomogeneousMargin(),
        lb.probes.KKTAngle(),
        lb.probes.ZeroSumDefect("log_loss"),
    )
    long = lb.TrainJob(
        problem,
        lb.LogLossDescent(s.learning_rate),
        None,
        steps=s.steps,
        probes=probes,
        memorised_at=NOTHING,
        generalised_at=NOTHING,
        records_per_decade=120,
    )
    return {LONG: long, EARLY: long.but({"stop_at": "memorised"})}


def decades(run):
    """`log10 t`, from the first step on."""
    return run["log_time"][1:] / np.log(10)


def accuracy_at(run, exponent):
    """The test accuracy at `t = 10^exponent`, linear in the logarithm of the exponent between records."""
    late = decades(run) > 1
    return float(np.interp(np.log(exponent), np.log(decades(run)[late]), 1 - run["test_error"][1:][late]))


def passes(e, level):
    """The exponent of ten at which the test accuracy passes a level for good."""
    run = e[LONG]
    below = np.flatnonzero(1 - run["test_error"][1:] < level)
    last = int(below[-1]) + 1 if len(below) else 0
    return float(decades(run)[last]) if last < len(decades(run)) else None


def fitted(e):
    """The exponent of ten at which all training pairs are right."""
    found = e[LONG].milestones.memorised
    return None if found is None or found.log_time is None else found.log_time / np.log(10)


def largest_drop(run, until=np.inf):
    """How far the normalised margin falls below what it had reached, as a share, once all training pairs are right."""
    margin = run["homogeneous_margin"][1:][(run["train_error"][1:] == 0) & (decades(run) <= until)]
    return float(np.max(1 - margin / np.maximum.accumulate(margin)))


def averaged_angle(problem, run, learning_rate):
    """The angle of parameters and next steps at the end of a run, until the norm has grown; NaN if it does not."""
    try:
        return lb.theory.averaged_kkt(problem, run.params, learning_rate=learning_rate, growth=GROWTH)
    except InputError:
        return np.nan


def averaged(e):
    """That angle when the training pairs are fitted, and at the end."""
    early, late = (
        e.cached(averaged_angle, e.problem(name), e[name], e.settings.learning_rate) for name in (EARLY, LONG)
    )
    return {"when it fits": early, "at the end": late}


def law(run):
    """`log10 t` and `log t / |θ|²`, which the normalised margin follows once the loss is small."""
    late = run["log_time"] > 10
    return run["log_time"][late] / np.log(10), run["log_time"][late] / run["l2_norm"][late] ** 2


def with_columns(e, **columns):
    """The evidence with other columns of the long run."""
    return replace(e, runs={**e.runs, LONG: replace(e[LONG], columns={**e[LONG].columns, **columns})})


def hurried(e):
    """The evidence with a clock on which the end is before t = 10^FLOWING."""
    log_time = e[LONG]["log_time"]
    return with_columns(e, log_time=log_time * min(1.0, FLOWING * np.log(10) / float(log_time[-1])))


def plain_gradient(e):
    """The evidence with the defect that the gradient of the loss, not of its logarithm, has at the end."""
    defect = float(lb.probes.ZeroSumDefect().measure(e.problem(LONG), None, e[LONG].params))
    return with_columns(e, zero_sum_defect=np.full(len(e[LONG]["step"]), defect))


def late_fit(e):
    """The exponent of ten at the last record with a wrong training pair."""
    wrong = np.flatnonzero(e[LONG]["train_error"][1:] > NOTHING)
    return float(decades(e[LONG])[wrong[-1]]) if len(wrong) else -np.inf


@fig4.claim(at_most(10.0), "log10 t at the last record at which a training pair is wrong")
def fits_early(e):
    """A very quick convergence in training accuracy occurs in the early phase."""
    return late_fit(e)


@fig4.claim(at_most(0.05), "test accuracy when all training pairs are right")
def fails_when_it_fits(e):
    """By then the test accuracy is about 0 %."""
    return 1 - e[EARLY].final["test_error"]


@fig4.claim(
    holds(
        "test accuracy at most {most:.0%} at t = 10^(10^2), at least {least:.0%} at t = 10^(10^4)",
        most=0.35,
        least=0.9,
    ),
    id="rises-between-10^10^2-and-10^10^4",
    source="Appendix B.1, Figure 4b",
    rate=0.75,
)
def rises(e, most, least):
    """The test accuracy slowly transitions from about 0 % to 100 % as t increases from 10^(10^2) to 10^(10^4)."""
    first, last = (accuracy_at(e[LONG], exponent) for exponent in PRINTED)
    return {"at 10^(10^2)": first, "at 10^(10^4)": last}, first <= most and last >= least


@fig4.claim(
    within(*PRINTED), "log10 t at which half of the test pairs are right for good", source="Appendix B.1, Figure 4b"
)
def half_in_between(e):
    """Half of the test pairs are right in between."""
    return passes(e, 0.5)


@fig4.claim(at_least(0.95), "largest test accuracy of a record", source="Section 2", rate=0.75)
def generalises(e):
    """Training without weight decay leads to perfect generalisation in the end."""
    return 1 - float(e[LONG]["test_error"].min())


@fig4.claim(
    at_least(30.0), "log t of half of the test pairs over that of all training pairs", source="Caption of Figure 4"
)
def exponentially_longer(e):
    """It can take exponentially longer than the time needed for 100 % training accuracy."""
    return over(passes(e, 0.5), fitted(e))


@fig4.claim(
    at_least(10.0),
    "log t at 90 % of the test pairs over log t at 10 % (with weight decay t itself changes by less than 10)",
    source="Caption of Figure 4",
    rate=0.75,
)
def not_sharp(e):
    """The transition is no longer sharp."""
    return over(passes(e, 0.9), passes(e, 0.1))


@fig4.claim(
    at_least(1.15),
    "largest normalised margin min_i m_i/|θ|² after t = 10^10 over that at t = 10^10",
    source="Appendix B.1",
)
def margin_grows(e):
    """After long enough the margin maximisation bias arises."""
    run = e[LONG]
    margin = run["homogeneous_margin"][1:]
    early = float(np.interp(10.0, decades(run), margin))
    return float(np.max(margin[decades(run) > 10], initial=early)) / early


@fig4.claim(
    at_most(0.01),
    "largest fall of the normalised margin, which the flow only lets grow, below what was reached, as a share,",
    source="Appendix B.1, with the learning rate η/L(θ); the flow: Lyu and Li (2020)",
    kind="premise",
    fails="η, which is not printed, is too large here: the curvature of log L grows with |θ|², and the steps leave the "
    "flow at about t = 10^40",
)
def margin_is_monotone(e):
    """The learning rate is so small that the trajectory is close to the gradient flow."""
    return largest_drop(e[LONG])


@fig4.claim(
    at_most(0.01),
    f"largest fall of the normalised margin below what was reached, as a share, up to t = 10^{FLOWING:g},",
    source="Appendix B.1; Lyu and Li (2020)",
    kind="premise",
    rate=0.75,
    control=Altered("the times after that are taken for earlier ones", hurried),
)
def margin_is_monotone_at_first(e):
    """As long as the times are not astronomic, it is: the margin grows monotonically."""
    return largest_drop(e[LONG], FLOWING)


@fig4.claim(
    at_most(0.25),
    "relative gap, median over the second half of the records after log t = 10,",
    source="Lyu and Li (2020): L(θ(t)) is of order 1/(t log t) for two layers",
    kind="ours",
)
def margin_is_log_t_over_norm(e):
    """The normalised margin is log t / |θ|²: the loss is e^-margin and the time one over the loss."""
    run = e[LONG]
    gap = np.abs(law(run)[1] / run["homogeneous_margin"][run["log_time"] > 10] - 1)
    return float(np.median(gap[len(gap) // 2 :])) if len(gap) else None


@fig4.claim(
    at_least(1.0),
    "1 - cos(θ, -∇ log L) at the end over that when the training pairs are fitted",
    source="ours",
    kind="ours",
    rate=0.75,
)
def kkt_not_at_a_point(e):
    """Single gradients do not show it: the end is on kinks of ReLU, where margins take turns to be the smallest."""
    return e[LONG].final["kkt_angle"] / e[EARLY].final["kkt_angle"]


@fig4.claim(
    holds(
        f"1 - cos(θ, steps while |θ| grows by {GROWTH:.0%}) at the end at most {{most:g}} of that when the pairs are "
        "fitted",
        most=0.7,
    ),
    source="Appendix B.1: (R1), with Clarke's subdifferential",
    rate=0.75,
)
def kkt_on_average(e, most):
    """Without weight decay the parameters go to KKT points of (R1): to averages of gradients nearby, as of Clarke's."""
    found = averaged(e)
    return found, found["at the end"] <= most * found["when it fits"]


@fig4.claim(
    at_most(1e-3),
    "largest zero-sum defect of the gradient over all records",
    source="ours",
    kind="ours",
    control=Altered("the gradient of the loss itself, at the same parameters", plain_gradient),
)
def gradient_is_sound(e):
    """Steps on the log-loss lose nothing to rounding, with losses down to 10^(-10^4)."""
    return float(e[LONG]["zero_sum_defect"].max())


def accuracies(run, times, *more, axis, legend: str | None = "best"):
    """Train and test accuracy against some first records of a clock."""
    shown = slice(1, len(times) + 1)
    curves = [
        Line(times, 1 - run["train_error"][shown], "train", "train"),
        Line(times, 1 - run["test_error"][shown], "test", "test"),
    ]
    return Panel([*curves, *more], axis, Axis("accuracy", low=-0.03, high=1.05), legend=legend)


@fig4.figure
def fig4_figure(e):
    run = e[LONG]
    when, right = decades(run), run["train_error"][1:] == 0
    exponents = Axis(r"$\log_{10} t$", "log", 1, max(10.0, float(when[-1])))
    short = accuracies(run, 10.0 ** when[when < 110], legend=None, axis=Axis("time $t$", "log", 1e-1, 1e100))
    rise = Rule(PRINTED[0], "rise in the paper's figure", "grey", to=PRINTED[1], opacity=0.12)
    long = accuracies(run, when, rise, *panels.milestones(run, scale=1 / np.log(10)), axis=exponents)
    theory = panels.withheld([run]) or [Line(*law(run), r"theory: $\log t\,/\,|\theta|^2$", "theory")]
    margin = Line(when[right], run["homogeneous_margin"][1:][right], r"$\min_i m_i/|\theta|^2$", "norm")
    ends = [float(decades(e[name])[-1]) for name in (EARLY, LONG)]
    angles = [
        Line(when, run["kkt_angle"][1:], r"$-\nabla\log L$ at a point", "grey"),
        Line(ends, list(averaged(e).values()), rf"average while $|\theta|$ grows by {GROWTH:.0%}", "norm", "linked"),
    ]
    margins = Panel([margin, *theory], exponents, Axis("normalised margin"), legend="lower right")
    turned = Panel(angles, exponents, Axis(r"$1-\cos$ with $\theta$", low=0, high=1.05))
    return Figure([[short, long], [margins, turned]])
