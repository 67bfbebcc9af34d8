"""What Figures 12 and 13 share: another iteration on the problem of Figure 3, beside the subgradient method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.beyond_l2.common import sparse_job, truth_of
from latebloom.catalog.old_base import Claim, Evidence, Measured, Request, at_most, within
from latebloom.figures.look import GREY, canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.training import TrainJob
    from latebloom.methods import AbstractMethod

OTHER, SUBGRADIENT = "this method", "subgradient"


def jobs(request: Request, method: AbstractMethod) -> dict[str, TrainJob]:
    return {OTHER: sparse_job(request.seed, method=method), SUBGRADIENT: sparse_job(request.seed)}


def same_time(evidence: Evidence) -> Measured:
    other, reference = (evidence.runs[name].t2 for name in (OTHER, SUBGRADIENT))
    return within(other / reference if other and reference else None, 0.95, 1.05)


def l1_gap(evidence: Evidence) -> Measured:
    goal = float(np.abs(truth_of(evidence, OTHER)).sum())
    return at_most(abs(evidence.runs[OTHER].final["l1_norm"] - goal) / goal, 1e-2)


SHARED_CLAIMS = (
    Claim(
        "same-generalisation",
        "The same grokking pattern as with the subgradient method: generalisation is driven by h.",
        "Appendix D.1",
        "t2 over the subgradient method's t2 between 0.95 and 1.05",
        same_time,
        rate=0.8,
    ),
    Claim(
        "recovers",
        "The iterates converge to a*.",
        "Appendix D.1",
        "recovery error at the end at most 1e-3",
        lambda e: at_most(e.runs[OTHER].final["test_error"], 1e-3),
        rate=0.8,
    ),
    Claim(
        "l1-norm-converges",
        "|a|_1 converges to |a*|_1.",
        "Appendix D.1",
        "relative gap at the end at most 1e-2",
        l1_gap,
        rate=0.8,
    ),
)


def draw(evidence: Evidence) -> Figure:
    run, reference, truth = evidence.runs[OTHER], evidence.runs[SUBGRADIENT], truth_of(evidence, OTHER)
    figure, (errors, norm, components) = canvas(1, 3, height=2.1)
    errors.plot(reference["step"], reference["test_error"], color=GREY, linewidth=0.8, label="subgradient, recovery")
    panels.errors(errors, run)
    panels.norm(norm, run, "l1_norm", r"$|a|_1$", [(float(np.abs(truth).sum()), r"$|a^*|_1$")])
    panels.components(components, run, truth)
    return figure
