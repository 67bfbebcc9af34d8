"""Figure 2c: less weight decay delays the transition of the ReLU network, too much makes training collapse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.dichotomy import relu_net
from latebloom.catalog.dichotomy.relu_net import half_way, half_way_step, size_of
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_most, within
from latebloom.figures.look import TEST, THEORY, TRAIN, canvas
from latebloom.figures.old.panels import withheld

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from latebloom.flows import FlowJob

FACTORS = (1 / 3, 1.0, 10 / 3)  # times the weight decay of Figure 2a
TOO_LARGE = 100 / 3
MOST_GRADIENTS = 20_000


def decays(request: Request) -> list[float]:
    """The weight decays, the smallest first; the last is too large."""
    return [float(f"{factor * size_of(request).weight_decay:.2g}") for factor in (*FACTORS, TOO_LARGE)]


def name_of(decay: float) -> str:
    return f"λ={decay:g}"


def jobs(request: Request) -> dict[str, FlowJob]:
    """A run for each weight decay; that of Figure 2a is Figure 2a's."""
    size = size_of(request)
    net, options = relu_net.problem(size, request.seed), {"max_gradients": MOST_GRADIENTS}
    return {
        name_of(decay): relu_net.job(size, net, size.slow_time, weight_decay=decay, **options)
        for decay in decays(request)
    }


def sound(evidence: Evidence) -> list[float]:
    """The weight decays with which the net can be trained."""
    return decays(evidence.request)[:-1]


def steps(evidence: Evidence) -> list[float]:
    """Steps to half of the test pairs for each of these; NaN where that is not reached."""
    found = [half_way_step(evidence.runs[name_of(decay)]) for decay in sound(evidence)]
    return [np.nan if value is None else value for value in found]


def slope(evidence: Evidence) -> float | None:
    """Of the logarithm of the steps in that of λ."""
    found = steps(evidence)
    return float(np.polyfit(np.log(sound(evidence)), np.log(found), 1)[0]) if np.isfinite(found).all() else None


def later(evidence: Evidence) -> Measured:
    found = steps(evidence)
    return Measured(found, bool(np.all(np.diff(found) < 0)))


def slow_times(evidence: Evidence) -> Measured:
    """λt of the transition for the smallest and the largest sound weight decay."""
    ends = [half_way(evidence.runs[name_of(sound(evidence)[index])]) for index in (0, -1)]
    if ends[0] is None or ends[1] is None:
        return Measured(None, False)
    return Measured(ends, bool(1 < ends[1] / ends[0] < 4))


def collapses(evidence: Evidence) -> Measured:
    """Training accuracy with too much weight decay: the best, and the last."""
    error = evidence.runs[name_of(decays(evidence.request)[-1])]["train_error"]
    best, last = 1 - float(error.min()), 1 - float(error[-1])
    return Measured([best, last], bool(last <= 0.1 and last < 0.6 * best))


CLAIMS = (
    Claim(
        "less-weight-decay-is-later",
        "Increasing weight decay makes the transition happen earlier.",
        "Section 2, Figure 2c",
        "steps to half of the test pairs fall with λ, over a factor 10 of λ",
        later,
    ),
    Claim(
        "inverse-law",
        "The transition is at a time proportional to 1/λ.",
        "Theorems 3.4 and 3.5",
        "slope of the logarithm of the steps in log λ between -1.1 and -0.9; fails: λt of the transition grows with λ",
        lambda e: within(slope(e), -1.1, -0.9),
        documented=False,
    ),
    Claim(
        "nearly-inverse",
        "The time falls with λ somewhat slower than 1/λ.",
        "corrects the previous claim",
        "slope between -0.9 and -0.6",
        lambda e: within(slope(e), -0.9, -0.6),
    ),
    Claim(
        "slow-time-grows",
        "In slow time λt, more weight decay is later, not sooner.",
        "ours",
        "λt of the transition grows by a factor between 1 and 4 over the factor 10 of λ",
        slow_times,
    ),
    Claim(
        "collapses",
        "When weight decay surpasses a threshold, the training accuracy collapses eventually.",
        "Section 2, Figure 2c",
        "with the largest λ the training accuracy ends at most at 0.1 and below 0.6 of its best",
        collapses,
    ),
    Claim(
        "trains-below-the-threshold",
        "Below it, all training pairs are right at the end.",
        "Figure 2c",
        "no wrong training pair at the end for the others",
        lambda e: at_most(max(e.runs[name_of(decay)].final["train_error"] for decay in sound(e)), 0.0),
    ),
)


def draw_law(axis: Axes, evidence: Evidence) -> None:
    """Steps of the transition against λ, with the law of the theorem."""
    decay, found = np.array(sound(evidence)), np.array(steps(evidence))
    axis.plot(decay, found, "o-", color=TRAIN, label="half of the test pairs right")
    if not withheld(axis, (evidence.runs[name_of(one)] for one in sound(evidence))):
        axis.plot(decay, found[0] * decay[0] / decay, "--", color=THEORY, linewidth=0.9, label=r"$\propto 1/\lambda$")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(r"weight decay $\lambda$")
    axis.set_ylabel("steps to the transition")
    axis.legend(loc="upper right", fontsize=6)


def draw_ends(axis: Axes, evidence: Evidence) -> None:
    """Accuracies at the end against λ."""
    every = decays(evidence.request)
    for column, colour, label in (("train_error", TRAIN, "train"), ("test_error", TEST, "test")):
        ends = [1 - evidence.runs[name_of(decay)].final[column] for decay in every]
        axis.plot(every, ends, "o-", color=colour, label=label)
    axis.set_xscale("log")
    axis.set_ylim(-0.03, 1.04)
    axis.set_xlabel(r"weight decay $\lambda$")
    axis.set_ylabel("accuracy at the end")
    axis.legend(loc="lower left")


def draw(evidence: Evidence) -> Figure:
    figure, (curves, law, ends) = canvas(1, 3, height=2.2)
    names = {rf"$\lambda$ = {decay:.0e}": evidence.runs[name_of(decay)] for decay in decays(evidence.request)}
    relu_net.draw_accuracies(curves, names, 1 / size_of(evidence.request).modulus)
    curves.legend(loc="upper left", title="test (train dotted)", title_fontsize=6, fontsize=6, handlelength=1)
    draw_law(law, evidence)
    draw_ends(ends, evidence)
    return figure


EXPERIMENT = Experiment(
    id="dichotomy/fig2c",
    title="Modular addition with a ReLU network: less weight decay is later, too much collapses",
    claim="The transition comes later with less weight decay, nearly as 1/λ; with λ = 1e-2 training collapses.",
    source="Section 2, Figure 2c",
    seconds=25,
    settings=relu_net.SETTINGS
    | {
        "weight decay λ": "1e-4, 3e-4, 1e-3, 1e-2 (--full: a third of each); the paper's values are not printed",
        "start": "He et al., zero bias",
        "cost of --full": f"not run yet, the largest λ is a guess; at most {MOST_GRADIENTS:,} gradients each",
    },
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(
        *relu_net.NOTES,
        "Where training fails at the reduced size, one draw: λ = 5e-3 fits all pairs, 7e-3 half, 1e-2 a twentieth.",
    ),
)
