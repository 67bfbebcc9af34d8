"""What a run's own records say: why it diverged or learned nothing, and how far theory speaks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.engine.stability import too_long
from latebloom.errors import warn
from latebloom.methods import AbstractMethod, GradientDescent, ProximalGradient
from latebloom.probes import GradientRatio
from latebloom.probes.health import COLLAPSED, DEFECT
from latebloom.problems import AbstractLinear

if TYPE_CHECKING:
    from latebloom.core.arrays import Params
    from latebloom.engine.run import Run
    from latebloom.engine.stability import Edge
    from latebloom.engine.training import TrainJob

FELT = 0.1  # a penalty with a smaller share of the loss's gradient is not what keeps a run from learning
NO_LOWER = 0.99  # a train error that ends above this share of a level is not below it


def learning_rate_of(method: AbstractMethod) -> float:
    """What turns steps into times; 1 for a method that has no such number."""
    return float(getattr(method, "learning_rate", None) or 1.0)


def largest_learning_rate(job: TrainJob) -> float:
    """`2/σ_max(XᵀX)` for gradient steps on a linear problem, infinite where no such limit is known."""
    limited = isinstance(job.method, GradientDescent | ProximalGradient)
    if not (limited and isinstance(job.problem, AbstractLinear) and job.problem.linear):
        return float("inf")
    return 2 / max(job.problem.sharpness(), float(np.finfo(float).tiny))


def warn_unstable(job: TrainJob) -> None:
    """Warns of a learning rate with which the run will diverge."""
    rate, limit = learning_rate_of(job.method), largest_learning_rate(job)
    if rate > limit:
        advice = f"{_above(rate, limit)}: the run will diverge; use e.g. {limit / 2:.2g}"
        warn(advice)


def why_broken(job: TrainJob, step: int, edge: Edge) -> str:
    """The probable cause of a loss that exploded at `step`, and what to do."""
    if step == 0:
        return "the start itself is beyond all numbers; scale the data or the initial parameters down"
    rate, limit = learning_rate_of(job.method), largest_learning_rate(job)
    if rate > limit:
        return f"{_above(rate, limit)}; use e.g. {limit / 2:.2g}"
    if getattr(job.method, "learning_rate", None) is None:
        return "the steps are probably too large; try a tenth of the learning rate"
    if edge.at_start is not None and edge.at_start > 1:
        return f"at the start {too_long(job, edge.at_start)}"
    return f"learning_rate={rate:g} is probably too large; try {rate / 10:g}"


def _above(rate: float, limit: float) -> str:
    return f"learning_rate={rate:g} is above 2/σ_max(XᵀX) = {limit:.6g}"


def collapse(job: TrainJob, train_errors: np.ndarray, params: Params) -> str:
    """What to say of a run with a penalty that has learned nothing by its end; nothing of others."""
    level, name = job.problem.trivial or (train_errors[0], "it began")
    learned = train_errors[-1] < NO_LOWER * level or (train_errors <= job.memorised_at).any()
    if len(train_errors) < 2 or learned or not _felt(job, params):
        return ""
    advice = f"{job.penalty!r} outweighs the loss: try a tenth of its strength"
    return f", with a train error of {train_errors[-1]:.3g}, no lower than {name}: probably {advice}"


def _felt(job: TrainJob, params: Params) -> bool:
    """Whether there is a penalty that pulls at least a tenth as hard as the loss where the run has ended."""
    if job.penalty is None or params is None or not any(job.penalty.strengths):
        return False
    ratio = float(GradientRatio().measure(job.problem, job.penalty, params))
    return not ratio > 1 / FELT  # NaN: at zero the penalty has no slope to compare with


def unhealthy(run: Run) -> str | None:
    """Why what theory says of the gradient says nothing of this run, in a sentence; None if it does, or is not known.

    Looks at the columns `softmax_collapse` and `zero_sum_defect`, where the run has them.
    """
    limits = {
        "softmax_collapse": (lambda v: v >= COLLAPSED, "the softmax of every training row has collapsed"),
        "zero_sum_defect": (lambda v: v > DEFECT, f"the gradient's zero-sum defect is above {DEFECT:g}"),
    }
    for column, (fails, sentence) in limits.items():
        bad = np.flatnonzero(fails(run.columns.get(column, np.zeros(0))))
        if len(bad):
            when = f"{run.clock.replace('_', ' ')} {run[run.clock][bad[0]]:,.6g}"
            return f"theory withheld: from {when} on {sentence}"
    return None
