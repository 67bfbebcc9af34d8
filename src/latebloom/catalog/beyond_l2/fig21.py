"""Figure 21: errors against the step, for each coherence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.beyond_l2 import coherent_runs
from latebloom.catalog.old_base import Evidence, Experiment
from latebloom.figures.look import canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(evidence: Evidence) -> Figure:
    wanted = coherent_runs.counts(evidence.request)
    figure, axes = canvas(-(-len(wanted) // 2), 2, height=2.0)
    for axis, count in zip(axes, wanted, strict=False):
        taus = coherent_runs.TAUS
        runs = {rf"$\tau$ = {tau:g}": evidence.runs[coherent_runs.name_of(count, tau, 0)] for tau in taus}
        panels.family(axis, runs)
        axis.set_title(f"N = {count}")
    panels.family_legend(axes[0], ncols=2)
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig21",
    title="Training and recovery error against the step, for each coherence and number of measurements",
    claim="Coherent measurements delay generalisation; at τ=1 there is none unless the support was measured.",
    source="Appendix G.1.3, Figure 21",
    seconds=25,
    settings=coherent_runs.SETTINGS,
    jobs=coherent_runs.jobs,
    claims=(coherent_runs.LATER, coherent_runs.IMPOSSIBLE_AS_PRINTED, coherent_runs.ONLY_THE_SUPPORT),
    draw=draw,
    notes=coherent_runs.NOTES,
)
