"""What Figures 7, 16 and Theorem 3.6 share: weight decay alone, from a large start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.beyond_l2.common import LEARNING_RATE, PRINTED, problem_of
from latebloom.catalog.old_base import Claim, Evidence, Measured, Request, at_least, at_most, within

if TYPE_CHECKING:
    from latebloom.engine.training import TrainJob
    from latebloom.theory import L2Iteration

NAME = "l2 only"
WEIGHT_DECAY = 1e-5
STEPS = 12_000_000  # the drop comes at log(|a0|/|â|)/(αβ), about 4.5e6
SETTINGS = {k: v for k, v in PRINTED.items() if "l1" not in k} | {"weight decay β": WEIGHT_DECAY, "steps": STEPS}
NOTES = (
    "Gradient descent with l2 has a closed form on this problem; it is drawn dashed and checked against the run.",
    "12 million steps are made all the same: they cost a few seconds.",
)


def jobs(request: Request, *, init_kind: str) -> dict[str, TrainJob]:
    """One run from a start of norm 10, with the distance to its limit measured along the way."""
    problem = lb.problems.SparseRecovery(init_kind=init_kind, init_scale=10.0, seed=request.seed)
    limit = lb.theory.L2Iteration(problem, LEARNING_RATE, WEIGHT_DECAY).limit
    probes = (lb.probes.DistanceTo("limit", limit),)
    return {
        NAME: lb.TrainJob(problem, lb.GradientDescent(LEARNING_RATE), lb.L2(WEIGHT_DECAY), steps=STEPS, probes=probes)
    }


def closed_form(evidence: Evidence) -> L2Iteration:
    return lb.theory.L2Iteration(problem_of(evidence, NAME), LEARNING_RATE, WEIGHT_DECAY)


def drop(evidence: Evidence) -> Measured:
    """The recovery error at memorisation over the one at the end."""
    run = evidence.runs[NAME]
    plateau = run.record(step=1000)["test_error"]
    return at_least(float(plateau / run.final["test_error"]), 10)


def drop_time(evidence: Evidence) -> Measured:
    """The step at which the norm has fallen to √2 times its limit, over the prediction log(|P a0|/|â|)/(αβ)."""
    run, exact = evidence.runs[NAME], closed_form(evidence)
    limit = float(np.linalg.norm(exact.limit))
    reached = np.flatnonzero(run["l2_norm"] <= np.sqrt(2) * limit)
    return within(float(run["step"][reached[0]] / exact.drop_step) if len(reached) else None, 0.95, 1.05)


def agrees(evidence: Evidence) -> Measured:
    """The largest relative difference of run and closed form in the recovery error, over all records."""
    run = evidence.runs[NAME]
    exact = closed_form(evidence).test_error(run["step"])
    return at_most(float(np.max(np.abs(run["test_error"] - exact) / exact)), 1e-9)


CLAIMS = (
    Claim(
        "late-drop",
        "There is an abrupt late transition in the generalisation error, driven by the l2 norm.",
        "Section 3.3, Appendix E",
        "recovery error after memorisation over that at the end at least 10",
        drop,
    ),
    Claim(
        "without-understanding",
        "The transition does not result in convergence to the truth: grokking without understanding.",
        "Section 3.3",
        "relative recovery error at the end between 0.7 and 0.95",
        lambda e: within(e.runs[NAME].final["test_error"], 0.7, 0.95),
        rate=0.9,
    ),
    Claim(
        "drop-time",
        "The drop comes when the start has decayed to the size of the least-squares solution.",
        "Theorem 3.6: the factor (1-αβ)^t on the kernel of X",
        "step at which |a| is √2 |â|, over log(|P a0|/|â|)/(αβ), between 0.95 and 1.05",
        drop_time,
    ),
    Claim(
        "closed-form",
        "a(t) - â = (I - α(XᵀX + βI))^t (a(0) - â), at every recorded step.",
        "Appendix C.8",
        "largest relative difference of the recovery errors at most 1e-9",
        agrees,
    ),
)
