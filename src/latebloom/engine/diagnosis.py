"""What a run's own records say about how far theory speaks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.probes.health import COLLAPSED, DEFECT

if TYPE_CHECKING:
    from latebloom.engine.run import Run


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
