"""Theorem 3.1: memorisation near the least-squares solution, then |a|_1 falls within Δt = |a - a*|²/(αβη)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.beyond_l2.common import (
    COLUMNS_NOTE,
    ETAS,
    LEARNING_RATE,
    PRINTED,
    STRENGTH,
    problem_of,
    sparse_job,
    times_to_gap,
    truth_of,
)
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, Study, at_least, at_most
from latebloom.figures.look import NORM, TEST, THEORY, TRAIN, canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.training import TrainJob

NAME, CONSTANTS = "l1", "constants"


def jobs(request: Request) -> dict[str, TrainJob]:
    return {NAME: sparse_job(request.seed)}


def measure_constants(seed: int) -> dict[str, np.ndarray]:
    problem = lb.problems.SparseRecovery(seed=seed)
    support = np.flatnonzero(np.asarray(problem.truth))
    rho = lb.theory.null_space_constant(np.asarray(problem.design), support)
    return {"rho": np.array([rho]), "cl": np.array([lb.theory.cl_constant_linear(problem)])}


def studies(request: Request):
    configuration = {"experiment": "beyond-l2/thm3.1", "version": 1, "seed": request.seed}
    return (Study(CONSTANTS, configuration, lambda: measure_constants(request.seed)),)


def row_distance(evidence: Evidence) -> np.ndarray:
    """|P(a(t) - â)| at every record, with P the projection on the row space of X."""
    problem = problem_of(evidence, NAME)
    _, _, rows = np.linalg.svd(np.asarray(problem.design), full_matrices=False)
    gaps = evidence.runs[NAME]["components"] - lb.oracles.min_norm(problem).solution
    return np.linalg.norm(gaps @ rows.T, axis=1)


def conditions_hold(evidence: Evidence) -> Measured:
    conditions = lb.theory.conditions(problem_of(evidence, NAME), LEARNING_RATE, lb.L1(STRENGTH))
    decided = {c.name: bool(c.holds) for c in conditions if c.name in {"learning_rate", "strength"}}
    return Measured(decided, all(decided.values()))


def bound_as_printed(evidence: Evidence) -> Measured:
    radius = lb.theory.memorisation_radius(problem_of(evidence, NAME), LEARNING_RATE, lb.L1(STRENGTH), as_printed=True)
    return Measured("infinite" if not np.isfinite(radius) else float(radius), bool(np.isfinite(radius)))


def bound_in_row_space(evidence: Evidence) -> Measured:
    """The largest |P(a(t) - â)| after t1 of Eq. 78, over the bound 2αβ√n/(1-ρ₂)."""
    problem, run = problem_of(evidence, NAME), evidence.runs[NAME]
    start = lb.theory.memorisation_step(problem, LEARNING_RATE, lb.L1(STRENGTH)).step
    radius = lb.theory.memorisation_radius(problem, LEARNING_RATE, lb.L1(STRENGTH))
    return at_most(float(row_distance(evidence)[run["step"] >= start].max() / radius), 1.0)


def predicts_memorisation(evidence: Evidence) -> Measured:
    """t1 of Eq. 78 over the measured t1 (relative training error 1e-3)."""
    predicted = lb.theory.memorisation_step(problem_of(evidence, NAME), LEARNING_RATE, lb.L1(STRENGTH)).step
    measured = evidence.runs[NAME].t1
    ratio = predicted / measured if measured else None
    return Measured(ratio, ratio is not None and bool(0.5 <= ratio <= 3))


def true_times(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """For every η: the first record after t1 with |a|_1 - |a*|_1 ≤ η/2, and t1 + Δt(η)."""
    run, problem = evidence.runs[NAME], problem_of(evidence, NAME)
    gaps = run["l1_norm"] - np.abs(truth_of(evidence, NAME)).sum()
    return times_to_gap(run, gaps, problem, LEARNING_RATE, lb.L1(STRENGTH))


def delay_is_enough(evidence: Evidence) -> Measured:
    measured, bound = true_times(evidence)
    return at_most(float(np.max(measured / bound)), 1.0)


def delay_is_needed(evidence: Evidence) -> Measured:
    """The smallest measured time over t1 + Δt(η): 1 if the delay were needed."""
    measured, bound = true_times(evidence)
    return at_least(float(np.min(measured / bound)), 0.5)


def null_space(evidence: Evidence) -> Measured:
    return at_most(float(evidence.tables[CONSTANTS]["rho"][0]), 1.0 - 1e-9)


def error_within_bound(evidence: Evidence) -> Measured:
    """|a - a*|_1 at the end over Theorem 3.3's bound from the null-space constants."""
    problem, run = problem_of(evidence, NAME), evidence.runs[NAME]
    rho = float(evidence.tables[CONSTANTS]["rho"][0])
    if rho >= 1:
        return Measured(None, False)
    tau = lb.theory.robust_constant(np.asarray(problem.design), rho)
    bound = lb.theory.recovery_error_bound(problem, run.params, rho=rho, tau=tau)
    return at_most(float(np.abs(run.params - truth_of(evidence, NAME)).sum() / bound), 1.0)


CLAIMS = (
    Claim(
        "conditions",
        "The conditions 0 < ασ_max < 2 and 0 < β√n < σ_max hold at the settings of Figure 3.",
        "Theorem 3.1",
        "both hold",
        conditions_hold,
    ),
    Claim(
        "bound-as-printed",
        "|a(t) - â| ≤ 2αβ√n/(1-ρ₂) for all t ≥ t1.",
        "Theorem 3.1",
        "a finite bound; fails: ρ₂ = 1 exactly for N < n, the bound is infinite",
        bound_as_printed,
        documented=False,
    ),
    Claim(
        "bound-in-row-space",
        "Restricted to the row space of X, where ρ₂ < 1, the bound holds.",
        "corrects the previous claim",
        "largest |P(a(t) - â)| over the bound at most 1 after t1",
        bound_in_row_space,
    ),
    Claim(
        "memorisation-step",
        "The t1 of Eq. 78 (in the row space) is the measured one, up to a small factor.",
        "Theorem C.29, Eq. 78",
        "predicted over measured between 0.5 and 3",
        predicts_memorisation,
        rate=0.9,
    ),
    Claim(
        "delay-is-enough",
        "By t1 + Δt(η) the gap |a|_1 - |a*|_1 has fallen to η/2.",
        "Theorem 3.1",
        "measured over t1 + Δt(η) at most 1 for η from 1e-3 to 1",
        delay_is_enough,
        rate=0.8,
    ),
    Claim(
        "only-if-as-printed",
        "The gap falls to η/2 only if t ≥ t1 + Δt(η).",
        "Theorem 3.1 (the 'if and only if')",
        "measured over t1 + Δt(η) at least 0.5; fails: the true time saturates while Δt grows like 1/η",
        delay_is_needed,
        documented=False,
    ),
    Claim(
        "null-space-property",
        "X has the robust null-space property relative to the support of a*, so that Theorem 3.3 applies.",
        "Definition 3.2, Theorem 3.3",
        "constant ρ (linear programs) below 1",
        null_space,
        rate=0.7,
    ),
    Claim(
        "recovery-bound",
        "Then |a - a*|_1 is bounded by the l1 gap and the training error.",
        "Theorem 3.3, Appendix C.5",
        "error at the end over the bound at most 1",
        error_within_bound,
        rate=0.7,
    ),
)


def draw(evidence: Evidence) -> Figure:
    run, problem = evidence.runs[NAME], problem_of(evidence, NAME)
    figure, (left, right) = canvas(1, 2, height=2.5)
    left.plot(run["step"], row_distance(evidence), color=TRAIN, label=r"$|P_{row}(a(t) - \hat a)|$")
    gap = run["components"] - lb.oracles.min_norm(problem).solution
    left.plot(run["step"], np.linalg.norm(gap, axis=1), color=TEST, label=r"$|a(t) - \hat a|$")
    radius = lb.theory.memorisation_radius(problem, LEARNING_RATE, lb.L1(STRENGTH))
    left.axhline(radius, color=THEORY, linestyle="--", linewidth=0.9, label="bound in the row space")
    left.axvline(lb.theory.memorisation_step(problem, LEARNING_RATE, lb.L1(STRENGTH)).step, color=THEORY, linestyle=":")
    left.set_yscale("log")
    panels.log_steps(left)
    left.set_ylabel("distance to least squares")
    left.legend(loc="lower left")
    measured, bound = true_times(evidence)
    right.plot(ETAS, measured, "o", color=NORM, label="measured")
    right.plot(ETAS, bound, "--", color=THEORY, linewidth=0.9, label=r"$t_1 + \Delta t(\eta)$")
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xlabel(r"precision $\eta$")
    right.set_ylabel(r"steps until $|a|_1 - |a^*|_1 \leq \eta/2$")
    right.legend()
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/thm3.1",
    title="Theorems 3.1 and 3.3: conditions, bounds and times, with numbers",
    claim="Memorisation near least squares, then the l1 gap falls below η/2 by Δt = |a - a*|²/(αβη).",
    source="Theorems 3.1, 3.3 and C.29",
    seconds=5,
    settings=PRINTED,
    jobs=jobs,
    studies=studies,
    claims=CLAIMS,
    draw=draw,
    notes=(COLUMNS_NOTE, "The run is the one of beyond-l2/fig3."),
)
