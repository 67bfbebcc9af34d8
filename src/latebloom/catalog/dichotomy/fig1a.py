"""Figure 1a: a diagonal network groks a classifier of three coordinates among 1e5."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.dichotomy import margins
from latebloom.catalog.dichotomy.margins import EARLY, FLOW, at, cosines, when_falls
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_most, within
from latebloom.figures.look import GREY, NORM, TEST, THEORY, TRAIN, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from latebloom.engine.run import Run
    from latebloom.problems import SparseSigns


def data(request: Request) -> SparseSigns:
    """The paper's size, or a tenth of the dimension and half of the points."""
    return margins.sparse(100_000, 256, request.seed) if request.full else margins.sparse(10_000, 128, request.seed)


def jobs(request: Request):
    # Half the records and a looser tolerance at the paper's size: a record is a product with the test set.
    options = {"rtol": 1e-4, "records_per_decade": 25} if request.full else {}
    return {FLOW: margins.dual_job(data(request), generalised_at=5e-3, **options)}


def transition(run: Run) -> float | None:
    """The slow time λt at which the test error is half of what it was in the kernel phase."""
    return when_falls(run, run["test_error"], at(run, run["test_error"], EARLY) / 2)


def initial_norm(evidence: Evidence) -> float:
    return float(evidence.runs[FLOW]["l2_norm"][0])


def width(evidence: Evidence) -> Measured:
    """The time at which a tenth of the test error is left over that at which nine tenths are."""
    run = evidence.runs[FLOW]
    plateau = at(run, run["test_error"], EARLY)
    ends = [when_falls(run, run["test_error"], share * plateau) for share in (0.9, 0.1)]
    return at_most(None if ends[0] is None or ends[1] is None else ends[1] / ends[0], 3.0)


def memorised(evidence: Evidence) -> Measured:
    """The slow time from which all training points are right."""
    run = evidence.runs[FLOW]
    wrong = run["slow_time"][run["train_error"] > 0]
    return at_most(float(wrong.max()), 1e-3)


def as_printed(evidence: Evidence) -> Measured:
    found, log = transition(evidence.runs[FLOW]), float(np.log(initial_norm(evidence)))
    return within(found, 0.9 * log, 1.1 * log)


CLAIMS = (
    Claim(
        "fits-at-once",
        "In the early phase the net fits the training set very quickly.",
        "Section 3.2.3, Figure 1a",
        "all training points right from λt = 1e-3 at the latest",
        memorised,
    ),
    Claim(
        "fails-to-generalise",
        "In the early phase it fails to generalise.",
        "Section 3.2.3, Figure 1a",
        f"test accuracy at λt = {EARLY:g} between 0.45 and 0.65 (paper's size: about 0.51)",
        lambda e: within(1 - at(e.runs[FLOW], e.runs[FLOW]["test_error"], EARLY), 0.45, 0.65),
    ),
    Claim(
        "generalises",
        "After a sharp transition in the late phase, the test accuracy becomes 100 %.",
        "Section 3.2.3, Figure 1a",
        "no error on 1,000 test points at the end",
        lambda e: at_most(e.runs[FLOW].final["test_error"], 0.0),
        rate=0.8,
    ),
    Claim(
        "sharp",
        "The transition is sharp.",
        "Section 3.2.3, Figure 1a",
        "test error from nine tenths to one tenth of the plateau within a factor 3 of time",
        width,
        rate=0.8,
    ),
    *margins.BOTH_ENDS,
    Claim(
        "transition-at-log-alpha",
        "There is a sharp transition around (1/λ) log α, α the initial norm.",
        "Section 3.2 (α taken as the printed initial norm, 128)",
        "λt of the transition within 10 % of log α; fails: the theorem is about the slope, and a constant is left open",
        as_printed,
        documented=False,
    ),
    Claim(
        "transition-before-log-alpha",
        "At this size the transition is well before λt = log α: the constant in λt = log α + c is negative.",
        "corrects the previous claim (see dichotomy/time-law for the slope)",
        "λt of half the plateau's error, minus log of the initial norm, between -2.5 and -1",
        lambda e: within((transition(e.runs[FLOW]) or np.nan) - float(np.log(initial_norm(e))), -2.5, -1.0),
    ),
    Claim(
        "oracles-are-certified",
        "Both max-margin directions come with a duality gap.",
        "ours",
        "relative gap at most 1e-6",
        margins.certified,
    ),
)


def draw_accuracy(axis: Axes, run: Run) -> None:
    """Train and test accuracy against λt."""
    axis.plot(run["slow_time"][1:], 1 - run["train_error"][1:], color=TRAIN, label="train")
    axis.plot(run["slow_time"][1:], 1 - run["test_error"][1:], color=TEST, label="test")
    axis.set_xscale("log")
    axis.set_xlim(1e-3, 10)
    axis.set_ylim(0.4, 1.03)
    axis.set_xlabel(r"slow time $\lambda t$")
    axis.set_ylabel("accuracy")
    axis.legend(loc="center left")


def draw_directions(axis: Axes, evidence: Evidence) -> None:
    """Cosines with the two oracles against λt."""
    run, (l2, l1) = evidence.runs[FLOW], cosines(evidence)
    axis.plot(run["slow_time"][1:], l2[1:], color=TRAIN, label=r"max $L^2$-margin")
    axis.plot(run["slow_time"][1:], l1[1:], color=NORM, label=r"max $L^1$-margin")
    axis.set_xscale("log")
    axis.set_xlim(1e-3, 10)
    axis.set_ylim(-0.03, 1.05)
    axis.set_xlabel(r"slow time $\lambda t$")
    axis.set_ylabel("cosine of $w$ with the oracle")
    axis.legend(loc="center left")


def draw(evidence: Evidence) -> Figure:
    figure, (accuracy, directions) = canvas(1, 2, height=2.4)
    run = evidence.runs[FLOW]
    draw_accuracy(accuracy, run)
    draw_directions(directions, evidence)
    for axis in (accuracy, directions):
        axis.axvline(np.log(initial_norm(evidence)), color=THEORY, linestyle="--", linewidth=0.9)
        axis.axvline(transition(run) or np.nan, color=GREY, linestyle=":", linewidth=0.9)
    accuracy.plot([], [], "--", color=THEORY, linewidth=0.9, label=r"$\log|\theta(0)|$")
    accuracy.plot([], [], ":", color=GREY, linewidth=0.9, label="half of the error")
    accuracy.legend(loc="upper left", bbox_to_anchor=(0.0, 0.9))
    return figure


EXPERIMENT = Experiment(
    id="dichotomy/fig1a",
    title="Grokking with a diagonal network on sparse classification",
    claim="The test accuracy stays at chance while the net is the max l2-margin classifier, then becomes 100 % as it "
    "turns to the max l1-margin classifier; the transition is before log(α)/λ.",
    source="Section 3.2.3, Figure 1a",
    seconds=10,
    full_seconds=38,
    settings={
        "dimension d": "1e4 (paper, --full: 1e5, about 40 s)",
        "points n": "128 (256)",
        "sparsity k": 3,
        "inputs": "uniform in {-1, 1}^d",
        "initial norm": "40.5 (128): every entry 0.286",
        "loss": "logistic, mean",
        "weight decay λ": margins.WEIGHT_DECAY,
        "time": f"{margins.TIME:g}",
        "test points": 1000,
    },
    jobs=jobs,
    studies=lambda request: margins.oracle_study(lambda: data(request)),
    claims=CLAIMS,
    draw=draw,
    notes=(margins.DUAL_NOTE, "The paper's λ multiplies |θ|²/2, as ours does."),
)
