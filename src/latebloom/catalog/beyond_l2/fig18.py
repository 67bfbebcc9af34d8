"""Figure 18: errors and times against the number of measurements, for each depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.base import Evidence, Experiment
from latebloom.catalog.beyond_l2 import depth
from latebloom.catalog.beyond_l2.common import t1, t2
from latebloom.figures.style import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = "os^D"


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(2, 2, height=2.0)
    wanted = depth.counts(evidence.request)
    for level, marker in zip(depth.DEPTHS, MARKERS, strict=True):
        runs = [evidence.runs[depth.name_of(level, count)] for count in wanted]
        columns = (
            [run.final["train_error"] for run in runs],
            [run.final["test_error"] for run in runs],
            [t1(run) or np.nan for run in runs],
            [t2(run) or np.nan for run in runs],
        )
        for axis, values in zip(axes, columns, strict=True):
            axis.plot(wanted, values, marker=marker, label=f"L = {level}")
    labels = (
        "train error at the end",
        "recovery error at the end",
        "memorisation step $t_1$",
        "generalisation step $t_2$",
    )
    for axis, label in zip(axes, labels, strict=True):
        axis.set_yscale("log")
        axis.set_xlabel("measurements $N$")
        axis.set_ylabel(label)
    axes[0].legend()
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig18",
    title="Errors, memorisation and generalisation steps against the number of measurements, for each depth",
    claim="Depth needs fewer measurements and more steps.",
    source="Appendix F.1, Figure 18",
    seconds=30,
    settings=depth.SETTINGS,
    cells=depth.cells,
    claims=(depth.FEWER, depth.LONGER, depth.SADDLE),
    draw=draw,
    notes=(*depth.NOTES, "A missing point was not reached within the steps of its run."),
)
