"""Figure 1b: misgrokking, a diagonal network that generalises at first and loses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.dichotomy import margins
from latebloom.catalog.dichotomy.fig1a import draw_accuracy, draw_directions
from latebloom.catalog.dichotomy.margins import EARLY, FLOW, at
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_least, at_most
from latebloom.figures.look import CYCLE, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.problems import GaussianGap

SMALL = "d = 1000"
LONG = 3e4  # the loss of accuracy is slower than the gain of Figure 1a


def data(request: Request) -> GaussianGap:
    """The paper's size; or a smaller dimension, at which a gap of 14 still shows it and one of 25 does not."""
    return margins.gap(100_000, 32, 25.0, request.seed) if request.full else margins.gap(10_000, 32, 14.0, request.seed)


def jobs(request: Request):
    return {
        FLOW: margins.dual_job(data(request), generalised_at=5e-3, time=LONG),
        SMALL: margins.dual_job(margins.gap(1000, 32, 25.0, request.seed), generalised_at=5e-3, time=LONG),
    }


def early(evidence: Evidence, name: str = FLOW) -> float:
    run = evidence.runs[name]
    return 1 - at(run, run["test_error"], EARLY)


def late(evidence: Evidence, name: str = FLOW) -> float:
    return 1 - evidence.runs[name].final["test_error"]


def oracle_accuracy(evidence: Evidence) -> Measured:
    """The exact accuracy of the max l1-margin classifier."""
    found = 1 - float(evidence.tables["certificates"]["test_error"][1])
    return at_most(found, 0.65 if evidence.request.full else 0.8)


CLAIMS = (
    Claim(
        "generalises-first",
        "The net first fits the training set and achieves 100 % test accuracy.",
        "Section 3.2.3, Figure 1b",
        f"exact test accuracy at λt = {EARLY:g} at least 0.998",
        lambda e: at_least(early(e), 0.998),
    ),
    Claim(
        "loses-it",
        "After training for sufficiently longer, the test accuracy drops to nearly 50 %.",
        "Section 3.2.3, Figure 1b",
        "exact test accuracy at the end at most 0.65 at the paper's size, 0.80 at the everyday one",
        lambda e: at_most(late(e), 0.65 if e.request.full else 0.8),
    ),
    Claim(
        "l1-margin-does-not-generalise",
        "The ground-truth weight vector may not have a large l1 margin: the max l1-margin classifier fails.",
        "Section 3.2.3",
        "its exact test accuracy at most 0.65 at the paper's size, 0.80 at the everyday one",
        oracle_accuracy,
    ),
    *margins.BOTH_ENDS,
    Claim(
        "needs-a-large-dimension",
        "At d = 1000 with the printed gap of 25 the late phase generalises too: nothing is lost.",
        "beyond the paper",
        "exact test accuracy at the end at least 0.99",
        lambda e: at_least(late(e, SMALL), 0.99),
    ),
    Claim(
        "oracles-are-certified",
        "Both max-margin directions come with a duality gap.",
        "ours",
        "relative gap at most 1e-6",
        margins.certified,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (accuracy, directions) = canvas(1, 2, height=2.4)
    draw_accuracy(accuracy, evidence.runs[FLOW])
    small = evidence.runs[SMALL]
    accuracy.plot(
        small["slow_time"][1:], 1 - small["test_error"][1:], "--", color=CYCLE[4], label=r"test, $d=1000$, $\gamma=25$"
    )
    accuracy.legend(loc="lower left")
    draw_directions(directions, evidence)
    for axis in (accuracy, directions):
        axis.set_xlim(1e-3, margins.WEIGHT_DECAY * LONG)
    return figure


EXPERIMENT = Experiment(
    id="dichotomy/fig1b",
    title="Misgrokking with a diagonal network on data with a large l2 margin",
    claim="The net generalises at once as the max l2-margin classifier and loses it as it turns to the max l1-margin "
    "classifier, if the dimension is large.",
    source="Section 3.2.3, Figure 1b",
    seconds=10,
    full_seconds=23,
    settings={
        "dimension d": "1e4 (paper, --full: 1e5, about 25 s)",
        "points n": 32,
        "gap γ": "14 (25)",
        "inputs": "z + (γ/2) y w*, z Gaussian, w* a random unit vector",
        "initial scale": "every entry 0.286 (not printed; as in Figure 1a)",
        "loss": "logistic, mean",
        "weight decay λ": margins.WEIGHT_DECAY,
        "time": f"{LONG:g}",
        "test accuracy": "exact, by quadrature",
    },
    jobs=jobs,
    studies=lambda request: margins.oracle_study(lambda: data(request)),
    claims=CLAIMS,
    draw=draw,
    notes=(margins.DUAL_NOTE,),
)
