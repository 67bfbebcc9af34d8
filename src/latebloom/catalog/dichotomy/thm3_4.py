"""Theorem 3.4: until (1 - c) log(α)/λ the network is the max l2-margin classifier of its tangent features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.dichotomy import margins, scales
from latebloom.catalog.dichotomy.scales import LARGE, SCALES, C, at_theorem_time, name_of
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_most, within
from latebloom.figures.look import THEORY, canvas, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def distances(evidence: Evidence) -> list[float]:
    """`1 - cos(w, w_2*)` at `(1 - c) log α / λ`, by α."""
    return [1 - at_theorem_time(evidence, scale, "cosine_l2", -1) for scale in LARGE]


def smallest_margins(evidence: Evidence) -> list[float]:
    """The smallest margin `y_i f(x_i)` at `(1 - c) log α / λ`, by α."""
    found = []
    for scale in LARGE:
        run = evidence.runs[name_of(scale)]
        record = int(np.argmin(np.abs(run["slow_time"] - (1 - C) * np.log(scale))))
        weights = margins.weights_at(evidence, name_of(scale), [record])[0]
        found.append(float(run["margin_l2"][record] * np.linalg.norm(weights)))
    return found


def slope(evidence: Evidence) -> float:
    """The slope of the smallest margin in log α."""
    return float(np.polyfit(np.log(LARGE), smallest_margins(evidence), 1)[0])


def falls(evidence: Evidence) -> Measured:
    found = distances(evidence)
    return Measured([float(f"{value:.2g}") for value in found], bool(np.all(np.diff(found) < 0)))


CLAIMS = (
    Claim(
        "max-l2-margin-at-t-minus",
        "At (1-c) log(α)/λ the direction of the effective weight is the max l2-margin direction, as α → ∞.",
        "Theorem 3.4, Corollary 3.6",
        f"1 - cosine at most 1e-3 for every α from {LARGE[0]:g} on, c = {C:g}",
        lambda e: at_most(max(distances(e)), 1e-3),
    ),
    Claim(
        "closer-with-alpha",
        "The larger α, the closer.",
        "Theorem 3.4 (a limit α → ∞)",
        "1 - cosine falls from each α to the next",
        falls,
    ),
    Claim(
        "normalising-factor-as-printed",
        "The output is Z(α) = log(α^c/λ)/γ times the unit classifier's, so the margin grows as c log α at fixed λ.",
        "Theorem 3.4, the factor Z",
        f"slope of the smallest margin in log α within 20 % of c = {C:g}; fails: it is 2(L-1)c, as the tangent kernel "
        "has the factor α^(2(L-1)c)",
        lambda e: within(slope(e), 0.8 * C, 1.2 * C),
        documented=False,
    ),
    Claim(
        "normalising-factor",
        "At fixed λ the margin at (1-c) log(α)/λ grows as 2(L-1)c log α, L the degree.",
        "corrects the previous claim",
        f"slope of the smallest margin in log α within 20 % of {2 * C:g} (L = 2; log log terms are left)",
        lambda e: within(slope(e), 0.8 * 2 * C, 1.2 * 2 * C),
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (paths, right) = canvas(1, 2, height=2.4)
    for scale, colour in zip(SCALES, shades(len(SCALES)), strict=True):
        run, (l2, _) = evidence.runs[name_of(scale)], margins.cosines(evidence, name_of(scale))
        paths.plot(run["slow_time"][1:], 1 - l2[1:], color=colour, label=rf"$\alpha=${scale:g}")
    paths.set_xscale("log")
    paths.set_yscale("log")
    paths.set_xlim(1e-3, 30)
    paths.set_xlabel(r"slow time $\lambda t$")
    paths.set_ylabel(r"$1-\cos(w, w_2^*)$")
    paths.legend(loc="upper left", fontsize=6)
    right.plot(LARGE, smallest_margins(evidence), "o", label=rf"measured at $(1-c)\log\alpha/\lambda$, $c={C:g}$")
    logs, first = np.log(LARGE), smallest_margins(evidence)[0]
    for factor, line, label in ((C, ":", r"slope $c$ (printed)"), (2 * C, "--", r"slope $2(L-1)c$")):
        right.plot(LARGE, first + factor * (logs - logs[0]), line, color=THEORY, linewidth=0.9, label=label)
    right.set_xscale("log")
    right.set_xlabel(r"initial scale $\alpha$")
    right.set_ylabel(r"smallest margin $y_i f(x_i)$")
    right.legend(loc="upper left", fontsize=6)
    return figure


def studies(request: Request):
    return margins.oracle_study(lambda: scales.data(request))


EXPERIMENT = Experiment(
    id="dichotomy/thm3.4",
    title="Theorem 3.4: the kernel regime lasts until (1-c) log(α)/λ",
    claim="Up to (1-c) log(α)/λ the network is the max l2-margin classifier, the closer the larger α; the margin grows "
    "twice as fast in log α as printed.",
    source="Section 3.2.1, Theorem 3.4; Corollary 3.6",
    seconds=15,
    settings=scales.SETTINGS | {"constant c": C},
    jobs=scales.jobs,
    studies=studies,
    claims=CLAIMS,
    draw=draw,
    notes=(margins.DUAL_NOTE,),
)
