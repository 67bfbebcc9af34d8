"""Figure 27: errors against the step, for each sparsity and number of measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.beyond_l2 import sizes
from latebloom.catalog.old_base import Evidence, Experiment
from latebloom.figures.look import canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(2, 2, height=2.1)
    for axis, sparsity in zip(axes, sizes.SPARSITIES, strict=True):
        wanted = sizes.counts(evidence.request)
        panels.family(axis, {f"N = {count}": evidence.runs[sizes.name_of(sparsity, count)] for count in wanted})
        axis.set_title(f"s = {sparsity}")
    panels.family_legend(axes[0], ncols=2)
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig27",
    title="Training and recovery error against the step, for each sparsity and number of measurements",
    claim="Smaller s needs a smaller N for generalisation.",
    source="Appendix H.1, Figure 27",
    seconds=30,
    settings=sizes.SETTINGS,
    jobs=sizes.jobs,
    claims=(sizes.SMALLER, sizes.MEMORISE),
    draw=draw,
    notes=sizes.NOTES,
)
