"""Diagonal networks that classify: grokking (Figure 1a) and misgrokking (Figure 1b)."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.bounds import at_least, at_most, holds, within
from latebloom.catalog.controls import Set
from latebloom.catalog.dichotomy.margins import (
    DUAL_NOTE,
    FLOW,
    DiagonalSettings,
    SparseSettings,
    at,
    cosines,
    l1_share,
    oracle_study,
    sparse,
    when_falls,
)
from latebloom.catalog.measures import over
from latebloom.core.fields import count, number
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

SMALL, DESCENT = "small, flow", "small, descent"
EARLY = 0.1  # a slow time λt in the middle of the kernel phase
GENERALISES = 0.998  # the test accuracy that Figure 1b has first
INIT_SCALE = 128 / np.sqrt(2e5)  # a norm of 128 at d = 1e5


class Fig1aSettings(SparseSettings):
    init_scale: float = number(default=INIT_SCALE, above=0, note="every entry of u and v: a norm of 128 at d = 1e5")
    time: float = number(default=1e4, above=0, note="of the flow")
    generalised_at: float = number(default=5e-3, above=0, note="share of wrong test points of t2")
    rtol: float = number(default=1e-5, above=0, note="tolerance of the solver")
    records_per_decade: int = count(default=40, note="each is a product with the test set")
    small_dimension: int = count(default=500, least=2, note="d of the runs that hold descent against the flow")
    small_samples: int = count(default=64, note="n of these runs")
    small_decay: float = number(default=1e-2, above=0, note="λ of these runs, which end at the same λt")
    learning_rate: float = number(default=1e-2, above=0, note="of the descent")


class Fig1bSettings(DiagonalSettings):
    dimension: int = count(default=100_000, least=2, note="d; not printed, as in Figure 1a")
    samples: int = count(default=32, note="n; inputs are z + (γ/2) y w*, z Gaussian, w* a random unit vector")
    gap: float = number(default=25.0, least=0, note="γ, as printed")
    small_dimension: int = count(default=1000, least=2, note="d of the run beside")
    small_gap: float = number(default=25.0, least=0, note="γ of the run beside: as printed")
    init_scale: float = number(default=INIT_SCALE, above=0, note="every entry of u and v; not printed, as in Figure 1a")
    time: float = number(default=3e4, above=0, note="of the flow: the loss of accuracy is slower than the gain of 1a")
    generalised_at: float = number(default=5e-3, above=0, note="test error of t2, exact by quadrature")

    def data(self):
        return lb.problems.GaussianGap(self.dimension, self.samples, margin=self.gap, seed=self.seed)

    def small_data(self):
        return lb.problems.GaussianGap(self.small_dimension, self.samples, margin=self.small_gap, seed=self.seed)

    @property
    def small(self):
        """The name of the run in a small dimension."""
        return f"d = {self.small_dimension}"


fig1a = Entry(
    "dichotomy/fig1a",
    "Grokking with a diagonal network on sparse classification",
    "The test accuracy stays at chance while the net is the max l2-margin classifier, then becomes 100 % as it "
    "turns to the max l1-margin classifier; the transition is before log(α)/λ.",
    source="Section 3.2.3, Figure 1a",
    seconds=10,
    settings=Fig1aSettings(),
    full={"dimension": 100_000, "samples": 256, "rtol": 1e-4, "records_per_decade": 25},
    full_seconds=38,
    notes=(DUAL_NOTE, "The paper's λ multiplies |θ|²/2, as ours does."),
)
fig1b = Entry(
    "dichotomy/fig1b",
    "Misgrokking with a diagonal network on data with a large l2 margin",
    "The net generalises at once as the max l2-margin classifier and loses it as it turns to the max l1-margin "
    "classifier, if the dimension is large.",
    source="Section 3.2.3, Figure 1b",
    seconds=25,
    settings=Fig1bSettings(),
    notes=(
        DUAL_NOTE,
        "The dimension is not printed. With d = 1e4 and γ = 14, where the early phase is as good, the end is at 70 %.",
    ),
)


@fig1a.runs
def fig1a_runs(s):
    options = {"rtol": s.rtol, "records_per_decade": s.records_per_decade}
    time, levels = s.time * s.weight_decay / s.small_decay, {"memorised_at": s.memorised_at}
    data = sparse(s.small_dimension, s.small_samples, s.seed, s.test_samples, s.sparsity)
    small = s.job(data, init_scale=s.init_scale, time=time, weight_decay=s.small_decay)
    method, levels = lb.GradientDescent(s.learning_rate), levels | {"generalised_at": s.generalised_at}
    steps = round(time / s.learning_rate)
    return {
        FLOW: s.job(s.data(), init_scale=s.init_scale, time=s.time, **options),
        SMALL: small,
        DESCENT: lb.TrainJob(small.problem, method, small.penalty, steps=steps, **levels),
    }


@fig1b.runs
def fig1b_runs(s):
    both = {FLOW: s.data(), s.small: s.small_data()}
    return {name: s.job(data, init_scale=s.init_scale, time=s.time) for name, data in both.items()}


@fig1a.studies
@fig1b.studies
def oracles(s):
    return oracle_study(s.data())


def early_error(e):
    """The test error in the kernel phase."""
    return at(e[FLOW], e[FLOW]["test_error"], EARLY)


def error_falls(e, share):
    """The slow time λt at which a share is left of the test error of the kernel phase."""
    return when_falls(e[FLOW], e[FLOW]["test_error"], share * early_error(e))


def log_norm(e):
    """The logarithm of the initial norm."""
    return float(np.log(e[FLOW]["l2_norm"][0]))


@fig1a.claim(at_most(1e-3), "last λt at which a training point is wrong")
def fits_at_once(e):
    """In the early phase the net fits the training set very quickly."""
    return float(e[FLOW]["slow_time"][e[FLOW]["train_error"] > 0].max())


@fig1a.claim(within(0.45, 0.65), f"test accuracy at λt = {EARLY:g} (about 0.51 at the paper's size)")
def fails_to_generalise(e):
    """In the early phase it fails to generalise."""
    return 1 - early_error(e)


@fig1a.claim(at_most(0.0), "test error at the end, counted on 1,000 points,", rate=0.8)
def generalises(e):
    """After a sharp transition in the late phase, the test accuracy becomes 100 %."""
    return e[FLOW].final["test_error"]


@fig1a.claim(
    at_most(3.0), "time at which a tenth of the plateau's test error is left over that of nine tenths", rate=0.8
)
def sharp(e):
    """The transition is sharp."""
    return over(error_falls(e, 0.1), error_falls(e, 0.9))


@fig1a.claim(
    holds(
        f"|θ - α e^-λt θ_init| over α e^-λt |θ_init| at most {{near:g}} at λt = {EARLY:g}, at least {{far:g}} at the "
        "end",
        near=0.1,
        far=1,
    ),
    source="Section 3.2 and the insight of Section 3.2.1",
)
def weights_only_shrink(e, near, far):
    """Before the transition θ ≈ α e^-λt θ_init: the norm decays, the direction stays near the start; then it leaves."""
    records = int(np.argmin(np.abs(e[FLOW]["slow_time"] - EARLY))), -1
    early, late = (off_start(e, record) for record in records)
    return {"early": early, "at the end": late}, early <= near and late >= far


def off_start(e, record):
    """How far the weights at a record are from their start times e^-λt, over that."""
    job, run = e.job(FLOW), e[FLOW]
    form = lb.flows.DualForm(job.problem, job.penalty.strengths[0])
    layers = np.stack(form.layers(run["dual"][[record]], run["time"][[record]]))
    shrunk = job.problem.init_scale * np.exp(-run["slow_time"][record])
    return float(np.sqrt(np.mean((layers / shrunk - 1) ** 2)))


@fig1a.claim(
    holds("largest gap of the norm, as a share, and of both accuracies from time 1 on at most {most:g}", most=0.05),
    source="Section 3.1",
)
def descent_follows_flow(e, most):
    """Gradient flow is the continuous counterpart of descent: at a step of 0.01 descent does as the flow does."""
    flow, descent = e[SMALL], e[DESCENT]
    late = descent["time"] >= 1
    gaps = {}
    for name in ("l2_norm", "train_error", "test_error"):
        there = np.interp(descent["time"][late], flow["time"], flow[name])
        gaps[name] = float(np.abs(descent[name][late] - there).max() / (there[0] if name == "l2_norm" else 1))
    return gaps, max(gaps.values()) <= most


@fig1b.claim(at_most(3.0), "time at which nine tenths of the accuracy that is lost are gone over that of one tenth")
def drops_suddenly(e):
    """Training for a longer time leads to a sudden big drop in test accuracy."""
    run, kept = e[FLOW], 1 - e[FLOW]["test_error"]
    first = 1 - early_error(e)
    lost = first - kept[-1]
    return over(*(when_falls(run, kept, first - share * lost) for share in (0.9, 0.1))) if lost > 0.2 else None


@fig1b.claim(at_least(GENERALISES), f"exact test accuracy at λt = {EARLY:g}")
def generalises_first(e):
    """The net first fits the training set and achieves 100 % test accuracy."""
    return 1 - early_error(e)


LOSES = f"exact test accuracy at the end at most {{most:g}}, after at least {GENERALISES:g} at λt = {EARLY:g}"


@fig1b.claim(holds(LOSES, most=0.6), rate=0.9)
def loses_it(e, most):
    """After training for sufficiently longer, the test accuracy drops to nearly 50 %."""
    end = 1 - e[FLOW].final["test_error"]
    return end, end <= most and 1 - early_error(e) >= GENERALISES


@fig1b.claim(at_most(0.6), "its exact test accuracy", source="Section 3.2.3", rate=0.9)
def l1_margin_does_not_generalise(e):
    """The ground-truth weight vector may not have a large l1 margin: the max l1-margin classifier fails."""
    return 1 - float(e.tables["certificates"]["test_error"][1])


KERNEL_PHASE = at_least(0.98), f"cosine at λt = {EARLY:g}"


@fig1a.claim(*KERNEL_PHASE, source="Corollary 3.6")
@fig1b.claim(*KERNEL_PHASE, source="Corollary 3.6")
def kernel_phase_is_max_l2_margin(e):
    """The kernel phase is at the max l2-margin classifier."""
    return at(e[FLOW], cosines(e)[0], EARLY)


RICH_PHASE = at_least(0.85), "normalised l1 margin of the end over the largest (the rest is the weight decay of 1e-3)"


@fig1a.claim(*RICH_PHASE, source="Corollary 3.7 and the remark after it", rate=0.95)
@fig1b.claim(*RICH_PHASE, source="Corollary 3.7 and the remark after it")
def end_is_max_l1_margin(e):
    """The rich phase goes to the max l1-margin classifier."""
    return l1_share(e)


@fig1a.claim(
    within(0.75, 1.25),
    "λt at which half of the plateau's test error is left over log α, α the entries of the start,",
    source="Section 3.2",
    outside="the sentence is about α → ∞, and a norm of 128 is α = 0.286, whose logarithm is negative",
    control=Set(init_scale=1e6, time=2.5e4),
)
def transition_at_log_alpha(e):
    """There is a sharp transition around (1/λ) log α."""
    return over(error_falls(e, 0.5), float(np.log(e.settings.init_scale)))


@fig1a.claim(
    within(-2.5, -1.0),
    "λt at which half of the plateau's test error is left, minus log of the initial norm,",
    source="ours (see dichotomy/time-law for the slope)",
    kind="ours",
)
def transition_before_log_alpha(e):
    """With the printed norm for α the transition is well before λt = log α: c in λt = log α + c is negative."""
    found = error_falls(e, 0.5)
    return None if found is None else found - log_norm(e)


@fig1b.claim(at_least(0.99), "exact test accuracy at the end", source="beyond the paper", kind="ours")
def needs_a_large_dimension(e):
    """At d = 1000 with the printed gap of 25 the late phase generalises too: nothing is lost."""
    return 1 - e[e.settings.small].final["test_error"]


CERTIFIED = at_most(1e-6), "largest relative distance of their margins on the data from the dual bounds"


@fig1a.claim(*CERTIFIED, source="ours", kind="ours")
@fig1b.claim(*CERTIFIED, source="ours", kind="ours")
def oracles_are_certified(e):
    """Both max-margin directions have, on this data, the margins that their dual problems allow at most."""
    found, signed = e.tables["certificates"], np.asarray(e.problem(FLOW).data.signed)
    sizes = ("l2", 2), ("l1", 1)
    margins = [
        (signed @ (direction := e.tables["directions"][kind])).min() / np.linalg.norm(direction, order)
        for kind, order in sizes
    ]
    return float(np.max(np.abs(np.array(margins) / found["margin"] - 1) + found["gap"]))


def accuracy_and_direction(e, more, rules):
    """Accuracies and cosines with the two oracles against λt; `more` is in the first panel, `rules` are in both."""
    s, run, (l2, l1) = e.settings, e[FLOW], cosines(e)
    time, axis = run["slow_time"][1:], Axis(r"slow time $\lambda t$", "log", 1e-3, s.weight_decay * s.time)
    accuracies = [
        Line(time, 1 - run["train_error"][1:], "train", "train"),
        Line(time, 1 - run["test_error"][1:], "test", "test"),
    ]
    directions = [
        Line(time, l2[1:], r"max $L^2$-margin", "train"),
        Line(time, l1[1:], r"max $L^1$-margin", "norm"),
    ]
    rules = [*rules, *panels.milestones(run, scale=s.weight_decay)]
    chance = Rule(0.5, "chance", across="y")
    left = Panel([*accuracies, *more, *rules, chance], axis, Axis("accuracy", low=0.4, high=1.03))
    cosine = Axis("cosine of $w$ with the oracle", low=-0.03, high=1.05)
    return Figure([[left, Panel([*directions, *rules], axis, cosine, legend="center left")]])


@fig1a.figure
def fig1a_figure(e):
    rules = [
        Rule(log_norm(e), r"$\log|\theta(0)|$, printed norm", "printed"),
        Rule(error_falls(e, 0.5) or np.nan, "test error halved", "cycle 4", measured=True),
    ]
    return accuracy_and_direction(e, [], rules)


@fig1b.figure
def fig1b_figure(e):
    s, small = e.settings, e[e.settings.small]
    label = rf"test, $d={s.small_dimension}$, $\gamma={s.small_gap:g}$"
    beside = Line(small["slow_time"][1:], 1 - small["test_error"][1:], label, "cycle 4", "beside")
    return accuracy_and_direction(e, [beside], [])
