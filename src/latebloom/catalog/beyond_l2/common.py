"""What entries of the old form still ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import latebloom as lb
from latebloom.catalog.measures import ETAS, times_to_gap
from latebloom.catalog.old_base import Evidence, Measured

if TYPE_CHECKING:
    from latebloom.flows import SlowPath

__all__ = ["ETAS", "t2_predicted", "times_to_gap"]


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
