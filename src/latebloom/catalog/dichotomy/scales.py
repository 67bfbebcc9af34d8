"""Diagonal networks from larger and larger starts α: the kernel regime (Theorem 3.4) and the rich one (Theorem 3.5)."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.bounds import at_least, at_most, holds, within
from latebloom.catalog.controls import OtherBound
from latebloom.catalog.dichotomy.margins import (
    DUAL_NOTE,
    SparseSettings,
    at,
    cosines,
    l1_share,
    oracle_study,
    sparse,
    weights_at,
)
from latebloom.core.fields import count, number, numbers
from latebloom.errors import InputError
from latebloom.figures import Axis, Figure, Line, Panel, panels

C = 0.5  # the constant c of the theorems
NAME, DECAY_NAME, LIMIT_NAME = "α={:g}", "λ={:g}", "α=1/λ={:g}"
SLACK = 0.5  # margins above the smallest by more than this share have no multiplier


class ScaleSettings(SparseSettings):
    """Sparse classification from several initial scales, to some λt beyond what Theorem 3.5 speaks of."""

    dimension: int = count(default=2000, note="d; inputs are uniform in {-1, 1}^d")
    samples: int = count(default=64, note="n")
    init_scales: tuple[float, ...] = numbers(
        default=(1.0, 1e1, 1e2, 1e3, 1e4, 1e6), least=1, note="α, every entry of u and v"
    )
    more_time: float = number(default=10.0, above=0, note="λt beyond (1+c) log α, c = 1/2")

    @property
    def large(self):
        """The scales that the theorems speak of, in order: log α = 0 has no kernel phase in their sense."""
        return tuple(sorted(scale for scale in self.init_scales if scale > 1))


class DecaySettings(ScaleSettings):
    """The same, and runs at several weight decays."""

    weight_decays: tuple[float, ...] = numbers(default=(1e-2, 1e-4, 1e-6, 1e-8), above=0, note="λ of more runs")
    decay_init_scale: float = number(default=1.0, above=0, note="α of these runs")
    decay_slow_time: float = number(default=20.0, above=0, note="λt at their end")
    limit_scales: tuple[float, ...] = numbers(
        default=(1e2, 1e3, 1e4, 1e6, 1e8), above=1, note="α of runs with λ = 1/α and exponential loss, as in the proofs"
    )
    limit_dimension: int = count(default=500, note="d of these runs")
    limit_samples: int = count(default=32, note="n of these runs")

    def limit_job(self, scale):
        """The flow to (1+c) log(α)/λ with λ = 1/α."""
        data = sparse(self.limit_dimension, self.limit_samples, self.seed, self.test_samples, self.sparsity)
        problem = lb.problems.DiagonalClassifier(data, init_scale=scale, loss_kind="exponential")
        time = (1 + C) * float(np.log(scale)) * scale
        return lb.FlowJob(problem, lb.L2(1 / scale), time=time, solver="dual", records_per_decade=100)

    @property
    def decays(self):
        """The weight decays, from the largest to the smallest."""
        return tuple(sorted(self.weight_decays, reverse=True))


FULL = {"dimension": 20_000, "samples": 128}
FULL_NOTE = "--full takes minutes."
thm3_4 = Entry(
    "dichotomy/thm3.4",
    "Theorem 3.4: the kernel regime lasts until (1-c) log(α)/λ",
    "Up to (1-c) log(α)/λ the network is the max l2-margin classifier, the closer the larger α; the margin grows "
    "twice as fast in log α as printed.",
    source="Section 3.2.1, Theorem 3.4; Corollary 3.6",
    seconds=15,
    settings=ScaleSettings(),
    full=FULL,
    notes=(DUAL_NOTE, FULL_NOTE),
)
thm3_5 = Entry(
    "dichotomy/thm3.5",
    "Theorem 3.5: the rich regime begins by (1+c) log(α)/λ",
    "By (1+c) log(α)/λ the network is near a KKT point of the max-margin problem, the nearer the larger α; the "
    "end is the max l1-margin classifier as λ vanishes.",
    source="Section 3.2.2, Theorem 3.5; Corollary 3.7",
    seconds=40,
    settings=DecaySettings(),
    full=FULL,
    notes=(DUAL_NOTE, FULL_NOTE),
)


@thm3_4.runs
def scale_runs(s):
    """A run for each scale."""
    data = s.data()

    def job(scale):
        time = ((1 + C) * np.log(scale) + s.more_time) / s.weight_decay
        return s.job(data, init_scale=scale, time=time, records_per_decade=100)

    return {NAME.format(scale): job(scale) for scale in s.init_scales}


@thm3_5.runs
def thm3_5_runs(s):
    data = s.data()

    def job(decay):
        time = s.decay_slow_time / decay
        return s.job(data, init_scale=s.decay_init_scale, time=time, weight_decay=decay, records_per_decade=10)

    falling_decay = {LIMIT_NAME.format(scale): s.limit_job(scale) for scale in sorted(s.limit_scales)}
    return scale_runs(s) | {DECAY_NAME.format(decay): job(decay) for decay in s.weight_decays} | falling_decay


@thm3_4.studies
@thm3_5.studies
def oracles(s):
    return oracle_study(s.data())


def distances(e):
    """`1 - cos(w, w_2*)` at `(1 - c) log α / λ`, by α."""
    names = {scale: NAME.format(scale) for scale in e.settings.large}
    return [1 - at(e[name], cosines(e, name)[0], (1 - C) * np.log(scale)) for scale, name in names.items()]


def angles(e):
    """`1 - cos(θ, -∇L)` at `(1 + c) log α / λ`, by α."""
    runs = {scale: e[NAME.format(scale)] for scale in e.settings.large}
    return [at(run, run["kkt_angle"], (1 + C) * np.log(scale)) for scale, run in runs.items()]


def smallest_margins(e):
    """The smallest margin `y_i f(x_i)` at `(1 - c) log α / λ`, by α."""
    found = []
    for scale in e.settings.large:
        name = NAME.format(scale)
        record = int(np.argmin(np.abs(e[name]["slow_time"] - (1 - C) * np.log(scale))))
        found.append(float(e[name]["margin_l2"][record] * np.linalg.norm(weights_at(e, name, [record])[0])))
    return found


def shares(e):
    """The normalised l1 margin over the largest, at the end, from the largest λ to the smallest."""
    return [l1_share(e, DECAY_NAME.format(decay)) for decay in e.settings.decays]


def falling(values):
    """To two digits, and whether each is below the one before."""
    return [float(f"{value:.2g}") for value in values], bool(np.all(np.diff(values) < 0))


@thm3_4.claim(
    at_most(1e-3), f"largest 1 - cosine over all α above 1, at c = {C:g},", source="Theorem 3.4, Corollary 3.6"
)
def max_l2_margin_at_t_minus(e):
    """At (1-c) log(α)/λ the direction of the effective weight is the max l2-margin direction, as α → ∞."""
    return max(distances(e))


@thm3_4.claim(
    holds("1 - cosine falls from each α to the next"),
    id="closer-with-alpha",
    source="Theorem 3.4 (a limit α → ∞)",
)
def closer_to_max_l2_margin(e):
    """The larger α, the closer."""
    return falling(distances(e))


@thm3_4.claim(
    within(0.8 * 2 * C, 1.2 * 2 * C),
    f"slope of the smallest margin in log α (20 % about 2(L-1)c = {2 * C:g}, L = 2; log log terms are left)",
    id="normalising-factor",
    text="At fixed λ the margin at (1-c) log(α)/λ grows as 2(L-1)c log α, L the degree.",
    source="corrects the previous claim",
    kind="corrected",
)
@thm3_4.claim(
    within(0.8 * C, 1.2 * C),
    f"slope of the smallest margin in log α (20 % about c = {C:g})",
    id="normalising-factor-as-printed",
    text="The output is Z(α) = log(α^c/λ)/γ times the unit classifier's, so the margin grows as c log α at fixed λ.",
    source="Theorem 3.4, the factor Z",
    outside="λ is held fixed here and the theorem lets it fall as α^-p; the slope is 2(L-1)c, as with λ = 1/α",
    control=OtherBound(within(0.8 * 2 * C, 1.2 * 2 * C)),
)
def margin_slope(e):
    if len(e.settings.large) < 2:
        return None
    return float(np.polyfit(np.log(e.settings.large), smallest_margins(e), 1)[0])


@thm3_5.claim(at_most(0.02), f"1 - cos(θ, -∇L) at the largest α, 1e6, and c = {C:g}", source="Theorem 3.5")
def kkt_at_t_plus(e):
    """By (1+c) log(α)/λ the direction of the parameters is that of a KKT point of the max-margin problem, as α → ∞."""
    return angles(e)[-1]


@thm3_5.claim(
    holds("1 - cos(θ, -∇L) at (1+c) log(α)/λ falls from each α to the next"),
    id="closer-with-alpha",
    source="Theorem 3.5 (a limit α → ∞)",
)
def closer_to_kkt(e):
    """The larger α, the closer."""
    return falling(angles(e))


def kkt_point(e, scale):
    """The KKT conditions of (R1) at the end, `(1+c) log(α)/λ`, of a run with λ = 1/α."""
    name = LIMIT_NAME.format(scale)
    return lb.theory.margin_kkt(e.problem(name), e[name].params, slack=SLACK)


def kkt_points(e):
    """Those, from the smallest α to the largest; None where a run does not fit the training set."""
    try:
        return [kkt_point(e, scale) for scale in sorted(e.settings.limit_scales)]
    except InputError:
        return None


def falls_to(values, most):
    """To two digits, and whether each is below the one before and the last at most `most`."""
    shown, fall = falling(values)
    return shown, fall and bool(values[-1] <= most)


IN_THE_LIMIT = "λ = 1/α, exponential loss, at (1+c) log(α)/λ: "


@thm3_5.claim(
    holds(IN_THE_LIMIT + "|θ - Σ λ_i ∇q_i| / |θ|, λ ≥ 0, falls from each α to the next, to at most {most:g}", most=0.1),
    source="Theorem 3.5, Corollary 3.7",
)
def kkt_stationarity(e, most):
    """The direction of θ is that of a KKT point of (R1): it is a combination of the gradients of margins."""
    found = kkt_points(e)
    return (None, False) if found is None else falls_to([point.residual for point in found], most)


@thm3_5.claim(
    holds(
        IN_THE_LIMIT + "smallest margin over the largest possible one rises with α, to at least {least:g}", least=0.9
    ),
    source="Theorem 3.5, Corollary 3.7",
)
def kkt_feasibility(e, least):
    """The direction of θ is feasible: scaled to |θ|² of a KKT point all margins are at least one."""
    found = kkt_points(e)
    if found is None:
        return None, False
    data = e.problem(LIMIT_NAME.format(max(e.settings.limit_scales))).data
    shares = [point.margin / e.cached(lb.oracles.max_l1_margin, data).margin for point in found]
    return [round(share, 3) for share in shares], bool(np.all(np.diff(shares) > 0) and shares[-1] >= least)


@thm3_5.claim(
    holds(
        IN_THE_LIMIT
        + "weight of the loss on margins above the smallest, Σ r_i (q_i/q_min - 1) / Σ r_i, falls over the "
        "three largest α, to at most {most:g}",
        most=0.08,
    ),
    source="Theorem 3.5, Corollary 3.7; proof of Theorem C.12",
)
def kkt_slackness(e, most):
    """Complementary slackness: the multipliers of margins that are not the smallest vanish."""
    runs = [e[LIMIT_NAME.format(scale)] for scale in sorted(e.settings.limit_scales)]
    return falls_to([float(run["slackness"][-1]) for run in runs[-3:]], most)


@thm3_5.claim(
    at_least(0.93),
    "normalised l1 margin over the largest, at the smallest λ, 1e-8,",
    source="Section 3.2.3 after Corollary 3.7",
)
def l1_margin(e):
    """In the diagonal case the rich regime is that of the max l1-margin classifier."""
    return shares(e)[-1]


@thm3_5.claim(
    holds("normalised l1 margin of the end rises from each λ to the next smaller"),
    source="Section 3.1, λ = Θ(α^-p)",
    kind="ours",
)
def l1_margin_as_lambda_falls(e):
    """How close the end is to the max l1-margin classifier is decided by λ, which the theorem lets vanish with α."""
    found = shares(e)
    return [round(value, 4) for value in found], bool(np.all(np.diff(found) > 0))


SLOW_TIME, SCALE = r"slow time $\lambda t$", rf"$c={C:g}$"


def paths(e, values):
    """A column of `values` by the name of its run against λt, a curve per α."""
    scales = e.settings.init_scales
    runs = {scale: NAME.format(scale) for scale in scales}
    return [
        Line(
            e[name]["slow_time"][1:],
            values(name)[1:],
            rf"$\alpha=${scale:g}",
            shade=panels.shade_of(place, len(scales)),
        )
        for place, (scale, name) in enumerate(runs.items())
    ]


@thm3_4.figure
def thm3_4_figure(e):
    scales, logs, found = e.settings.large, np.log(e.settings.large), np.array(smallest_margins(e))
    curves = paths(e, lambda name: 1 - cosines(e, name)[0])
    left = Axis(SLOW_TIME, "log", 1e-3, 30), Axis(r"$1-\cos(w, w_2^*)$", "log")
    points = [Line(scales, found, rf"measured at $(1-c)\log\alpha/\lambda$, {SCALE}", marks="points")]
    for factor, role, label in ((C, "printed", r"slope $c$ (printed)"), (2 * C, "theory", r"slope $2(L-1)c$")):
        points.append(Line(scales, found[:1] + factor * (logs - logs[:1]), label, role))
    right = Axis(r"initial scale $\alpha$", "log"), Axis(r"smallest margin $y_i f(x_i)$")
    return Figure([[Panel(curves, *left, legend="upper left"), Panel(points, *right, legend="upper left")]])


@thm3_5.figure
def thm3_5_figure(e):
    s = e.settings
    curves = paths(e, lambda name: e[name]["kkt_angle"])
    shades = {scale: curve.shade for scale, curve in zip(s.init_scales, curves, strict=True)}
    for scale, angle in zip(s.large, angles(e), strict=True):
        dot = {"name": f"α = {scale:g}, at the theorem's time", "marks": "points", "shade": shades[scale]}
        curves.append(Line([(1 + C) * np.log(scale)], [angle], **dot))
    curves.append(Line([], [], rf"$(1+c)\log\alpha$, {SCALE}", "theory", "points"))
    left = Axis(SLOW_TIME, low=0, high=30), Axis(r"$1-\cos(\theta, -\nabla L)$", "log")
    ends = [cosines(e, DECAY_NAME.format(decay))[1][-1] for decay in s.decays]
    margins = [
        Line(s.decays, shares(e), r"$L^1$ margin over the largest", "norm", "linked"),
        Line(s.decays, ends, r"$\cos(w, w_1^*)$", "test", "linked", symbol="s"),
    ]
    right = Axis(r"weight decay $\lambda$", "log"), Axis(rf"at $\lambda t = {s.decay_slow_time:g}$")
    return Figure([[Panel(curves, *left, legend="lower left"), Panel(margins, *right, legend="lower left")]])
