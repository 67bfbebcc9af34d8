"""Figure 21: errors against the step, for each coherence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.base import Evidence, Experiment
from latebloom.catalog.beyond_l2 import coherent_runs
from latebloom.figures import panels
from latebloom.figures.style import canvas, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(evidence: Evidence) -> Figure:
    wanted = coherent_runs.counts(evidence.request)
    figure, axes = canvas(-(-len(wanted) // 2), 2, height=2.0)
    for axis, count in zip(axes, wanted, strict=False):
        for tau, colour in zip(coherent_runs.TAUS, shades(len(coherent_runs.TAUS)), strict=True):
            run = evidence.runs[coherent_runs.name_of(count, tau, 0)]
            axis.plot(run["step"], run["test_error"], color=colour, label=rf"$\tau$ = {tau:g}")
            axis.plot(run["step"], run["train_error"], color=colour, linewidth=0.7, linestyle=":")
        axis.set_yscale("log")
        panels.log_steps(axis)
        axis.set_ylabel("relative error")
        axis.set_title(f"N = {count}")
    axes[0].legend(loc="lower left", fontsize=5, ncols=2, title="recovery (train dotted)", title_fontsize=5)
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig21",
    title="Training and recovery error against the step, for each coherence and number of measurements",
    claim="Coherent measurements delay generalisation; at τ=1 there is none unless the support was measured.",
    source="Appendix G.1.3, Figure 21",
    seconds=20,
    settings=coherent_runs.SETTINGS,
    cells=coherent_runs.cells,
    claims=(coherent_runs.LATER, coherent_runs.IMPOSSIBLE_AS_PRINTED, coherent_runs.ONLY_THE_SUPPORT),
    draw=draw,
    notes=coherent_runs.NOTES,
)
