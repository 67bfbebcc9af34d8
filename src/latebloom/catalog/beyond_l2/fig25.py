"""Figure 25: every component finds its true value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.beyond_l2.common import COLUMNS_NOTE, LEARNING_RATE, PRINTED, STRENGTH, sparse_job, truth_of
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_most
from latebloom.figures.look import GREY, TEST, THEORY, canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.training import TrainJob

NAME = "l1"


def jobs(request: Request) -> dict[str, TrainJob]:
    return {NAME: sparse_job(request.seed)}


def largest_deviation(evidence: Evidence) -> Measured:
    truth = truth_of(evidence, NAME)
    deviation = np.abs(evidence.runs[NAME]["components"][-1] - truth).max() / np.abs(truth).max()
    return at_most(float(deviation), 2e-3)


def shrinks_off_support(evidence: Evidence) -> Measured:
    run = evidence.runs[NAME]
    peak = run["off_support_norm"].max()
    return at_most(float(run["off_support_norm"][-1] / peak), 2e-3)


CLAIMS = (
    Claim(
        "every-component",
        "a_i converges to a*_i for each i.",
        "Appendix H.1, Figure 25",
        "largest deviation at the end at most 2e-3 of the largest true component",
        largest_deviation,
        rate=0.8,
    ),
    Claim(
        "shrinks-off-support",
        "The components off the support are shrunk at each training step until they all reach 0.",
        "Appendix H.1",
        "their norm at the end at most 2e-3 of its largest value",
        shrinks_off_support,
        rate=0.8,
    ),
)


def draw(evidence: Evidence) -> Figure:
    run, truth = evidence.runs[NAME], truth_of(evidence, NAME)
    figure, (components, deviation) = canvas(1, 2, height=2.4)
    panels.components(components, run, truth)
    gaps = np.abs(run["components"] - truth)
    deviation.plot(run["step"], gaps[:, truth == 0], color=GREY, linewidth=0.3, alpha=0.4)
    deviation.plot(run["step"], gaps[:, truth != 0], color=TEST, linewidth=0.9)
    deviation.plot([], [], color=TEST, label="on the support")
    deviation.plot([], [], color=GREY, label="off the support")
    scale = LEARNING_RATE * STRENGTH
    deviation.axhline(scale, color=THEORY, linestyle="--", linewidth=0.9, label=r"$\alpha\beta$, one step of $\beta H$")
    deviation.set_yscale("log")
    deviation.set_ylim(bottom=scale / 10)
    panels.log_steps(deviation)
    deviation.set_ylabel(r"$|a_i - a^*_i|$")
    deviation.legend()
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig25",
    title="Convergence of every component to its true value",
    claim="Each component converges to its true value; those off the support are shrunk to zero.",
    source="Appendix H.1, Figure 25",
    seconds=4,
    settings=PRINTED,
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(COLUMNS_NOTE, "The run is the one of beyond-l2/fig3."),
)
