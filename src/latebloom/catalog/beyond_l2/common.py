"""What the entries on sparse recovery share: the printed settings, the standard run, and small measurements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog.old_base import Evidence, Measured

if TYPE_CHECKING:
    from latebloom.engine.run import Run
    from latebloom.engine.training import TrainJob
    from latebloom.flows import SlowPath
    from latebloom.methods import AbstractMethod
    from latebloom.penalties import AbstractPenalty
    from latebloom.problems import AbstractLinear, SparseRecovery

LEARNING_RATE = 0.1
STRENGTH = 1e-5
ETAS = np.geomspace(1e-3, 1.0, 25)  # the precisions at which the delays of Theorems 3.1 and 3.4 are tried
PRINTED: dict[str, Any] = {
    "dimension n": 100,
    "sparsity s": 5,
    "measurements N": 30,
    "learning rate α": LEARNING_RATE,
    "l1 strength β": STRENGTH,
    "initial scale ζ": 1e-6,
    "signal to noise": 1e8,
}
COLUMNS_NOTE = (
    "The measurements have columns of unit norm on average (variance 1/N). As printed (variance 1/n) the l1 term "
    "holds the training error near 1e-3 of |y| and memorisation is n/N times slower; the slow phase is the same."
)
THRESHOLD_NOTE = (
    "Milestones are taken at a relative error of 1e-3: the printed 1e-4 is below the l1 bias at this β plus the noise."
)


def sparse_job(
    seed: int,
    *,
    method: AbstractMethod | None = None,
    steps: int = 400_000,
    strength: float = STRENGTH,
    **problem: Any,
) -> TrainJob:
    """A run of l1-regularised descent on a sparse-recovery problem, with the probes of Figure 3."""
    probes = lb.probes.GradientRatio(), lb.probes.Components(), lb.probes.SupportNorm(), lb.probes.OffSupportNorm()
    return lb.TrainJob(
        lb.problems.SparseRecovery(seed=seed, **problem),
        lb.GradientDescent(LEARNING_RATE) if method is None else method,
        lb.L1(strength),
        steps=steps,
        probes=probes,
    )


def loose_job(seed: int, *, steps: int, **problem: Any) -> TrainJob:
    """A run on measurements of variance 1/n, with milestones at the 1e-2 that the l1 bias allows for every size."""
    return lb.TrainJob(
        lb.problems.SparseRecovery(seed=seed, normalise="rows", **problem),
        lb.GradientDescent(LEARNING_RATE),
        lb.L1(STRENGTH),
        steps=steps,
        memorised_at=1e-2,
        generalised_at=1e-2,
    )


def problem_of(evidence: Evidence, name: str) -> SparseRecovery:
    """The problem that a run was made on."""
    problem = evidence.jobs[name].problem
    assert isinstance(problem, lb.problems.SparseRecovery)
    return problem


def truth_of(evidence: Evidence, name: str) -> np.ndarray:
    """The planted vector of a run's problem."""
    return np.asarray(problem_of(evidence, name).truth)


@lru_cache(maxsize=64)  # the claim and the figure ask for the same draw
def l1_path(problem: AbstractLinear) -> SlowPath:
    """The slow flow of the l1 norm on a draw."""
    return lb.flows.l1_path(problem)


def t2_predicted(evidence: Evidence, name: str, path: SlowPath, tolerance: float) -> Measured:
    """Predicted over measured t2, less one; of a run without t2, whether none was predicted before its end."""
    job, run = evidence.jobs[name], evidence.runs[name]
    assert isinstance(job, lb.TrainJob)
    rate = float(job.method.learning_rate)  # type: ignore[attr-defined]
    step = lb.theory.predicted_t2(job.problem, rate, job.penalty, threshold=job.generalised_at, path=path).step
    measured = run.t2
    if measured is None:
        return Measured({"predicted": step, "measured": None}, step > (1 - tolerance) * job.steps)
    return Measured(step / measured - 1, abs(step / measured - 1) <= tolerance)


def ends_and_times(runs: Sequence[Run]) -> tuple[Sequence[float | None], ...]:
    """Final train error, final test error, t1 and t2 of every run."""
    ends = ([run.final[column] for run in runs] for column in ("train_error", "test_error"))
    return (*ends, [run.t1 for run in runs], [run.t2 for run in runs])


def times_to_gap(
    run: Run, gaps: np.ndarray, problem: AbstractLinear, learning_rate: float, penalty: AbstractPenalty
) -> tuple[np.ndarray, np.ndarray]:
    """For every η of `ETAS`: the first record after t1 with a gap of at most η/2, and the theorem's t1 + Δt(η)."""
    start = run.t1 or 0
    after = run["step"] >= start
    reached = [np.flatnonzero(gaps[after] <= eta / 2) for eta in ETAS]
    measured = [run["step"][after][hits[0]] if len(hits) else np.inf for hits in reached]
    params = run["components"][after][0].reshape(problem.truth.shape)
    delays = [lb.theory.generalisation_delay(problem, learning_rate, penalty, eta=eta, params=params) for eta in ETAS]
    return np.array(measured, dtype=float), start + np.array([delay.step for delay in delays])
