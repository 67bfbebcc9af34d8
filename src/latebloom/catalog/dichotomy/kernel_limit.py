"""Theorem 3.4 as it is stated: f(x)/Z(α) on test points, exponential loss, λ = α^-p, degrees 2 and 3, a smooth net."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Study
from latebloom.catalog.bounds import above, at_most, each, holds, within
from latebloom.catalog.controls import Altered, Backwards, Instead, OtherBound
from latebloom.catalog.dichotomy.exponential import (
    DEGREES,
    LOGISTIC,
    NAME,
    C,
    LimitSettings,
    limit_runs,
    path,
    paths,
)
from latebloom.catalog.dichotomy.smooth_net import smooth_net
from latebloom.core.fields import numbers
from latebloom.figures import Axis, Figure, Line, Panel, panels

SMOOTH = "smooth net"


class KernelLimitSettings(LimitSettings):
    """The same, and a smooth two-layer network from several scales."""

    smooth_scales: tuple[float, ...] = numbers(default=(3.0, 10.0, 30.0, 100.0), above=1, note="α of the smooth net")


kernel_limit = Entry(
    "dichotomy/kernel-limit",
    "Theorem 3.4 as a function: exponential loss, λ = 1/α, degrees 2 and 3",
    "At (1-c) log(α)/λ the output is a multiple of the kernel classifier's on every input; the multiple is "
    "log(α^(2(L-1)c)/λ)/γ and not log(α^c/λ)/γ, clearest at degree 3.",
    source="Theorem 3.4, Section 3.2.1",
    seconds=25,
    settings=KernelLimitSettings(),
    controls=(Backwards(),),
    notes=(
        "The flow of the diagonal networks is integrated in n variables (solver='dual').",
        "The smooth net is Σ a_j (w_j·x)², of degree 3 and with a = 0 at the start; LSODA steps all its parameters.",
    ),
)
kernel_limit.runs(limit_runs)


@kernel_limit.studies
def smooth_study(s):
    identity = {"experiment": kernel_limit.id, "version": 1, "seed": s.seed, "scales": list(s.smooth_scales)}
    return [Study(SMOOTH, identity | {"power": s.power}, lambda: smooth_net(s.smooth_scales, s.power, C, s.seed))]


def test_points(e):
    """Inputs that no run has seen."""
    return np.random.default_rng([e.settings.seed, 7]).normal(size=(100, e.settings.dimension))


def compared(e, one):
    """On test points: `f(x)` at `T_c^-`, and the limit's `⟨∇f(θ_init; x), h*⟩`."""
    points, (best, _) = test_points(e), one.kernel_margin
    half = len(best) // 2
    return points @ one.weights[one.end], one.degree * (points @ (best[:half] - best[half:]))


def outside_direction(f, limit):
    """The share of f that is not along the limit."""
    return float(np.linalg.norm(f - limit * (f @ limit) / (limit @ limit)) / np.linalg.norm(f))


def off(e, degree):
    """That share for the diagonal nets of a degree, by α."""
    return [outside_direction(*compared(e, one)) for one in paths(e, degree)]


def multiples(e, degree):
    """`γ_ntk` times the multiple of the limit that f is, by α."""
    found = []
    for one in paths(e, degree):
        f, limit = compared(e, one)
        found.append(one.gamma * float(f @ limit / (limit @ limit)))
    return np.array(found)


def slope(e, degree):
    """The growth of that multiple in log α, between the two largest α."""
    return float(np.diff(multiples(e, degree))[-1] / np.diff(np.log(e.settings.scales(degree)))[-1])


def exchanged_jobs(e):
    """The evidence in which the networks of the two degrees are taken for each other."""
    pairs = [(NAME.format(2, scale), NAME.format(3, scale)) for scale in e.settings.scales(3)]
    swap = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
    return replace(e, jobs={name: e.jobs[swap.get(name, name)] for name in e.jobs})


def contradicting(e):
    """The evidence in which every point is there with both labels."""
    job = e.job()
    points, labels = np.asarray(job.problem.data.inputs), np.asarray(job.problem.data.labels)
    both = lb.problems.LabelledPoints(np.concatenate([points, points]), np.concatenate([labels, -labels]))
    return replace(e, jobs={name: replace(one, problem=one.problem.but(data=both)) for name, one in e.jobs.items()})


@kernel_limit.claim(
    each(within(-1e-9, 1e-9)),
    "measured degree of homogeneity less L",
    source="Assumption 3.1",
    kind="premise",
    control=Altered("the networks have changed places", exchanged_jobs),
)
def homogeneous(e):
    """The network is L-homogeneous in its parameters: f(cθ) = c^L f(θ)."""
    jobs = {L: e.job(NAME.format(L, e.settings.scales(L)[0])) for L in DEGREES}
    return {f"L={L}": lb.theory.homogeneity_degree(job.problem) - L for L, job in jobs.items()}


@kernel_limit.claim(
    at_most(0), "largest |f(x)| on test points over all starts", source="Assumption 3.2", kind="premise"
)
def zero_output(e):
    """At the start the network is zero on every input."""
    points = test_points(e)
    return float(max(np.abs(points @ one.weights[0]).max() for L in DEGREES for one in paths(e, L)))


@kernel_limit.claim(
    above(0),
    "γ_ntk, the largest margin on the features of the start,",
    source="Assumption 3.3, (K1)",
    kind="premise",
    control=Altered("every point is there with both labels", contradicting),
)
def separable(e):
    """The features of the training points are linearly separable."""
    return float(lb.oracles.max_kernel_margin(e.problem().but(init_scale=1.0)).margin)


@kernel_limit.claim(
    holds("share of f(x) on test points off the limit falls from each α to the next, to at most {most:g}", most=0.03),
    source="Theorem 3.4",
)
def function_of_the_kernel(e, most):
    """At (1-c) log(α)/λ the output on every input is a multiple of ⟨∇f(θ_init; x), h*⟩, as α → ∞."""
    found = {f"L={L}": off(e, L) for L in DEGREES}
    falls = all(np.all(np.diff(values) < 0) and values[-1] <= most for values in found.values())
    return {name: [float(f"{value:.2g}") for value in values] for name, values in found.items()}, bool(falls)


def distance_to_limit(e, factor):
    """`|f/Z - limit| / |limit|` on test points at the largest α, with `Z = log(α^factor/λ)/γ`, for both degrees."""
    found = {}
    for L in DEGREES:
        one = paths(e, L)[-1]
        f, limit = compared(e, one)
        z = np.log(one.scale ** factor(L) / one.decay) / one.gamma
        found[f"L={L}"] = float(np.linalg.norm(f / z - limit) / np.linalg.norm(limit))
    return found


@kernel_limit.claim(
    each(at_most(0.1)),
    "relative distance of f(x)/Z from its limit at the largest α,",
    source="Theorem 3.4, Z(α) = log(α^c/λ)/γ",
    fails="Z has α^c where the proof's log A - 2(L-1)(1-c) log α gives α^(2(L-1)c)",
    control=OtherBound(each(at_most(1.2))),
)
def limit_as_printed(e):
    """f(x)/Z(α) tends to ⟨∇f(θ_init; x), h*⟩ with Z(α) = log(α^c/λ)/γ."""
    return distance_to_limit(e, lambda degree: C)


@kernel_limit.claim(
    each(at_most(0.1)),
    "relative distance of f(x)/Z from its limit at the largest α,",
    source="Theorem 3.4, corrected",
    kind="corrected",
)
def limit(e):
    """f(x)/Z(α) tends to ⟨∇f(θ_init; x), h*⟩ with Z(α) = log(α^(2(L-1)c)/λ)/γ."""
    return distance_to_limit(e, lambda degree: 2 * (degree - 1) * C)


@kernel_limit.claim(
    each(within(0.85, 1.15)),
    "growth of γZ in log α over c + p,",
    source="Theorem 3.4, the factor Z; Theorem C.9",
    fails="it is 2(L-1)c + p: 2 at degree 2 and 3 at degree 3, for 1.5",
    control=OtherBound(each(within(1.1, 2.1))),
)
def growth_as_printed(e):
    """The multiple grows as (c + p) log α, whatever the degree."""
    return {f"L={L}": slope(e, L) / (C + e.settings.power) for L in DEGREES}


@kernel_limit.claim(
    each(within(0.85, 1.15)),
    "growth of γZ in log α over 2(L-1)c + p,",
    source="Theorem 3.4 and Theorem C.9, corrected",
    kind="corrected",
)
def growth(e):
    """The multiple grows as (2(L-1)c + p) log α, L the degree."""
    return {f"L={L}": slope(e, L) / (2 * (L - 1) * C + e.settings.power) for L in DEGREES}


@kernel_limit.claim(
    each(at_most(2e-3)),
    "1 - cosine of the two effective weights, at (1-c) log(α)/λ and at the end,",
    source="Section 3.2",
    control=Instead({LOGISTIC.format(1e4): NAME.format(2, 1e1)}),
)
def loss_does_not_matter(e):
    """Exponential and logistic loss have the same tail and so the same bias, early and late."""
    scale = e.settings.logistic_scale
    pair = [path(e, name) for name in (NAME.format(2, scale), LOGISTIC.format(scale))]
    found = {}
    for when in ("early", "late"):
        a, b = (one.weights[one.end if when == "early" else -1] for one in pair)
        found[when] = float(1 - a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
    return found


@kernel_limit.claim(
    holds("share of f(x) on test points off the limit falls from each α to the next, to at most {most:g}", most=0.1),
    source="Theorem 3.4, Assumption 3.1",
)
def smooth_network(e, most):
    """The theorem is about every smooth homogeneous network: so for one with two layers and squares as activation."""
    table = e.tables[SMOOTH]
    found = [outside_direction(f, limit) for f, limit in zip(table["f"], table["limit"], strict=True)]
    return [float(f"{value:.2g}") for value in found], bool(np.all(np.diff(found) < 0) and found[-1] <= most)


@kernel_limit.figure
def kernel_limit_figure(e):
    shares, growths = [], []
    for place, L in enumerate(DEGREES):
        scales, role, symbol = e.settings.scales(L), f"cycle {place}", panels.SYMBOLS[place]
        shares.append(Line(scales, off(e, L), f"diagonal, $L={L}$", role, "linked", symbol=symbol))
        growths.append(Line(scales, multiples(e, L), f"measured, $L={L}$", role, "points", symbol=symbol))
        right = (2 * (L - 1) * C + e.settings.power) * np.log(scales)
        growths.append(Line(scales, right, rf"$\log(\alpha^{{2(L-1)c}}/\lambda)$, $L={L}$", role, "theory"))
    scales = e.settings.init_scales
    growths.append(
        Line(scales, (C + e.settings.power) * np.log(scales), r"printed: $\log(\alpha^c/\lambda)$", "printed")
    )
    table = e.tables[SMOOTH]
    smooth = [outside_direction(f, limit) for f, limit in zip(table["f"], table["limit"], strict=True)]
    shares.append(Line(table["scale"], smooth, "smooth net, $L=3$", "cycle 2", "linked", symbol="^"))
    x = Axis(r"initial scale $\alpha$", "log")
    left = Panel(shares, x, Axis(r"share of $f(x)$ off its limit", "log"), legend="upper right")
    return Figure([[left, Panel(growths, x, Axis(r"$\gamma Z(\alpha)$"), legend="upper left")]])
