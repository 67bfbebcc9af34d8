"""Figure 26: the curves behind Figure 4."""

from __future__ import annotations

from latebloom.catalog.base import Claim, Experiment
from latebloom.catalog.beyond_l2.common import COLUMNS_NOTE
from latebloom.catalog.beyond_l2.fig4 import GRID, SETTINGS

CLAIMS = (
    Claim(
        "faster",
        "Larger α and larger β lead to faster convergence.",
        "Appendix H.1, Figure 26",
        "t2 falls from every cell to its neighbour with a larger α or β",
        GRID.faster_with_more,
        rate=0.7,
    ),
    Claim(
        "suboptimal",
        "A larger β plateaus at a higher recovery error.",
        "Appendix H.1, Figure 26",
        "final error at the largest β over the smallest at least 1.5",
        lambda e: GRID.plateau(e, 1.5),
        rate=0.7,
    ),
    Claim(
        "all-memorise",
        "All of them memorise early.",
        "Appendix H.1, Figure 26",
        "t1 under 1000 steps in every cell",
        GRID.all_memorise,
    ),
)

EXPERIMENT = Experiment(
    id="beyond-l2/fig26",
    title="Errors of sparse recovery over a grid of learning rates and l1 strengths",
    claim="Larger α or β converge faster; larger β to a higher recovery error.",
    source="Appendix H.1, Figure 26",
    seconds=25,
    settings=SETTINGS,
    jobs=GRID.jobs,
    claims=CLAIMS,
    draw=GRID.draw_curves,
    notes=(COLUMNS_NOTE, "The runs are those of beyond-l2/fig4: with one in the store, the other is drawn at once."),
)
