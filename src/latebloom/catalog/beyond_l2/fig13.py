"""Figure 13: iterative soft-thresholding (ISTA)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.beyond_l2 import methods
from latebloom.catalog.beyond_l2.common import (
    COLUMNS_NOTE,
    LEARNING_RATE,
    PRINTED,
    STRENGTH,
    THRESHOLD_NOTE,
    problem_of,
)
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_most

if TYPE_CHECKING:
    from latebloom.engine.training import TrainJob


def jobs(request: Request) -> dict[str, TrainJob]:
    return methods.jobs(request, lb.ProximalGradient(LEARNING_RATE))


def distance_to_lasso(evidence: Evidence) -> Measured:
    oracle = lb.oracles.lasso(problem_of(evidence, methods.OTHER), STRENGTH)
    if not oracle.solved:
        return Measured(None, False)
    distance = np.linalg.norm(evidence.runs[methods.OTHER].params - oracle.solution)
    return at_most(float(distance / np.linalg.norm(oracle.solution)), 1e-8)


CLAIMS = (
    Claim(
        "memorises-first",
        "The pattern is that of the subgradient case: memorisation first.",
        "Appendix D.1",
        "t1 at most 100 steps",
        lambda e: at_most(e.runs[methods.OTHER].t1, 100),
    ),
    Claim(
        "ends-at-lasso",
        "The proximal iteration converges to the minimiser of g + β|a|_1 itself.",
        "Appendix D.1",
        "relative distance to the Lasso oracle at most 1e-8",
        distance_to_lasso,
        rate=0.7,
    ),
    *methods.SHARED_CLAIMS,
)

EXPERIMENT = Experiment(
    id="beyond-l2/fig13",
    title="Sparse recovery by iterative soft-thresholding (ISTA)",
    claim="Proximal gradient descent groks at the same time as the subgradient method, and ends at the Lasso solution.",
    source="Appendix D.1, Figure 13",
    seconds=4,
    settings=PRINTED,
    jobs=jobs,
    claims=CLAIMS,
    draw=methods.draw,
    notes=(COLUMNS_NOTE, THRESHOLD_NOTE),
)
