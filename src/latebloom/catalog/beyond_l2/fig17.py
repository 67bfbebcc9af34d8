"""Figure 17: errors against the step for each depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.beyond_l2 import depth
from latebloom.catalog.old_base import Evidence, Experiment
from latebloom.figures.look import canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(2, 3, height=2.0)
    for axis, level in zip(axes, depth.DEPTHS, strict=False):
        wanted = depth.counts(evidence.request)
        panels.family(axis, {f"N = {count}": evidence.runs[depth.name_of(level, count)] for count in wanted})
        axis.set_title(f"depth L = {level}, no penalty")
    for axis, name in zip(axes[4:], (depth.LARGE_SHALLOW, depth.LARGE), strict=True):
        panels.errors(axis, evidence.runs[name])
        axis.set_title(name, pad=12)
    for axis in axes[:4]:
        axis.set_ylim(bottom=1e-5)
    panels.family_legend(axes[0])
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig17",
    title="Training and recovery error against the step, for each depth and number of measurements",
    claim="Depth 2 and 3 recover, in a staircase; a large start with small weight decay groks from depth 2 on.",
    source="Appendix F.1, Figure 17",
    seconds=30,
    settings=depth.SETTINGS,
    jobs=depth.jobs,
    claims=(depth.SHALLOW_FAILS, depth.DEEP_RECOVERS, depth.DEEPER, depth.LARGE_GROKS, depth.LARGE_SHALLOW_FAILS),
    draw=draw,
    notes=depth.NOTES,
)
