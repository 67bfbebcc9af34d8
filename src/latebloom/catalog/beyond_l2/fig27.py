"""Figure 27: errors against the step, for each sparsity and number of measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.base import Evidence, Experiment
from latebloom.catalog.beyond_l2 import sizes
from latebloom.figures import panels
from latebloom.figures.style import canvas, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(evidence: Evidence) -> Figure:
    wanted = sizes.counts(evidence.request)
    figure, axes = canvas(2, 2, height=2.1)
    for axis, sparsity in zip(axes, sizes.SPARSITIES, strict=True):
        for count, colour in zip(wanted, shades(len(wanted)), strict=True):
            run = evidence.runs[sizes.name_of(sparsity, count)]
            axis.plot(run["step"], run["test_error"], color=colour, label=f"N = {count}")
            axis.plot(run["step"], run["train_error"], color=colour, linewidth=0.7, linestyle=":")
        axis.set_yscale("log")
        panels.log_steps(axis)
        axis.set_ylabel("relative error")
        axis.set_title(f"s = {sparsity}")
    axes[0].legend(loc="lower left", fontsize=5, ncols=2, title="recovery (train dotted)", title_fontsize=5)
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig27",
    title="Training and recovery error against the step, for each sparsity and number of measurements",
    claim="Smaller s needs a smaller N for generalisation.",
    source="Appendix H.1, Figure 27",
    seconds=20,
    settings=sizes.SETTINGS,
    cells=sizes.cells,
    claims=(sizes.SMALLER, sizes.MEMORISE),
    draw=draw,
    notes=sizes.NOTES,
)
