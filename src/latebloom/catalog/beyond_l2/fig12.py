"""Figure 12: projected subgradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import latebloom as lb
from latebloom.catalog.beyond_l2 import methods
from latebloom.catalog.beyond_l2.common import COLUMNS_NOTE, LEARNING_RATE, PRINTED, THRESHOLD_NOTE
from latebloom.catalog.old_base import Claim, Experiment, Request, at_most, within

if TYPE_CHECKING:
    from latebloom.engine.training import TrainJob


def jobs(request: Request) -> dict[str, TrainJob]:
    return methods.jobs(request, lb.ProjectedSubgradient(LEARNING_RATE))


CLAIMS = (
    Claim(
        "one-step",
        "One training step is enough for the projected subgradient to get zero training error.",
        "Section 3.1, Appendix D.1",
        "t1 = 1",
        lambda e: within(e.runs[methods.OTHER].t1, 1, 1),
    ),
    Claim(
        "zero-error-throughout",
        "Every iterate after the first interpolates.",
        "Appendix D.1",
        "largest relative training error after step 1 at most 1e-12",
        lambda e: at_most(float(e.runs[methods.OTHER]["train_error"][1:].max()), 1e-12),
    ),
    *methods.SHARED_CLAIMS,
)

EXPERIMENT = Experiment(
    id="beyond-l2/fig12",
    title="Sparse recovery by projected subgradient descent",
    claim="One step memorises; the generalisation time is that of the subgradient method.",
    source="Appendix D.1, Figure 12",
    seconds=4,
    settings=PRINTED,
    jobs=jobs,
    claims=CLAIMS,
    draw=methods.draw,
    notes=(COLUMNS_NOTE, THRESHOLD_NOTE),
)
