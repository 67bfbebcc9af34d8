"""Theorem 3.5: by (1 + c) log(α)/λ the network is near a KKT point of the max-margin problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.dichotomy import margins, scales
from latebloom.catalog.dichotomy.scales import LARGE, SCALES, C, at_theorem_time, name_of
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_least, at_most
from latebloom.figures.look import NORM, TEST, canvas, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STRENGTHS = (1e-2, 1e-4, 1e-6, 1e-8)


def decay_name(strength: float) -> str:
    return f"λ={strength:g}"


def jobs(request: Request):
    """The runs over α, and runs from α = 1 at other weight decays, to λt = 20."""
    data = scales.data(request)
    more = {
        decay_name(s): margins.dual_job(data, init_scale=1.0, weight_decay=s, time=20 / s, records_per_decade=10)
        for s in STRENGTHS
    }
    return scales.jobs(request) | more


def angles(evidence: Evidence) -> list[float]:
    return [at_theorem_time(evidence, scale, "kkt_angle", 1) for scale in LARGE]


def shares(evidence: Evidence) -> list[float]:
    """The normalised l1 margin over the largest, at the end, by λ."""
    return [margins.l1_share(evidence, decay_name(strength)) for strength in STRENGTHS]


def falls(evidence: Evidence) -> Measured:
    found = angles(evidence)
    return Measured([float(f"{value:.2g}") for value in found], bool(np.all(np.diff(found) < 0)))


def rises(evidence: Evidence) -> Measured:
    found = shares(evidence)
    return Measured([round(value, 4) for value in found], bool(np.all(np.diff(found) > 0)))


CLAIMS = (
    Claim(
        "kkt-at-t-plus",
        "By (1+c) log(α)/λ the direction of the parameters is that of a KKT point of the max-margin problem, as α → ∞.",
        "Theorem 3.5",
        f"1 - cos(θ, -∇L) at most 0.02 for α = {LARGE[-1]:g}, c = {C:g}",
        lambda e: at_most(angles(e)[-1], 0.02),
    ),
    Claim(
        "closer-with-alpha",
        "The larger α, the closer.",
        "Theorem 3.5 (a limit α → ∞)",
        "1 - cos(θ, -∇L) at (1+c) log(α)/λ falls from each α to the next",
        falls,
    ),
    Claim(
        "already-at-moderate-alpha",
        "The rich regime is there at (1+c) log(α)/λ for α = 10.",
        "Theorem 3.5, read without the limit",
        "1 - cos(θ, -∇L) at most 0.02; fails: the transition is at log α + 2.9, which (1+c) log α passes late",
        lambda e: at_most(angles(e)[0], 0.02),
        documented=False,
    ),
    Claim(
        "l1-margin",
        "In the diagonal case the rich regime is that of the max l1-margin classifier.",
        "Section 3.2.3 after Corollary 3.7",
        f"normalised l1 margin over the largest at least 0.93 for λ = {STRENGTHS[-1]:g}",
        lambda e: at_least(shares(e)[-1], 0.93),
    ),
    Claim(
        "l1-margin-as-lambda-falls",
        "How close the end is to the max l1-margin classifier is decided by λ, which the theorem lets vanish with α.",
        "Section 3.1, λ = Θ(α^-p)",
        "normalised l1 margin of the end rises from each λ to the next smaller",
        rises,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (paths, right) = canvas(1, 2, height=2.4)
    for scale, colour in zip(SCALES, shades(len(SCALES)), strict=True):
        run = evidence.runs[name_of(scale)]
        paths.plot(run["slow_time"][1:], run["kkt_angle"][1:], color=colour, label=rf"$\alpha=${scale:g}")
        if scale in LARGE:
            paths.plot([(1 + C) * np.log(scale)], [at_theorem_time(evidence, scale, "kkt_angle", 1)], "o", color=colour)
    paths.plot([], [], "o", color="black", label=rf"$(1+c)\log\alpha$, $c={C:g}$")
    paths.set_yscale("log")
    paths.set_xlim(0, 30)
    paths.set_xlabel(r"slow time $\lambda t$")
    paths.set_ylabel(r"$1-\cos(\theta, -\nabla L)$")
    paths.legend(loc="lower left", fontsize=6)
    right.plot(STRENGTHS, shares(evidence), "o-", color=NORM, label=r"$L^1$ margin over the largest")
    ends = [margins.cosines(evidence, decay_name(strength))[1][-1] for strength in STRENGTHS]
    right.plot(STRENGTHS, ends, "s--", color=TEST, label=r"$\cos(w, w_1^*)$")
    right.set_xscale("log")
    right.set_xlabel(r"weight decay $\lambda$")
    right.set_ylabel(r"at $\lambda t = 20$")
    right.legend(loc="lower left")
    return figure


EXPERIMENT = Experiment(
    id="dichotomy/thm3.5",
    title="Theorem 3.5: the rich regime begins by (1+c) log(α)/λ",
    claim="By (1+c) log(α)/λ the network is near a KKT point of the max-margin problem, the nearer the larger α; the "
    "end is the max l1-margin classifier as λ vanishes.",
    source="Section 3.2.2, Theorem 3.5; Corollary 3.7",
    seconds=20,
    settings=scales.SETTINGS | {"constant c": C, "more weight decays": STRENGTHS},
    jobs=jobs,
    studies=lambda request: margins.oracle_study(lambda: scales.data(request)),
    claims=CLAIMS,
    draw=draw,
    notes=(margins.DUAL_NOTE,),
)
