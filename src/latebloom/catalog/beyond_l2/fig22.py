"""Figure 22: errors and times against the number of measurements, for each coherence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.beyond_l2 import coherent_runs
from latebloom.catalog.old_base import Evidence, Experiment
from latebloom.figures.look import canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(2, 2, height=2.0)
    wanted = coherent_runs.counts(evidence.request)
    for tau in coherent_runs.TAUS:
        times = [coherent_runs.mean_time(evidence, n, tau) for n in wanted]
        columns = (
            [coherent_runs.mean_over_draws(evidence, n, tau, "train_error") for n in wanted],
            [coherent_runs.mean_over_draws(evidence, n, tau, "test_error") for n in wanted],
            [evidence.runs[coherent_runs.name_of(n, tau, 0)].t1 for n in wanted],
            [time if np.isfinite(time) else None for time in times],
        )
        panels.against_count(axes, wanted, rf"$\tau$ = {tau:g}", columns)
    axes[0].legend(fontsize=6, ncols=2)
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig22",
    title="Errors, memorisation and generalisation steps against the number of measurements, for each coherence",
    claim="Generalisation time and error grow with coherence.",
    source="Appendix G.1.3, Figure 22",
    seconds=25,
    settings=coherent_runs.SETTINGS,
    jobs=coherent_runs.jobs,
    claims=(
        coherent_runs.LATER,
        coherent_runs.ERROR_AS_PRINTED,
        coherent_runs.ERROR_GROWS,
        coherent_runs.IMPOSSIBLE_AS_PRINTED,
        coherent_runs.ONLY_THE_SUPPORT,
    ),
    draw=draw,
    notes=(*coherent_runs.NOTES, "A missing point did not generalise in at least one draw."),
)
