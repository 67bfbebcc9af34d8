"""Figure 29: the curves behind Figure 6."""

from __future__ import annotations

from latebloom.catalog.base import Claim, Experiment
from latebloom.catalog.beyond_l2 import low_rank
from latebloom.catalog.beyond_l2.fig6 import GRID, NOTES, SETTINGS

CLAIMS = (
    Claim(
        "faster",
        "Larger α and larger β lead to faster convergence.",
        "Appendix H.2, Figure 29",
        "t2 falls from every cell to its neighbour with a larger α or β",
        GRID.faster_with_more,
        rate=0.05,
    ),
    Claim(
        "suboptimal",
        "A larger β plateaus at a higher recovery error.",
        "Appendix H.2, Figure 29",
        "final error at the largest β over the smallest at least 3",
        lambda e: GRID.plateau(e, 3),
        rate=0.05,
    ),
    Claim(
        "all-memorise",
        "All of them memorise early.",
        "Appendix H.2, Figure 29",
        "t1 under 1000 steps in every cell",
        GRID.all_memorise,
    ),
)

EXPERIMENT = Experiment(
    id="beyond-l2/fig29",
    title="Errors of matrix completion over a grid of learning rates and nuclear strengths",
    claim="Larger α or β converge faster; larger β to a higher recovery error.",
    source="Appendix H.2, Figure 29",
    seconds=25,
    settings=SETTINGS,
    jobs=GRID.jobs,
    claims=CLAIMS,
    draw=GRID.draw_curves,
    seed=low_rank.SEED,
    seed_reason=low_rank.SEED_REASON,
    notes=(*NOTES, "The runs are those of beyond-l2/fig6: with one in the store, the other is drawn at once."),
)
