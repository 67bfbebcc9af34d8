"""Figure 8: errors against the step, when the entries of highest leverage are seen first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.beyond_l2 import leverage_runs
from latebloom.catalog.old_base import Evidence, Experiment
from latebloom.figures.look import canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(2, 2, height=2.0)
    for axis, count in zip(axes, leverage_runs.COUNTS, strict=True):
        taus = leverage_runs.TAUS
        runs = {rf"$\tau$ = {tau:g}": evidence.runs[leverage_runs.name_of(count, tau, 0)] for tau in taus}
        panels.family(axis, runs)
        axis.set_ylim(bottom=5e-5)
        axis.set_title(f"N = {count}")
    place = {"loc": "center", "bbox_to_anchor": (0.6, 0.45), "ncols": 2}
    axes[0].legend(**place, fontsize=6, title="recovery (train dotted)", title_fontsize=6)
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig8",
    title="Training and recovery error against the step, for each number of entries and coherence τ",
    claim="Seeing the entries of highest leverage first makes generalisation earlier, and possible from fewer entries.",
    source="Section 3.4, Figure 8",
    seconds=75,
    settings=leverage_runs.SETTINGS,
    jobs=leverage_runs.jobs,
    studies=leverage_runs.studies,
    claims=(
        leverage_runs.IMPROVES,
        leverage_runs.FEWER,
        leverage_runs.EARLIER,
        leverage_runs.EXPONENTIALLY_EARLIER,
        leverage_runs.SAME_MEMORISATION,
        leverage_runs.AGREES,
    ),
    draw=draw,
    notes=leverage_runs.NOTES,
)
