"""Figure 32: errors of a ReLU student under l2, over learning rates and strengths."""

from __future__ import annotations

from latebloom.catalog.beyond_l2 import teacher_runs
from latebloom.catalog.beyond_l2.teacher_runs import L2, RATES
from latebloom.catalog.old_base import Experiment

SOURCE = "Appendix H.3.2, Figure 32"

EXPERIMENT = Experiment(
    id="beyond-l2/fig32",
    title="A ReLU student of a ReLU teacher under l2: learning rates and strengths",
    claim="A larger learning rate or strength of l2 makes the late drop of the test error earlier.",
    source=SOURCE,
    seconds=10,
    full_seconds=66,
    settings=teacher_runs.settings(L2, RATES),
    jobs=lambda request: teacher_runs.grid_jobs(request, L2, RATES),
    claims=(*teacher_runs.norm_claims(L2, RATES, SOURCE), *teacher_runs.rate_claims(L2, SOURCE)),
    draw=lambda e: teacher_runs.draw_grid(e, L2, RATES),
    notes=(*teacher_runs.NOTES, "The penalty is squared: β |W|² is our L2(2β)."),
)
