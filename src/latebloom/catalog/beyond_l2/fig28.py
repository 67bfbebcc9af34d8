"""Figure 28: errors and times against the number of measurements, for each sparsity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.base import Evidence, Experiment
from latebloom.catalog.beyond_l2 import sizes
from latebloom.catalog.beyond_l2.common import t1, t2
from latebloom.figures.style import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(evidence: Evidence) -> Figure:
    wanted = sizes.counts(evidence.request)
    figure, axes = canvas(2, 2, height=2.0)
    for sparsity, marker in zip(sizes.SPARSITIES, "os^D", strict=True):
        runs = [evidence.runs[sizes.name_of(sparsity, count)] for count in wanted]
        columns = (
            [run.final["train_error"] for run in runs],
            [run.final["test_error"] for run in runs],
            [t1(run) or np.nan for run in runs],
            [t2(run) or np.nan for run in runs],
        )
        for axis, values in zip(axes, columns, strict=True):
            axis.plot(wanted, values, marker=marker, label=f"s = {sparsity}")
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
    id="beyond-l2/fig28",
    title="Errors, memorisation and generalisation steps against the number of measurements, for each sparsity",
    claim="Smaller s needs a smaller N, and more measurements generalise sooner.",
    source="Appendix H.1, Figure 28",
    seconds=20,
    settings=sizes.SETTINGS,
    cells=sizes.cells,
    claims=(sizes.SMALLER, sizes.SOONER),
    draw=draw,
    notes=(*sizes.NOTES, "A missing point was not reached within the steps of its run."),
)
