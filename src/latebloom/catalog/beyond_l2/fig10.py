"""Figure 10: errors of a ReLU student of a ReLU teacher under l1."""

from __future__ import annotations

from latebloom.catalog.beyond_l2 import teacher_runs
from latebloom.catalog.beyond_l2.teacher_runs import L1, ONE
from latebloom.catalog.old_base import Experiment

SOURCE = "Section 4, Figure 10"

EXPERIMENT = Experiment(
    id="beyond-l2/fig10",
    title="A ReLU student of a ReLU teacher under l1",
    claim="Under l1 the test error falls long after memorisation, later for smaller β: to a plateau.",
    source=SOURCE,
    seconds=12,
    full_seconds=118,
    settings=teacher_runs.settings(L1, ONE),
    jobs=lambda request: teacher_runs.grid_jobs(request, L1, ONE, control=True),
    claims=(*teacher_runs.norm_claims(L1, ONE, SOURCE), *teacher_runs.control_claims(L1)),
    draw=lambda e: teacher_runs.draw_grid(e, L1, ONE),
    notes=teacher_runs.NOTES,
)
