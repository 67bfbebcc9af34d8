"""What the entries on matrices and flows share: the printed settings, the standard runs, and small measurements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog.measures import completion as draw_completion
from latebloom.catalog.measures import matrix_problem, oracle
from latebloom.catalog.old_base import Evidence, Measured, Request, at_most

if TYPE_CHECKING:
    from latebloom.engine.training import TrainJob
    from latebloom.flows import FlowJob
    from latebloom.problems import AbstractMatrix, AbstractProblem, MatrixCompletion

LEARNING_RATE = 1e-2
WEIGHT_DECAY = 1e-3
UNTIL = 1e5
RANK = 3
MEMORISED = GENERALISED = 1e-2
RECOVERED = 1e-2  # a relative error that the bias of a weight decay of 1e-3 allows on recoverable draws
AT_ORACLE = 2e-2  # the same bias on draws that are barely decided
ITERATED = 100_000  # steps of the paper's iteration that are made beside the flow: time 1e3 = 1/λ
FLOW, WITHOUT, ITERATION = "flow", "without weight decay", "iteration"
PRINTED: dict[str, Any] = {
    "shape n x m": "20 x 20",
    "rank": RANK,
    "observed": "200 (50 %)",
    "factors U, V": "20 x 10, entries N(0, 1)",
    "loss F": "sum of squares over the observed entries",
    "weight decay λ": WEIGHT_DECAY,
    "learning rate γ": LEARNING_RATE,
    "time": f"{UNTIL:g} (1e7 steps), as gradient flow",
    "planted matrix": "product of Gaussian factors, Frobenius norm 20",
}
SEED = 68
SEED_REASON = (
    "the first draw on which the minimum nuclear-norm interpolator is the planted matrix; "
    "among seeds 0 to 419 there is one more, 241"
)
ORACLE_NOTE = (
    "At 50 % observed the minimum nuclear-norm interpolator is the planted matrix in 2 of the first 420 draws. The "
    "flow ends at the interpolator on every draw, recoverable or not: the draw shown was chosen by the oracle."
)
FLOW_NOTE = (
    f"The flow stands for the paper's 1e7 steps. At the printed step the iteration's first steps are not small (step "
    f"times sharpness is above 1): it is compared with the flow for {ITERATED:,} steps."
)


def completion(seed: int) -> MatrixCompletion:
    """The problem of Figure 2."""
    return draw_completion(
        seed,
        shape=(20, 20),
        rank=RANK,
        observed=200,
        truth_kind="gaussian",
        truth_norm=20.0,
        width=10,
        init_scale=1.0,
        weight=2.0,
    )


def flow_job(problem: AbstractProblem, weight_decay: float, until: float = UNTIL, **job: Any) -> FlowJob:
    """A flow with weight decay; a zero one is kept as a penalty, so that both share a compiled program."""
    return lb.FlowJob(problem, lb.L2(weight_decay), time=until, solver="rkc", **job)


def completion_jobs(request: Request) -> dict[str, TrainJob | FlowJob]:
    """The flow of Figure 2, the same without weight decay, and the paper's iteration on a shorter horizon."""
    problem, method = completion(request.seed), lb.GradientDescent(LEARNING_RATE)
    watch: dict[str, Any] = {"memorised_at": MEMORISED, "generalised_at": GENERALISED}
    probes = lb.probes.SingularValues(), lb.probes.Components()
    return {
        FLOW: flow_job(problem, WEIGHT_DECAY, probes=probes, learning_rate=LEARNING_RATE, **watch),
        WITHOUT: flow_job(problem, 0.0, probes=probes, learning_rate=LEARNING_RATE, **watch),
        ITERATION: lb.TrainJob(problem, method, lb.L2(WEIGHT_DECAY), steps=ITERATED, probes=probes, **watch),
    }


def end_of(evidence: Evidence, name: str) -> np.ndarray:
    """The matrix at which a run ends."""
    return np.asarray(matrix_problem(evidence, name).end_to_end(evidence.runs[name].params))


def distance_to_oracle(problem: AbstractMatrix, matrix: np.ndarray) -> Measured:
    """The relative distance of a matrix to the minimum nuclear-norm interpolator."""
    answer = oracle(problem)
    if not answer.solved:
        return Measured(None, False)
    return at_most(float(np.linalg.norm(matrix - answer.solution) / np.linalg.norm(answer.solution)), AT_ORACLE)


def ends_at_oracle(evidence: Evidence, name: str = FLOW) -> Measured:
    return distance_to_oracle(matrix_problem(evidence, name), end_of(evidence, name))


def agrees_with_oracle(evidence: Evidence, name: str = FLOW) -> Measured:
    """The flow recovers exactly if the oracle says that the draw is recoverable."""
    run = evidence.runs[name].final["test_error"] <= RECOVERED
    word = oracle(matrix_problem(evidence, name)).recovery == "recovered"
    return Measured({"flow": run, "oracle": word}, run == word)


def where_recoverable(check: Callable[[Evidence], Measured]) -> Callable[[Evidence], Measured]:
    """A check that speaks of recoverable draws only: of another one it says so, and holds."""

    def measured(evidence: Evidence) -> Measured:
        word = oracle(matrix_problem(evidence, FLOW)).recovery
        return check(evidence) if word == "recovered" else Measured(word, True)

    return measured
