"""Figure 17: errors against the step for each depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.base import Evidence, Experiment
from latebloom.catalog.beyond_l2 import depth
from latebloom.figures import panels
from latebloom.figures.style import canvas, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(2, 3, height=2.0)
    wanted = depth.counts(evidence.request)
    for axis, level in zip(axes, depth.DEPTHS, strict=False):
        for count, colour in zip(wanted, shades(len(wanted)), strict=True):
            run = evidence.runs[depth.name_of(level, count)]
            axis.plot(run["step"], run["test_error"], color=colour, label=f"N = {count}")
            axis.plot(run["step"], run["train_error"], color=colour, linewidth=0.7, linestyle=":")
        axis.set_title(f"depth L = {level}, no penalty")
    for axis, name in zip(axes[4:], (depth.LARGE_SHALLOW, depth.LARGE), strict=True):
        panels.errors(axis, evidence.runs[name])
        axis.set_title(name)
    for axis in axes:
        axis.set_yscale("log")
        axis.set_ylim(bottom=1e-5)
        panels.log_steps(axis)
        axis.set_ylabel("relative error")
    axes[0].legend(fontsize=5, title="recovery (train dotted)", title_fontsize=5)
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig17",
    title="Training and recovery error against the step, for each depth and number of measurements",
    claim="Depth 2 and 3 recover, in a staircase; a large start with small weight decay groks from depth 2 on.",
    source="Appendix F.1, Figure 17",
    seconds=30,
    settings=depth.SETTINGS,
    cells=depth.cells,
    claims=(depth.SHALLOW_FAILS, depth.DEEP_RECOVERS, depth.DEEPER, depth.LARGE_GROKS, depth.LARGE_SHALLOW_FAILS),
    draw=draw,
    notes=depth.NOTES,
)
