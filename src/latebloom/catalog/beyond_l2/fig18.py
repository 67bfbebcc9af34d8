"""Figure 18: errors and times against the number of measurements, for each depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.beyond_l2 import depth
from latebloom.catalog.beyond_l2.common import ends_and_times
from latebloom.catalog.old_base import Evidence, Experiment
from latebloom.figures.look import canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(2, 2, height=2.0)
    wanted = depth.counts(evidence.request)
    for level in depth.DEPTHS:
        runs = [evidence.runs[depth.name_of(level, count)] for count in wanted]
        panels.against_count(axes, wanted, f"L = {level}", ends_and_times(runs))
    axes[0].legend()
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig18",
    title="Errors, memorisation and generalisation steps against the number of measurements, for each depth",
    claim="Depth needs fewer measurements and more steps.",
    source="Appendix F.1, Figure 18",
    seconds=30,
    settings=depth.SETTINGS,
    jobs=depth.jobs,
    claims=(depth.FEWER, depth.LONGER, depth.SADDLE),
    draw=draw,
    notes=(*depth.NOTES, "A missing point was not reached within the steps of its run."),
)
