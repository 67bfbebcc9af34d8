"""Figure 31: errors of a ReLU student under l1, over learning rates and strengths."""

from __future__ import annotations

from latebloom.catalog.beyond_l2 import teacher_runs
from latebloom.catalog.beyond_l2.teacher_runs import L1, RATES
from latebloom.catalog.old_base import Experiment

SOURCE = "Appendix H.3.2, Figure 31"

EXPERIMENT = Experiment(
    id="beyond-l2/fig31",
    title="A ReLU student of a ReLU teacher under l1: learning rates and strengths",
    claim="A larger learning rate or strength of l1 makes the late drop of the test error earlier.",
    source=SOURCE,
    seconds=12,
    full_seconds=71,
    settings=teacher_runs.settings(L1, RATES),
    jobs=lambda request: teacher_runs.grid_jobs(request, L1, RATES),
    claims=(*teacher_runs.norm_claims(L1, RATES, SOURCE), *teacher_runs.rate_claims(L1, SOURCE)),
    draw=lambda e: teacher_runs.draw_grid(e, L1, RATES),
    notes=teacher_runs.NOTES,
)
