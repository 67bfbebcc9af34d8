"""The lemmas of Appendix C, on runs with the loss and the weight decay that they are about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from latebloom.catalog.base import Entry, Study
from latebloom.catalog.bounds import at_least, at_most, each, near, within
from latebloom.catalog.controls import Altered, Backwards, OtherBound
from latebloom.catalog.dichotomy.exponential import DEGREES, LimitSettings, limit_runs, paths
from latebloom.catalog.measures import log_slope
from latebloom.figures import Axis, Figure, Line, Panel, panels

INVERSE = "inverse"

app_c = Entry(
    "dichotomy/app-c",
    "Appendix C: bounds on the loss, the way from the start and the norm, lemma by lemma",
    "The bounds hold as printed but for (17), whose n stands in the numerator and belongs in the denominator.",
    source="Appendix C, Lemmas C.1 to C.11",
    seconds=20,
    settings=LimitSettings(),
    controls=(Backwards(),),
    notes=(
        "T_max is where δ leaves the ball in which no feature changes by more than γ_ntk/2; G_ntk is bounded by the "
        "longest feature of the start plus γ_ntk/2.",
    ),
)
app_c.runs(limit_runs)


def inverse(y):
    """`F^-1` of `F(x) = x log x` on x ≥ 1, by Lambert's W."""
    from scipy.special import lambertw

    return np.exp(np.real(lambertw(np.asarray(y, dtype=float))))


@app_c.studies
def inverse_study(s):
    def compute():
        y = np.geomspace(1e-6, 1e12, 400)
        return {"y": y, "inverse": inverse(y), "root": np.sqrt(y), "square": y**2} | {
            f"{share:g}": inverse(share * y) for share in SHARES
        }

    return [Study(INVERSE, {"experiment": app_c.id, "version": 2}, compute)]


SHARES = (0.01, 0.3, 0.9)  # β of Lemma C.2


def another(name):
    """A control: the root or the square stands for the inverse of x log x."""

    def change(e):
        table = e.tables[INVERSE]
        return replace(e, tables={INVERSE: {**table, "inverse": table[name]}})

    return Altered(f"the {name} stands for the inverse", change)


@app_c.claim(at_least(1 - 1e-12), "smallest F^-1(y) log(y+1) / y", source="Lemma C.1", control=another("root"))
def inverse_from_below(e):
    """The inverse of x log x is at least y / log(y+1)."""
    table = e.tables[INVERSE]
    return float(np.min(table["inverse"] * np.log1p(table["y"]) / table["y"]))


@app_c.claim(
    at_least(-1e-12), "smallest difference of the sides over F^-1(y)", source="Lemma C.2", control=another("square")
)
def inverse_is_concave(e):
    """F^-1(βy) - 1 is at least β (F^-1(y) - 1) for β in (0, 1)."""
    table = e.tables[INVERSE]
    sides = [table[f"{share:g}"] - 1 - share * (table["inverse"] - 1) for share in SHARES]
    return float(np.min(np.stack(sides) / table["inverse"]))


def of_all(e, measure):
    """A number for every run, by degree and α."""
    return {f"L={L}, α={one.scale:g}": float(measure(one)) for L in DEGREES for one in paths(e, L)}


@app_c.claim(each(within(0, 1)), "place of the mean of r log(1/r) between its bounds, degree 2,", source="Lemma C.3")
def entropy_between(e):
    """The mean of r_i log(1/r_i) is between 𝓛 log(1/n𝓛) and 𝓛 log(1/𝓛)."""

    def place(one):
        parts, loss = np.exp(-one.margins), one.run["train_loss"]
        count = parts.shape[1]
        low, high = loss * np.log(1 / (count * loss)), loss * np.log(1 / loss)
        found = ((parts * one.margins).mean(axis=1) - low) / (high - low)
        early = found[one.near]
        return early[np.argmax(np.abs(early - 0.5))]

    return {f"α={one.scale:g}": float(place(one)) for one in paths(e, 2)}


def shrinking(one):
    """`e^{-2(L-1)λt}`."""
    return np.exp(-2 * (one.degree - 1) * one.slow)


@app_c.claim(each(at_most(0)), "largest excess of d𝓛/dt, over λ𝓛,", source="Lemma C.4, Eq. 7")
def loss_falls_fast(e):
    """Up to T_max, d𝓛/dt ≤ -(γ²/4) α^{2(L-1)} e^{-2(L-1)λt} 𝓛² + λL 𝓛 log(1/𝓛)."""

    def excess(one):
        size = one.a * one.decay * shrinking(one)
        right = -(one.gamma**2) / 4 * size * one.loss**2 + one.decay * one.degree * one.loss * np.log(1 / one.loss)
        return np.max(((one.loss_speed - right) / (one.decay * one.loss))[one.near])

    return of_all(e, excess)


@app_c.claim(each(at_most(1)), "largest loss over the bound, up to T_max,", source="Lemma C.4, Eq. 8")
def loss_bound(e):
    """The loss is at most the maximum of 1/(1 + (γ²/16(L-1)) A (1 - e^{-2(L-1)λt})) and its slow twin (8)."""
    return of_all(e, lambda one: np.max((one.loss / from_above(one))[one.near]))


@app_c.claim(each(at_least(0)), "smallest excess of d𝓛/dt, over λ𝓛,", source="Lemma C.7, Eq. 16")
def loss_falls_no_faster(e):
    """Up to T_max, d𝓛/dt ≥ -G² α^{2(L-1)} e^{-2(L-1)λt} 𝓛² + λL 𝓛 log(1/n𝓛)."""

    def excess(one):
        size, count = one.a * one.decay * shrinking(one), len(one.labels)
        decays = one.decay * one.degree * one.loss * np.log(1 / (count * one.loss))
        right = -(one.longest**2) * size * one.loss**2 + decays
        return np.min(((one.loss_speed - right) / (one.decay * one.loss))[one.near])

    return of_all(e, excess)


def from_below(one, power):
    """The lower bound (17) with `n^power / F^-1`, at every record."""
    L, count = one.degree, len(one.labels)
    first = float(count) ** power / inverse(2 / (count * L) * one.longest**2 * one.a * shrinking(one))
    return np.minimum(first, np.exp(1 - 2 * (L - 1) * one.decay) / count)


def least_loss(one, power):
    """The smallest loss over that bound, up to T_max."""
    return np.min((one.loss / from_below(one, power))[one.near])


def from_above(one):
    """The upper bound (8), at every record."""
    L, square = one.degree, one.gamma**2
    first = 1 / (1 + square / (16 * (L - 1)) * one.a * (1 - shrinking(one)))
    return np.maximum(first, 1 / shrinking(one) / (inverse(square / (8 * L) * one.a) - 1))


@app_c.claim(
    each(at_least(1)),
    "smallest loss over the bound, up to T_max,",
    source="Lemma C.7, Eq. 17",
    fails="the n belongs in the denominator: the set of the proof is about 1/(n𝓛)",
    control=OtherBound(each(at_least(0.05))),
)
def lower_bound_as_printed(e):
    """The loss is at least the minimum of n / F^-1((2/nL) G² A e^{-2(L-1)λt}) and e^{1-2(L-1)λ}/n."""
    return of_all(e, lambda one: least_loss(one, 1))


@app_c.claim(
    each(at_least(1)),
    "smallest loss over the bound, up to T_max,",
    source="Lemma C.7, Eq. 17 corrected",
    kind="corrected",
)
def lower_bound(e):
    """With 1/(n F^-1(…)) in the place of n/F^-1(…) the loss is never below."""
    return of_all(e, lambda one: least_loss(one, -1))


def order(one):
    """`α^-L log A e^{Lλt}`."""
    return np.log(one.a) * np.exp(one.degree * one.slow) / one.scale**one.degree


def largest_over_smallest(values):
    """By degree: how far the constants of a law in α are apart, of which it says that they are bounded."""
    by_degree = {L: [value for name, value in values.items() if name.startswith(f"L={L}")] for L in DEGREES}
    return {f"L={L}": max(found) / min(found) for L, found in by_degree.items()}


@app_c.claim(
    each(at_most(1.5)), "largest over smallest constant C, over five decades of α,", source="Lemma C.5, Eq. 13"
)
def way_from_the_start(e):
    """Up to T_max the way |δ| of the direction is at most C α^-L log A e^{Lλt}, with one C for all α."""
    return largest_over_smallest(of_all(e, lambda one: np.max((one.moved / order(one))[one.near])))


@app_c.claim(each(at_least(0.5)), "λT_max less log α - (1/L) log log A, or less the run's end,", source="Lemma C.5")
def stays_near_until(e):
    """There is a constant ΔT with T_max ≥ (log α - (1/L) log log A + ΔT)/λ."""

    def more(one):
        return one.slow[one.near][-1] - np.log(one.scale) + np.log(np.log(one.a)) / one.degree

    return of_all(e, more)


@app_c.claim(
    each(at_most(2e-2)),
    "largest way |δ| / |θ_init| at (1-c) log(α)/λ, falling with α,",
    source="Section 3.2.1, key proof insight",
)
def only_shrinks(e):
    """In the kernel regime θ ≈ α e^{-λt} θ_init: the norm decays and the direction stays."""
    found = of_all(e, lambda one: one.moved[one.end] / np.sqrt(one.delta.shape[1]))
    by_degree = [[value for name, value in found.items() if name.startswith(f"L={L}")] for L in DEGREES]
    falls = all(np.all(np.diff(values) < 0) for values in by_degree)
    return found if falls else None


@app_c.claim(each(at_most(0.02)), "largest remainder over α^-L log A e^{Lλt} |h|", source="Lemma C.6, Eqs. 14 and 15")
def linear_in_h(e):
    """The margins are those of the linearised network, y_i ⟨∇f_i(θ_init), h⟩, to O(α^-L log A) e^{Lλt} |h|."""

    def rest(one):
        gap = np.abs(one.margins - one.h @ one.features.T).max(axis=1)
        return np.max((gap[1:] / (order(one) * np.linalg.norm(one.h, axis=1))[1:])[: one.near.stop - 1])

    return of_all(e, rest)


@app_c.claim(each(within(1, 1.02)), "log(1/𝓛) over γ|h| at (1-c) log(α)/λ", source="Lemma C.8, Eqs. 19 and 20")
def loss_by_the_norm_of_h(e):
    """log(1/𝓛) grows at least γ_ntk times as fast as |h|, and no faster in the limit."""
    return of_all(e, lambda one: np.log(1 / one.loss[one.end]) / (one.gamma * np.linalg.norm(one.h[one.end])))


@app_c.claim(each(at_most(2e-3)), "1 - cos(h, h*) at (1-c) log(α)/λ", source="Theorem C.9")
def h_along_the_kernel(e):
    """h/|h| tends to h*, the unit vector of largest margin on the features."""

    def off(one):
        best, _ = one.kernel_margin
        return 1 - one.h[one.end] @ best / np.linalg.norm(one.h[one.end])

    return of_all(e, off)


@app_c.claim(each(at_most(2)), "largest over smallest constant, over five decades of α,", source="Lemma C.10")
def regularised_loss(e):
    """At (log α - (1/L) log log A)/λ the regularised loss is O(λ (log 1/λ)^{2/L})."""

    def constant(one):
        record = one.at(np.log(one.scale) - np.log(np.log(one.a)) / one.degree)
        size = np.sum((1 + one.delta[record]) ** 2) * (one.scale * np.exp(-one.slow[record])) ** 2
        return (one.loss[record] + one.decay / 2 * size) / (one.decay * np.log(1 / one.decay) ** (2 / one.degree))

    return largest_over_smallest(of_all(e, constant))


@app_c.claim(near(0.5, by=0.05), "exponent of |θ| in log 1/λ at the end, degree 2,", source="Lemma C.11")
def norm_like_a_root(e):
    """After the kernel regime |θ| = Θ((log 1/λ)^{1/L})."""
    found = paths(e, 2)
    return log_slope([np.log(1 / one.decay) for one in found], [one.run["l2_norm"][-1] for one in found])


@app_c.figure
def app_c_figure(e):
    one = paths(e, 2)[2]
    shown = one.near
    lines = [
        Line(one.slow[shown], one.loss[shown], rf"loss, $\alpha=${one.scale:g}", "train"),
        Line(one.slow[shown], from_above(one)[shown], "(8)", "theory"),
        Line(one.slow[shown], from_below(one, 1)[shown], "(17) as printed", "printed"),
        Line(one.slow[shown], from_below(one, -1)[shown], "(17) corrected", "cycle 2", "theory"),
    ]
    slow = Axis(r"slow time $\lambda t$", "log")
    ways = [
        Line(p.slow[1:], p.moved[1:] / order(p)[1:], rf"$\alpha=${p.scale:g}", shade=panels.shade_of(k, 5))
        for k, p in enumerate(paths(e, 2))
    ]
    left = Panel(lines, slow, Axis("loss", "log"), legend="lower left")
    right = Panel(
        ways, slow, Axis(r"$|\delta|\,/\,\alpha^{-L}\log A\,e^{L\lambda t}$", "log", 1e-5, 1), legend="lower left"
    )
    return Figure([[left, right]])
