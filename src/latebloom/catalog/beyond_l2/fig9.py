"""Figure 9: depth replaces l1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.beyond_l2 import depth
from latebloom.catalog.old_base import Evidence, Experiment
from latebloom.figures.look import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = "os^D"


def draw(evidence: Evidence) -> Figure:
    figure, (axis,) = canvas(1, 1, width=3.6, height=2.5)
    for level, marker in zip(depth.DEPTHS, MARKERS, strict=True):
        errors = depth.final_errors(evidence, level)
        axis.plot(list(errors), list(errors.values()), marker=marker, label=f"depth L = {level}")
    axis.set_yscale("log")
    axis.set_xlabel("measurements $N$")
    axis.set_ylabel("recovery error at the end")
    axis.legend()
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig9",
    title="Recovery error against depth and number of measurements, without regularisation",
    claim="Depth recovers the sparse truth without l1, from a small start.",
    source="Section 3.5, Figure 9",
    seconds=40,
    settings=depth.SETTINGS,
    jobs=depth.jobs,
    claims=(depth.SHALLOW_FAILS, depth.DEEP_RECOVERS, depth.DEEPER, depth.SADDLE),
    draw=draw,
    notes=depth.NOTES,
)
