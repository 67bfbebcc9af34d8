"""What the entries on low-rank matrices share: the printed settings, the standard run, the oracle's word on a draw."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog.measures import matrix_problem, oracle
from latebloom.catalog.old_base import Evidence, Measured, at_most

if TYPE_CHECKING:
    from latebloom.engine.training import TrainJob
    from latebloom.flows import SlowPath
    from latebloom.methods import AbstractMethod
    from latebloom.penalties import AbstractPenalty
    from latebloom.problems import AbstractMatrix

LEARNING_RATE = 0.1
STRENGTH = 1e-4
STEPS = 300_000
RECOVERED = 1e-2  # a relative error that the bias of the penalty at this strength allows on every recoverable draw
PRINTED: dict[str, Any] = {
    "shape n1 x n2": "10 x 10",
    "rank r": 2,
    "observed N": 70,
    "learning rate α": LEARNING_RATE,
    "nuclear strength β": STRENGTH,
    "initial scale ζ": 1e-6,
    "noise": "none",
}
SEED = 10
SEED_REASON = (
    "the first draw on which the minimum nuclear-norm interpolator is the planted matrix, "
    "with room to spare for the bias of the penalty"
)
ORACLE_NOTE = (
    "Minimising the nuclear norm recovers about a quarter of the draws at these sizes. What a run can be held to is "
    "the oracle's answer on the same draw: it ends there, recoverable or not."
)
BIAS_NOTE = (
    "At a finite β the iteration ends at a distance of order β from the minimum nuclear-norm interpolator, a large "
    f"one on draws that are barely recoverable: a run counts as recovered below a relative error of {RECOVERED:g}."
)


def nuclear_job(
    problem: AbstractMatrix,
    *,
    method: AbstractMethod | None = None,
    penalty: AbstractPenalty | None = None,
    strength: float = STRENGTH,
    steps: int = STEPS,
    **job: Any,
) -> TrainJob:
    """A run of descent with a nuclear-norm penalty (or another one), with the probes of Figure 5."""
    probes = (
        lb.probes.GradientRatio(),
        lb.probes.SingularValues(),
        lb.probes.NuclearNormOfMatrix(),
        lb.probes.Components(),
    )
    return lb.TrainJob(
        problem,
        lb.GradientDescent(LEARNING_RATE) if method is None else method,
        lb.NuclearNorm(strength) if penalty is None else penalty,
        steps=steps,
        probes=probes,
        **job,
    )


def nuclear_norm(matrix: np.ndarray) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


@lru_cache(maxsize=64)
def slow_path(problem: AbstractMatrix) -> SlowPath:
    """The slow flow of the nuclear norm on a draw."""
    return lb.flows.nuclear_path(problem)


def recovered(evidence: Evidence, name: str) -> bool:
    """Whether a run ends at the planted matrix, up to the bias of the penalty."""
    return evidence.runs[name].final["test_error"] <= RECOVERED


def oracle_verdict(evidence: Evidence, name: str) -> Measured:
    """The oracle's word: whether the minimum nuclear-norm interpolator is the planted matrix."""
    word = oracle(matrix_problem(evidence, name)).recovery
    return Measured(word, word == "recovered")


def agrees_with_oracle(evidence: Evidence, name: str) -> Measured:
    """The run recovers exactly if the oracle says that the draw is recoverable."""
    run, word = recovered(evidence, name), oracle_verdict(evidence, name).holds
    return Measured({"run": run, "oracle": word}, run == word)


def distance_to_oracle(evidence: Evidence, name: str) -> Measured:
    """The relative distance of a run's end to the oracle's matrix."""
    answer = oracle(matrix_problem(evidence, name))
    if not answer.solved:
        return Measured(None, False)
    gap = np.linalg.norm(evidence.runs[name].params - answer.solution) / np.linalg.norm(answer.solution)
    return at_most(float(gap), 2 * RECOVERED)
