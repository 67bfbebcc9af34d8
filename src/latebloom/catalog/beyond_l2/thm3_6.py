"""Theorem 3.6: the geometric rate of weight decay, and the error it cannot get below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.beyond_l2 import weight_decay
from latebloom.catalog.beyond_l2.common import LEARNING_RATE, problem_of
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, at_least, at_most, within
from latebloom.figures.look import NORM, TEST, THEORY, canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = weight_decay.NAME


def distances(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """|a(t) - â| as measured and the theorem's bound, at every record."""
    run, problem = evidence.runs[NAME], problem_of(evidence, NAME)
    size = np.linalg.norm(lb.theory.L2Iteration(problem, LEARNING_RATE, weight_decay.WEIGHT_DECAY).limit)
    bound = lb.theory.L2Iteration(problem, LEARNING_RATE, weight_decay.WEIGHT_DECAY).distance_bound(run["step"])
    return run["distance_to_limit"] * size, np.asarray(bound)


def bound_holds(evidence: Evidence) -> Measured:
    measured, bound = distances(evidence)
    return at_most(float(np.max(measured / bound)), 1 + 1e-9)


def rate_is_sharp(evidence: Evidence) -> Measured:
    """The measured rate between the middle and the end, over the theorem's: log over log."""
    measured, _ = distances(evidence)
    steps = evidence.runs[NAME]["step"]
    late = (steps > 1e5) & (steps < 8e6)
    slope = np.polyfit(steps[late], np.log(measured[late]), 1)[0]
    rate = lb.theory.L2Iteration(problem_of(evidence, NAME), LEARNING_RATE, weight_decay.WEIGHT_DECAY).rate
    return within(float(slope / np.log(rate)), 0.999, 1.001)


def floor_ratio(evidence: Evidence) -> float:
    """The limit's recovery error over the lower bound."""
    problem = problem_of(evidence, NAME)
    limit = lb.theory.L2Iteration(problem, LEARNING_RATE, weight_decay.WEIGHT_DECAY).limit
    return float(np.linalg.norm(limit - np.asarray(problem.truth)) / lb.theory.ridge_error_floor(problem))


CLAIMS = (
    Claim(
        "geometric-bound",
        "|a(t) - â| ≤ ρ₂^t |a(0) - â| for all t.",
        "Theorem 3.6",
        "largest measured distance over bound at most 1, up to rounding",
        bound_holds,
    ),
    Claim(
        "sharp-rate",
        "The rate ρ₂ is sharp; for N < n it is 1-αβ, the factor on the kernel of X.",
        "Theorem 3.6",
        "measured log-rate over log ρ₂ between 0.999 and 1.001",
        rate_is_sharp,
    ),
    Claim(
        "lower-bound",
        "|â - a*| is at least the norm of the part of a* in the kernel of X.",
        "Theorem 3.6",
        "limit's error over the bound at least 1",
        lambda e: at_least(floor_ratio(e), 1 - 1e-12),
    ),
    Claim(
        "lower-bound-is-tight",
        "The lower bound is attained up to noise and the bias of β.",
        "Theorem 3.6",
        "limit's error over the bound at most 1.001",
        lambda e: at_most(floor_ratio(e), 1.001),
    ),
)


def draw(evidence: Evidence) -> Figure:
    run, (measured, bound) = evidence.runs[NAME], distances(evidence)
    figure, (distance, error) = canvas(1, 2, height=2.4)
    distance.plot(run["step"], measured, color=NORM, label=r"$|a(t) - \hat a|$")
    distance.plot(run["step"], bound, "--", color=THEORY, linewidth=0.9, label=r"$\rho_2^t\,|a(0) - \hat a|$")
    distance.set_yscale("log")
    distance.set_xlabel(panels.STEP_LABEL)
    distance.set_ylabel("distance to the limit")
    distance.legend()
    truth = np.linalg.norm(np.asarray(problem_of(evidence, NAME).truth))
    floor = lb.theory.ridge_error_floor(problem_of(evidence, NAME)) / truth
    error.plot(run["step"], run["test_error"], color=TEST, label="recovery error")
    error.axhline(float(floor), color=THEORY, linestyle="--", linewidth=0.9, label="lower bound")
    error.set_yscale("log")
    panels.log_steps(error)
    error.set_ylabel("relative recovery error")
    error.legend()
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/thm3.6",
    title="Theorem 3.6: rate and lower bound of weight decay",
    claim="Weight decay converges at the geometric rate ρ₂ to a point whose error has a tight lower bound.",
    source="Theorem 3.6, Appendix C.8",
    seconds=8,
    settings=weight_decay.SETTINGS | {"initial scale ζ": "|a(1)| = 10"},
    jobs=lambda request: weight_decay.jobs(request, init_kind="sphere"),
    claims=CLAIMS,
    draw=draw,
    notes=weight_decay.NOTES,
)
