"""Figure 28: errors and times against the number of measurements, for each sparsity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.beyond_l2 import sizes
from latebloom.catalog.beyond_l2.common import ends_and_times
from latebloom.catalog.old_base import Evidence, Experiment
from latebloom.figures.look import canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(2, 2, height=2.0)
    wanted = sizes.counts(evidence.request)
    for sparsity in sizes.SPARSITIES:
        runs = [evidence.runs[sizes.name_of(sparsity, count)] for count in wanted]
        panels.against_count(axes, wanted, f"s = {sparsity}", ends_and_times(runs))
    axes[0].legend()
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig28",
    title="Errors, memorisation and generalisation steps against the number of measurements, for each sparsity",
    claim="Smaller s needs a smaller N, and more measurements generalise sooner.",
    source="Appendix H.1, Figure 28",
    seconds=30,
    settings=sizes.SETTINGS,
    jobs=sizes.jobs,
    claims=(sizes.SMALLER, sizes.SOONER),
    draw=draw,
    notes=(*sizes.NOTES, "A missing point was not reached within the steps of its run."),
)
