"""Figure 26: the curves behind Figure 4."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.base import Claim, Evidence, Experiment, Measured, at_least
from latebloom.catalog.beyond_l2 import fig4
from latebloom.catalog.beyond_l2.common import COLUMNS_NOTE, t1, t2
from latebloom.figures import panels
from latebloom.figures.style import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def faster_with_more(evidence: Evidence) -> Measured:
    """The share of neighbouring cells in which the larger α (or β) generalises earlier."""
    steps = np.array(
        [[t2(evidence.runs[fig4.name_of(a, b)]) or np.inf for b in fig4.STRENGTHS] for a in fig4.LEARNING_RATES]
    )
    earlier = [steps[1:] < steps[:-1], steps[:, 1:] < steps[:, :-1]]
    return at_least(float(np.mean(np.concatenate([part.ravel() for part in earlier]))), 1.0)


def plateau(evidence: Evidence) -> Measured:
    """The final error at the largest over that at the smallest strength, at the middle learning rate."""
    rate = fig4.LEARNING_RATES[3]
    ends = [evidence.runs[fig4.name_of(rate, b)].final["test_error"] for b in fig4.STRENGTHS]
    return at_least(ends[-1] / ends[0], 1.5)


def all_memorise(evidence: Evidence) -> Measured:
    first = [t1(run) for run in evidence.runs.values()]
    share = np.mean([step is not None and step < 1000 for step in first])
    return at_least(float(share), 1.0)


CLAIMS = (
    Claim(
        "faster",
        "Larger α and larger β lead to faster convergence.",
        "Appendix H.1, Figure 26",
        "t2 falls from every cell to its neighbour with a larger α or β",
        faster_with_more,
        rate=0.7,
    ),
    Claim(
        "suboptimal",
        "A larger β plateaus at a higher recovery error.",
        "Appendix H.1, Figure 26",
        "final error at the largest β over the smallest at least 1.5",
        plateau,
        rate=0.7,
    ),
    Claim(
        "all-memorise",
        "All of them memorise early.",
        "Appendix H.1, Figure 26",
        "t1 under 1000 steps in every cell",
        all_memorise,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(2, 3, height=1.9)
    for axis, rate in zip(axes, fig4.LEARNING_RATES, strict=True):
        runs = {rf"$\beta$ = {b:.1e}": evidence.runs[fig4.name_of(rate, b)] for b in fig4.STRENGTHS}
        panels.family(axis, runs)
        axis.set_title(rf"$\alpha$ = {rate:.3g}")
    panels.family_legend(axes[0])
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig26",
    title="Errors of sparse recovery over a grid of learning rates and l1 strengths",
    claim="Larger α or β converge faster; larger β to a higher recovery error.",
    source="Appendix H.1, Figure 26",
    seconds=25,
    settings=fig4.SETTINGS,
    jobs=fig4.jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(COLUMNS_NOTE, "The runs are those of beyond-l2/fig4: with one in the store, the other is drawn at once."),
)
