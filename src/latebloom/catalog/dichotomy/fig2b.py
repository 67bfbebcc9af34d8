"""Figure 2b: a larger initial scale delays the transition of the ReLU network on modular addition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.dichotomy import relu_net
from latebloom.catalog.dichotomy.margins import at
from latebloom.catalog.dichotomy.relu_net import PAPERS, SMALL, half_way, size_of
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_most, within
from latebloom.figures.look import TEST, THEORY, TRAIN, canvas
from latebloom.figures.old.panels import withheld

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from latebloom.flows import FlowJob
    from latebloom.theory import TransitionLaw

SCALES = (1.0, 10.0, 100.0)
MOST_GRADIENTS = 60_000


def name_of(scale: float) -> str:
    return f"α={scale:g}"


def jobs(request: Request) -> dict[str, FlowJob]:
    """A run for each scale, with a second layer that starts at zero."""
    size = size_of(request)
    return {
        name_of(scale): relu_net.job(
            size,
            relu_net.problem(size, request.seed, init_scale=scale, second="zero"),
            float(np.log(scale)) + size.slow_time,
            max_gradients=MOST_GRADIENTS,
        )
        for scale in SCALES
    }


def transitions(evidence: Evidence) -> list[float]:
    """λt at which half of the test pairs are right, by α; NaN where that is not reached."""
    found = [half_way(evidence.runs[name_of(scale)]) for scale in SCALES]
    return [np.nan if value is None else value for value in found]


def law(evidence: Evidence) -> TransitionLaw | None:
    """The line through them."""
    from latebloom.theory import fit_transition

    times = transitions(evidence)
    return fit_transition(SCALES, times) if np.isfinite(times).all() else None


def slope(evidence: Evidence) -> float | None:
    found = law(evidence)
    return None if found is None else found.slope


def last_slope(evidence: Evidence) -> float:
    """Between the two largest scales."""
    times = transitions(evidence)
    return (times[-1] - times[-2]) / float(np.log(SCALES[-1] / SCALES[-2]))


def delayed(evidence: Evidence) -> Measured:
    times = transitions(evidence)
    return Measured(times, bool(np.all(np.diff(times) > 0.5)))


def shrinks(evidence: Evidence) -> Measured:
    """`|θ| / |θ(0)| e^{-λt}` at half of log α, for the largest α."""
    run, slow = evidence.runs[name_of(SCALES[-1])], float(np.log(SCALES[-1])) / 2
    share = at(run, run["l2_norm"], slow) / float(run["l2_norm"][0])
    return within(share * float(np.exp(slow)), 0.95, 1.05)


def memorised(evidence: Evidence) -> Measured:
    """λt from which every training pair is right, the largest over the scales."""
    found = [run.milestones.memorised for run in evidence.runs.values()]
    times = [None if one is None else one.time for one in found]
    if None in times:
        return Measured(None, False)
    slow = [time * size_of(evidence.request).weight_decay for time in times if time is not None]
    return at_most(max(slow), 0.3)


CLAIMS = (
    Claim(
        "larger-scale-delays",
        "The sharp transition in test accuracy is delayed when α increases from 1 to 100.",
        "Section 2, Figure 2b",
        "λt at which half of the test pairs are right grows by more than 0.5 for every factor 10",
        delayed,
    ),
    Claim(
        "fits-at-once",
        "Training accuracy reaches 100 % early for every scale.",
        "Figure 2b",
        "all training pairs right by λt = 0.3",
        memorised,
    ),
    Claim(
        "slope-one-from-one",
        "The transition is at (1/λ) log α: slope 1 of λt in log α.",
        "Theorems 3.4 and 3.5, read from α = 1 on",
        "slope over α = 1, 10, 100 between 0.97 and 1.03; fails: at α = 1 λt is above the line through the others",
        lambda e: within(slope(e), 0.97, 1.03),
        documented=False,
    ),
    Claim(
        "slope-one",
        "For large α the slope is 1.",
        "corrects the previous claim",
        "slope from α = 10 to 100 between 0.95 and 1.07",
        lambda e: within(last_slope(e), 0.95, 1.07),
    ),
    Claim(
        "weights-only-shrink",
        "In the kernel phase the weights are e^{-λt} times their start, however they move.",
        "Theorem 3.4 and its proof",
        "|θ(t)| / e^{-λt} |θ(0)| at λt = log(α)/2, α = 100, between 0.95 and 1.05",
        shrinks,
    ),
    Claim(
        "all-generalise",
        "For every scale the test accuracy ends near 100 %.",
        "Figure 2b",
        "at least 0.95 of the test pairs right at some time, for every α",
        lambda e: at_most(max(float(run["test_error"].min()) for run in e.runs.values()), 0.05),
        rate=0.8,
    ),
)


def draw_law(axis: Axes, evidence: Evidence) -> None:
    """λt of half of the test pairs against α, with the fitted line and the slope of the theorem."""
    times, found = transitions(evidence), law(evidence)
    grid = np.geomspace(SCALES[0], SCALES[-1], 50)
    axis.plot(SCALES, times, "o", color=TRAIN, label="half of the test pairs right")
    if found is not None:
        fitted = found.slope * np.log(grid) + found.offset
        axis.plot(grid, fitted, color=TEST, linewidth=0.9, label=f"fit, slope {found.slope:.2f}")
    if not withheld(axis, evidence.runs.values()):
        line = times[-1] + np.log(grid / SCALES[-1])
        axis.plot(grid, line, "--", color=THEORY, linewidth=0.9, label=r"slope 1: $\log\alpha + c$")
    axis.set_xscale("log")
    axis.set_xlabel(r"initial scale $\alpha$")
    axis.set_ylabel(r"slow time $\lambda t$ of the transition")
    axis.legend(loc="upper left")


def draw(evidence: Evidence) -> Figure:
    figure, (curves, line) = canvas(1, 2, height=2.4)
    names = {rf"$\alpha={scale:g}$": evidence.runs[name_of(scale)] for scale in SCALES}
    relu_net.draw_accuracies(curves, names, 1 / size_of(evidence.request).modulus)
    curves.legend(
        loc="center", bbox_to_anchor=(0.64, 0.5), title="test\n(train dotted)", title_fontsize=6, handlelength=1
    )
    draw_law(line, evidence)
    return figure


EXPERIMENT = Experiment(
    id="dichotomy/fig2b",
    title="Modular addition with a ReLU network: larger initial scales delay the transition",
    claim="From α = 1 to 100 the transition moves from λt = 2.3 to 6.3; from 10 to 100 by log 10 within 3 %.",
    source="Section 2, Figure 2b",
    seconds=25,
    settings=relu_net.SETTINGS
    | {
        "weight decay λ": f"{SMALL.weight_decay:g} ({PAPERS.weight_decay:g})",
        "initial scale α": f"{', '.join(f'{scale:g}' for scale in SCALES)}, times the first layer of He et al.",
        "second layer, bias": "zero, so that the outputs start at zero",
        "slow time λt": f"log α + {SMALL.slow_time:g} ({PAPERS.slow_time:g})",
        "cost of --full": "not run yet; some 5e4 gradients of 60 ms would be 50 min",
    },
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(*relu_net.NOTES, "α multiplies all weights at the start; with a second layer of zero that is the first."),
)
