"""Figure 33: errors of a ReLU student under the nuclear norm, over learning rates and strengths."""

from __future__ import annotations

from latebloom.catalog.beyond_l2 import teacher_runs
from latebloom.catalog.beyond_l2.teacher_runs import NUCLEAR, RATES
from latebloom.catalog.old_base import Experiment

SOURCE = "Appendix H.3.2, Figure 33"

EXPERIMENT = Experiment(
    id="beyond-l2/fig33",
    title="A ReLU student of a ReLU teacher under the nuclear norm: learning rates and strengths",
    claim="A larger learning rate or strength of the nuclear norm makes the late drop of the test error earlier.",
    source=SOURCE,
    seconds=12,
    full_seconds=119,
    settings=teacher_runs.settings(NUCLEAR, RATES),
    jobs=lambda request: teacher_runs.grid_jobs(request, NUCLEAR, RATES),
    claims=(*teacher_runs.norm_claims(NUCLEAR, RATES, SOURCE), *teacher_runs.rate_claims(NUCLEAR, SOURCE)),
    draw=lambda e: teacher_runs.draw_grid(e, NUCLEAR, RATES),
    notes=teacher_runs.NOTES,
)
