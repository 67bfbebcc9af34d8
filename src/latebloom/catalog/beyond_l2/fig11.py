"""Figure 11: errors of a ReLU student of a ReLU teacher in Sobolev training."""

from __future__ import annotations

from latebloom.catalog.beyond_l2 import teacher_runs
from latebloom.catalog.beyond_l2.teacher_runs import ONE, SOBOLEV
from latebloom.catalog.old_base import Experiment

SOURCE = "Section 4, Figure 11"

EXPERIMENT = Experiment(
    id="beyond-l2/fig11",
    title="A ReLU student of a ReLU teacher in Sobolev training",
    claim="Fitting the slopes, too, makes the student generalise after it has memorised, earlier for larger β.",
    source=SOURCE,
    seconds=10,
    full_seconds=51,
    settings=teacher_runs.settings(SOBOLEV, ONE),
    jobs=lambda request: teacher_runs.grid_jobs(request, SOBOLEV, ONE, control=True),
    claims=(*teacher_runs.sobolev_claims(ONE, SOURCE), *teacher_runs.control_claims(SOBOLEV)),
    draw=lambda e: teacher_runs.draw_grid(e, SOBOLEV, ONE),
    notes=(*teacher_runs.NOTES, *teacher_runs.SOBOLEV_NOTES),
)
