"""Figure 34: errors of a ReLU student of a ReLU teacher in Sobolev training, over learning rates and strengths."""

from __future__ import annotations

from latebloom.catalog.beyond_l2 import teacher_runs
from latebloom.catalog.beyond_l2.teacher_runs import RATES, SOBOLEV
from latebloom.catalog.old_base import Experiment

SOURCE = "Appendix H.3.3, Figure 34"

EXPERIMENT = Experiment(
    id="beyond-l2/fig34",
    title="A ReLU student of a ReLU teacher in Sobolev training: learning rates and strengths",
    claim="Fitting the slopes, too, makes the student generalise after it has memorised, earlier for larger αβ.",
    source=SOURCE,
    seconds=12,
    full_seconds=143,
    settings=teacher_runs.settings(SOBOLEV, RATES),
    jobs=lambda request: teacher_runs.grid_jobs(request, SOBOLEV, RATES),
    claims=(*teacher_runs.sobolev_claims(RATES, SOURCE), *teacher_runs.rate_claims(SOBOLEV, SOURCE)),
    draw=lambda e: teacher_runs.draw_grid(e, SOBOLEV, RATES),
    notes=(*teacher_runs.NOTES, *teacher_runs.SOBOLEV_NOTES),
)
