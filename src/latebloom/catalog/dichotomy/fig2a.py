"""Figure 2a: a two-layer ReLU network groks modular addition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.catalog.dichotomy import relu_net
from latebloom.catalog.dichotomy.margins import when_falls
from latebloom.catalog.dichotomy.relu_net import PAPERS, SMALL, Size, half_way, half_way_step, size_of
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_least, at_most, within
from latebloom.figures.look import GREY, NORM, TEST, TRAIN, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from latebloom.engine.run import Run
    from latebloom.flows import FlowJob

MAIN, SMALLER, TIGHT = "flow", "reduced size", "reduced size, tight"
MOST_GRADIENTS = 20_000
TIGHTER = 0.3  # times the tolerances


def jobs(request: Request) -> dict[str, FlowJob]:
    """The flow, and at the reduced size also with tighter tolerances."""

    def job(size: Size, **options: Any) -> FlowJob:
        return relu_net.job(size, relu_net.problem(size, request.seed), size.slow_time, **options)

    sizes = {MAIN: PAPERS, SMALLER: SMALL} if request.full else {MAIN: SMALL}
    tight = job(SMALL, rtol=TIGHTER * relu_net.RTOL, atol=TIGHTER * SMALL.atol)
    return {name: job(size, max_gradients=MOST_GRADIENTS) for name, size in sizes.items()} | {TIGHT: tight}


def main(evidence: Evidence) -> Run:
    return evidence.runs[MAIN]


def reduced(evidence: Evidence) -> Run:
    """The run of the reduced size at the tolerances of the entry."""
    return evidence.runs.get(SMALLER, evidence.runs[MAIN])


def memorised_step(evidence: Evidence) -> float | None:
    found = main(evidence).milestones.memorised
    return None if found is None or found.time is None else found.time / relu_net.LEARNING_RATE


def memorises(evidence: Evidence) -> Measured:
    expected = size_of(evidence.request).memorised
    return within(memorised_step(evidence), 0.4 * expected, 2.5 * expected)


def guesses(evidence: Evidence) -> Measured:
    """The test accuracy when the last training pair becomes right, over that of a guess."""
    run, step = main(evidence), memorised_step(evidence)
    if step is None:
        return Measured(None, False)
    accuracy = float(np.interp(step, run["step"], 1 - run["test_error"]))
    return at_most(accuracy * size_of(evidence.request).modulus, 2.0)


def delay(evidence: Evidence) -> float | None:
    """Steps to half of the test pairs over steps to all training pairs."""
    late, early = half_way_step(main(evidence)), memorised_step(evidence)
    return None if late is None or early is None else late / early


def generalises(evidence: Evidence) -> Measured:
    """The best test accuracy, and the last, which may be in one of the dips of NOTES."""
    error = main(evidence)["test_error"]
    best, last = float(error.min()), float(error[-1])
    return Measured([1 - best, 1 - last], 1 - best >= size_of(evidence.request).right and last <= 0.1)


def width(evidence: Evidence) -> Measured:
    """The time at which three quarters of the test pairs are right over that at which a quarter is."""
    run = main(evidence)
    ends = [when_falls(run, run["test_error"], level) for level in (0.75, 0.25)]
    return at_most(None if ends[0] is None or ends[1] is None else ends[1] / ends[0], 2.5)


def as_printed(evidence: Evidence) -> Measured:
    """The test accuracy ten times as many steps after memorisation."""
    run, step = main(evidence), memorised_step(evidence)
    if step is None:
        return Measured(None, False)
    return at_least(float(np.interp(10 * step, run["step"], 1 - run["test_error"])), 0.99)


def tolerance_is_enough(evidence: Evidence) -> Measured:
    """Logarithms of the ratios of the two transition times, loose over tight: memorised, and half of the test."""
    loose, tight = reduced(evidence), evidence.runs[TIGHT]
    early = [run.milestones.memorised.time for run in (loose, tight) if run.milestones.memorised is not None]
    late = [half_way(run) for run in (loose, tight)]
    pairs = np.array([early, late], dtype=float)  # None becomes NaN
    gaps = np.log(pairs[:, 0] / pairs[:, 1])
    return Measured(gaps.tolist(), bool(np.all(np.abs(gaps) <= 0.15)))


def few_gradients(evidence: Evidence) -> Measured:
    """How many the flow took, if they were enough."""
    run, end = main(evidence), size_of(evidence.request).slow_time
    return Measured(run.provenance["gradients"], bool(run["slow_time"][-1] >= 0.999 * end))


CLAIMS = (
    Claim(
        "memorises",
        "The training accuracy reaches 100 % in 10^6 steps.",
        "Section 2, Figure 2a",
        "all training pairs right after 4e5 to 2.5e6 steps' worth (reduced size: a tenth of that)",
        memorises,
    ),
    Claim(
        "guesses-first",
        "By then the test accuracy remains close to random guessing.",
        "Section 2, Figure 2a",
        "test accuracy at most twice 1/p when all training pairs are right (it is below 1/p)",
        guesses,
    ),
    Claim(
        "one-order-later",
        "After one additional order of magnitude in the number of steps, the test accuracy jumps to 100 %.",
        "Section 2, Figure 2a",
        "test accuracy at least 0.99 at ten times the steps of memorisation; fails: it has hardly begun to rise",
        as_printed,
        documented=False,
    ),
    Claim(
        "later",
        "Half of the test pairs are right one to two orders of magnitude after all training pairs.",
        "corrects the previous claim",
        "10 to 100 times the steps",
        lambda e: within(delay(e), 10, 100),
    ),
    Claim(
        "generalises",
        "The test accuracy becomes 100 %.",
        "Section 2, Figure 2a",
        "at least 0.99 of the test pairs right at some time (reduced size: 0.95), and at least 0.9 at the end",
        generalises,
        rate=0.8,
    ),
    Claim(
        "sudden",
        "It jumps suddenly.",
        "Section 2, Figure 2a",
        "from a quarter to three quarters within a factor 2.5 of time",
        width,
    ),
    Claim(
        "keeps-what-it-memorised",
        "The training accuracy stays at 100 %.",
        "Figure 2a",
        "no wrong training pair at the end",
        lambda e: at_most(main(e).final["train_error"], 0.0),
    ),
    Claim(
        "gradient-along-weights",
        "The late phase ends at a KKT point of max margin: the weights are a combination of gradients of the margins.",
        "Theorem 3.5",
        "1 - cos(θ, -∇F) at the end at most 0.1; fails: it is 0.5 to 0.9, in no order",
        lambda e: at_most(float(main(e).final["kkt_angle"]), 0.1),
        documented=False,
    ),
    Claim(
        "held-by-the-loss",
        "What holds of it: the part of the gradient along the weights balances weight decay, on average over the end.",
        "corrects the previous claim",
        "-θ·∇F / λ|θ|² at the end, from the norm, between 0.9 and 1.02",
        lambda e: within(relu_net.balance(main(e)), 0.9, 1.02),
    ),
    Claim(
        "tolerance-is-enough",
        "Tolerances of a third give the same transitions, at the reduced size.",
        "ours",
        "logarithms of the ratios of both transition times within 0.15",
        tolerance_is_enough,
    ),
    Claim(
        "few-gradients",
        "The flow needs far fewer gradients than descent takes steps: 5e7 at the paper's size.",
        "ours",
        f"at most {MOST_GRADIENTS:,} gradients to the end",
        few_gradients,
    ),
)


def draw_accuracy(axis: Axes, evidence: Evidence) -> None:
    """Train and test accuracy against steps."""
    run, size = main(evidence), size_of(evidence.request)
    axis.plot(run["step"][1:], 1 - run["train_error"][1:], color=TRAIN, label="train")
    axis.plot(run["step"][1:], 1 - run["test_error"][1:], color=TEST, label="test")
    relu_net.finish_accuracy(axis, 1 / size.modulus, left=1e-3 * float(run["step"][-1]) / 4)
    place = {"transform": axis.get_yaxis_transform(), "ha": "right", "fontsize": 6}
    axis.text(0.99, 1 / size.modulus + 0.02, "chance", **place)
    axis.set_title(f"$p$ = {size.modulus}, $h$ = {size.width:,}")
    axis.legend(loc="center", bbox_to_anchor=(0.58, 0.5), handlelength=1)


def draw_norm(axis: Axes, evidence: Evidence) -> None:
    """Training loss and the norm of the weights against steps."""
    run = main(evidence)
    axis.plot(run["step"][1:], run["train_loss"][1:], color=TRAIN, label="training loss")
    axis.plot(run["step"][1:], run["l2_norm"][1:] / run["l2_norm"][0], color=NORM, label=r"$|\theta| / |\theta(0)|$")
    for step in (memorised_step(evidence), half_way_step(run)):
        axis.axvline(np.nan if step is None else step, color=GREY, linestyle=":", linewidth=0.9)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(left=1e-3 * float(run["step"][-1]) / 4)
    axis.set_xlabel("step (time / 0.002)")
    axis.set_ylabel("loss, norm")
    axis.legend(loc="upper right", bbox_to_anchor=(1.0, 0.75), handlelength=1, fontsize=6)


def draw_check(axis: Axes, evidence: Evidence) -> None:
    """The reduced size at both tolerances."""
    loose, tight = reduced(evidence), evidence.runs[TIGHT]
    for column, colour in (("train_error", TRAIN), ("test_error", TEST)):
        axis.plot(loose["step"][1:], 1 - loose[column][1:], color=colour, linewidth=2.5, alpha=0.4)
        axis.plot(tight["step"][1:], 1 - tight[column][1:], color=colour, linewidth=0.9)
    axis.plot([], [], color=GREY, linewidth=2.5, alpha=0.5, label=f"rtol {relu_net.RTOL:g}")
    axis.plot([], [], color=GREY, linewidth=0.9, label=f"rtol {TIGHTER * relu_net.RTOL:g}")
    relu_net.finish_accuracy(axis, 1 / SMALL.modulus, left=1e-3 * float(loose["step"][-1]) / 4)
    axis.set_title(f"tolerances, $p$ = {SMALL.modulus}, $h$ = {SMALL.width}")
    axis.legend(loc="center", bbox_to_anchor=(0.58, 0.5), handlelength=1, fontsize=6)


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(1, 3, height=2.2)
    for axis, panel in zip(axes, (draw_accuracy, draw_norm, draw_check), strict=True):
        panel(axis, evidence)
    return figure


EXPERIMENT = Experiment(
    id="dichotomy/fig2a",
    title="Grokking of modular addition by a two-layer ReLU network",
    claim="All training pairs are right after 1e6 steps' worth of the flow, at chance on the test pairs; these follow "
    "at twenty to thirty times as many steps.",
    source="Section 2, Figure 2a",
    seconds=27,
    full_seconds=713,
    settings=relu_net.SETTINGS
    | {
        "weight decay λ": f"{SMALL.weight_decay:g} ({PAPERS.weight_decay:g})",
        "start": "He et al., zero bias",
        "cost of --full": "14,560 gradients; 12 min in the one run timed, two cores of an idle machine",
    },
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=relu_net.NOTES,
)
