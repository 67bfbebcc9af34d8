"""The lemmas of Appendix D on a diagonal network's regression, whose flow is exact in n variables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from latebloom.catalog.base import Entry, Study
from latebloom.catalog.bounds import at_least, at_most, each, holds, near
from latebloom.catalog.controls import Altered, OtherBound
from latebloom.catalog.dichotomy.regression import RegressionSettings, slope
from latebloom.core.fields import numbers
from latebloom.figures import Axis, Figure, Line, Panel, panels

C, L, RECORDS = 0.5, 2, 60  # c of the theorems, the degree, records a run
LAST = 1.2  # λt / log α at the end


class LemmaSettings(RegressionSettings):
    """The regression of Theorem 3.9, without its probes."""

    init_scales: tuple[float, ...] = numbers(default=(4, 8, 16, 32, 64), above=1, note="α")


app_d = Entry(
    "dichotomy/app-d",
    "Appendix D: bounds on the loss and on the way from the start in regression, lemma by lemma",
    "The bounds hold as printed; the gradients (23) and (24) lack the 1/n of the mean.",
    source="Appendix D.1, Lemmas D.1 to D.5, Corollary D.6",
    seconds=15,
    settings=LemmaSettings(),
    notes=("With u = α e^{-λt+2s}, v = α e^{-λt-2s} and s = Xᵀq the flow is one of n numbers q, stepped by LSODA.",),
)


def flow(s, scale):
    """The numbers q at records in λt, from 1e-4 of log α to beyond it."""
    from scipy.integrate import solve_ivp

    problem, decay = s.problem(init_scale=scale), s.decay_factor / scale
    inputs, labels = data(problem)
    slow = np.concatenate([[0.0], np.geomspace(1e-4, LAST, RECORDS)]) * np.log(scale)

    def velocity(time, q):
        spread = q @ inputs
        outputs = inputs @ (2 * scale**2 * np.exp(-2 * decay * time) * np.sinh(4 * spread))
        return -2 / len(labels) * (outputs - labels)

    options = {"t_eval": slow / decay, "method": "LSODA", "rtol": 1e-8, "atol": 1e-13 / scale**2}
    return slow, solve_ivp(velocity, (0, slow[-1] / decay), np.zeros(len(labels)), **options).y.T


def data(problem):
    """Inputs and labels: the design is √(2/n) times the inputs."""
    return np.asarray(problem.design) / problem.label_scale, np.asarray(problem.targets) / problem.label_scale


@app_d.studies
def dual_flows(s):
    def compute():
        found = [flow(s, scale) for scale in s.scales]
        return {"slow": np.stack([slow for slow, _ in found]), "dual": np.stack([dual.ravel() for _, dual in found])}

    told = {"seed": s.seed, "dimension": s.dimension, "samples": s.samples, "sparsity": s.sparsity}
    identity = {"experiment": app_d.id, "version": 1, "scales": [float(scale) for scale in s.scales]}
    return [Study("flows", identity | told | {"decay": s.decay_factor}, compute)]


class Path:
    """The flow from one α as the lemmas see it, a row for each record."""

    def __init__(self, e, place):
        s, table = e.settings, e.tables["flows"]
        self.scale, self.slow = float(s.scales[place]), table["slow"][place]
        self.decay = s.decay_factor / self.scale
        self.problem = s.problem(init_scale=self.scale)
        self.inputs, self.labels = data(self.problem)
        spread = table["dual"][place].reshape(len(self.slow), -1) @ self.inputs
        self.delta = np.expm1(np.concatenate([2 * spread, -2 * spread], axis=1))
        self.factor = np.exp(L * (np.log(self.scale) - self.slow))
        self.weights = self.factor[:, None] * 2 * np.sinh(4 * spread)
        self.rest = self.weights @ self.inputs.T - self.labels  # s_i
        self.loss = np.mean(self.rest**2, axis=1)
        self.features = np.concatenate([L * self.inputs, -L * self.inputs], axis=1)
        self.least = float(np.linalg.eigvalsh(self.features @ self.features.T)[0])  # ν_ntk
        self.moved = np.linalg.norm(self.delta, axis=1)
        self.h = self.factor[:, None] * self.delta

    @property
    def end(self):
        """The record at `T_c^-`."""
        return int(np.argmin(np.abs(self.slow - (1 - C) * np.log(self.scale))))

    @property
    def near(self):
        """The records up to T_max, where the kernel's smallest eigenvalue is above half of that of the start."""
        for place, delta in enumerate(self.delta):
            features = self.features * (1 + delta)
            if np.linalg.eigvalsh(features @ features.T)[0] <= self.least / 2:
                return slice(1, place)
        return slice(1, len(self.delta))

    @property
    def off(self):
        """The part of δ that is orthogonal to the features."""
        parts = np.linalg.lstsq(self.features.T, self.delta.T, rcond=None)[0]
        return self.delta - (self.features.T @ parts).T

    @property
    def loss_speed(self):
        """`d𝓛/dt = -|∇𝓛|² - λ ⟨θ, ∇𝓛⟩`."""
        count = len(self.labels)
        pull = 2 / count * self.rest @ self.inputs
        both = np.concatenate([pull, pull], axis=1) ** 2 * (1 + self.delta) ** 2
        outputs = self.rest + self.labels
        return -4 * self.factor * both.sum(axis=1) - 2 * self.decay * L / count * np.sum(self.rest * outputs, axis=1)


def paths(e):
    """From the smallest α to the largest."""
    return [Path(e, place) for place in range(len(e.settings.scales))]


def by_scale(e, measure):
    """A number for every α."""
    return {f"α={one.scale:g}": float(measure(one)) for one in paths(e)}


def at_the_end(e):
    """The evidence in which every record is the last one, beyond the transition."""
    table = e.tables["flows"]
    records = table["slow"].shape[1]
    last = np.tile(table["dual"][:, -e.settings.samples :], (1, records))
    return replace(e, tables={"flows": {**table, "dual": last}})


def decayed(e):
    """The evidence in which weight decay pulls a thousand times as strongly on the same way."""
    return replace(e, settings=e.settings.but(decay_factor=1000 * e.settings.decay_factor))


LATE = Altered("q is that of the end all the time", at_the_end)
STRONG = Altered("weight decay is a thousand times as strong", decayed)


def gradient_ratio(e):
    """The length of the loss's gradient over that of `2 Σ s_i ∇f_i`, halfway to T_c^-."""
    one = paths(e)[0]
    record = one.end // 2
    params = one.scale * np.exp(-one.slow[record]) * (1 + one.delta[record]).reshape(2, -1)
    pull = 2 * one.rest[record] @ one.inputs
    printed = 2 * np.stack([params[0] * pull, -params[1] * pull])
    return float(np.linalg.norm(np.asarray(one.problem.gradient(params))) / np.linalg.norm(printed))


@app_d.claim(
    near(1, by=1e-6),
    "|∇𝓛| over |2 Σ s_i ∇f_i|",
    id="gradient-as-printed",
    text="The gradient of the loss is 2 Σ s_i ∇f_i.",
    source="Appendix D, Eqs. 23 and 24",
    fails="the loss is a mean: the factor 1/n is missing, here 1/30",
    control=OtherBound(near(1 / 30, by=1e-6)),
)
@app_d.claim(
    near(1 / 30, by=1e-6),
    "|∇𝓛| over |2 Σ s_i ∇f_i|",
    id="gradient",
    text="The gradient of the mean of squares is (2/n) Σ s_i ∇f_i, n = 30.",
    source="Appendix D, Eqs. 23 and 24 corrected",
    kind="corrected",
    control=OtherBound(near(1, by=1e-6)),
)
def gradient(e):
    return gradient_ratio(e)


@app_d.claim(each(at_most(0)), "largest excess of d𝓛/dt, over λ|y|√(𝓛/n),", source="Lemma D.1, Eq. 25", control=STRONG)
def loss_falls_fast(e):
    """Up to T_max, d𝓛/dt ≤ -(ν/2n) α^{2(L-1)} e^{-2(L-1)λt} 𝓛 + (λL/√n) |y| √𝓛."""

    def excess(one):
        unit = one.decay * np.linalg.norm(one.labels) * np.sqrt(one.loss / len(one.labels))
        right = -one.least / (2 * len(one.labels)) * one.factor * one.loss + L * unit
        return np.max(((one.loss_speed - right) / unit)[one.near])

    return by_scale(e, excess)


def from_above(one):
    """The right-hand side of Eq. 26."""
    count, size = len(one.labels), float(one.labels @ one.labels)
    a = one.scale**2 / one.decay
    first = size / count * np.exp(-one.least * a / (8 * count) * (1 - np.exp(-2 * one.slow)))
    return np.maximum(first, 16 * count * L**2 * size * one.decay**2 / (one.least * one.factor) ** 2)


@app_d.claim(each(at_most(1)), "largest loss over the bound, up to T_max,", source="Lemma D.1, Eq. 26", control=LATE)
def loss_bound(e):
    """The loss is below the maximum of a fast exponential and of 16nL²|y|²λ²ν^-2 α^{-4(L-1)} e^{4(L-1)λt}."""
    return by_scale(e, lambda one: np.max((one.loss / from_above(one))[one.near]))


@app_d.claim(at_most(1.5), "largest over smallest constant C", source="Lemma D.2, Eq. 27", control=LATE)
def way_from_the_start(e):
    """Up to T_max the way |δ| of the direction is at most C α^-L e^{Lλt}, with one C for all α."""
    found = by_scale(e, lambda one: np.max((one.moved * one.factor)[one.near])).values()
    return max(found) / min(found)


@app_d.claim(each(at_least(0)), "λT_max less log α", source="Lemma D.2", control=LATE)
def stays_near_until(e):
    """There is a constant ΔT with T_max ≥ (log α + ΔT)/λ."""
    return by_scale(e, lambda one: one.slow[one.near][-1] - np.log(one.scale) if one.near.stop > 1 else -np.inf)


@app_d.claim(
    at_most(-2 * C * L + 0.1),
    f"exponent in α of the part of δ off the features (2cL = {2 * C * L:g})",
    source="Lemma D.3",
    control=LATE,
)
def off_the_features(e):
    """At (1-c) log(α)/λ the part of δ that is orthogonal to the features is O(α^{-2cL})."""
    return slope(e.settings.scales, np.array([np.linalg.norm(one.off[one.end]) for one in paths(e)]))


@app_d.claim(
    holds("share of δ off the features falls from each α to the next, to at most {most:g}", most=2e-3),
    source="Corollary D.6, with α → ∞ where α → 0 is printed",
    control=LATE,
)
def direction_in_the_features(e, most):
    """δ/|δ| tends to the span of the features."""
    found = [float(np.linalg.norm(one.off[one.end]) / one.moved[one.end]) for one in paths(e)]
    return [float(f"{value:.2g}") for value in found], bool(np.all(np.diff(found) < 0) and found[-1] <= most)


@app_d.claim(
    at_most(3), "largest over smallest constant, up to log(α)/λ,", source="Lemma D.4, Eqs. 28 and 29", control=LATE
)
def linear_in_h(e):
    """The output is that of the linearised network to O(α^-L) e^{Lλt} |h|, with one constant for all α."""

    def rest(one):
        gap = np.abs(one.rest + one.labels - one.h @ one.features.T).max(axis=1)
        early = slice(1, int(np.searchsorted(one.slow, np.log(one.scale), side="right")))
        return np.max((gap * one.factor)[early] / np.linalg.norm(one.h[early], axis=1))

    found = by_scale(e, rest).values()
    return max(found) / min(found)


@app_d.claim(at_most(1.1), "largest over smallest |h| at (1-c) log(α)/λ", source="Lemma D.5", control=LATE)
def h_is_of_order_one(e):
    """|h| = Θ(1)."""
    found = by_scale(e, lambda one: np.linalg.norm(one.h[one.end])).values()
    return max(found) / min(found)


@app_d.claim(
    holds("relative distance of h from h* falls from each α to the next, to at most {most:g}", most=2e-3),
    source="Theorem D.7",
    control=LATE,
)
def h_tends_to_the_kernel(e, most):
    """h tends to h*, the solution of (K2): the minimum-norm interpolator on the features."""
    one = paths(e)[0]
    best = np.linalg.lstsq(one.features, one.labels, rcond=None)[0]
    found = [float(np.linalg.norm(one.h[one.end] - best) / np.linalg.norm(best)) for one in paths(e)]
    return [float(f"{value:.2g}") for value in found], bool(np.all(np.diff(found) < 0) and found[-1] <= most)


@app_d.figure
def app_d_figure(e):
    found = paths(e)
    one = found[len(found) // 2]
    shown = one.near
    losses = [
        Line(one.slow[shown], one.loss[shown], rf"loss, $\alpha=${one.scale:g}", "train"),
        Line(one.slow[shown], from_above(one)[shown], "(26)", "theory"),
    ]
    slow = Axis(r"slow time $\lambda t$", "log")
    ways = [
        Line(p.slow[1:], (p.moved * p.factor)[1:], rf"$\alpha=${p.scale:g}", shade=panels.shade_of(place, len(found)))
        for place, p in enumerate(found)
    ]
    left = Panel(losses, slow, Axis("loss", "log"), legend="upper right")
    right = Panel(ways, slow, Axis(r"$|\delta|\,/\,\alpha^{-L} e^{L\lambda t}$"), legend="lower left")
    return Figure([[left, right]])
