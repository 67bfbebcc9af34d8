"""Runs over initial scales α, shared by the two theorems and the law of the transition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.dichotomy import margins
from latebloom.catalog.dichotomy.margins import at
from latebloom.catalog.old_base import Evidence, Request

if TYPE_CHECKING:
    from latebloom.flows import FlowJob
    from latebloom.problems import SparseSigns

C = 0.5  # the constant c of the theorems
SCALES = (1.0, 1e1, 1e2, 1e3, 1e4, 1e6)
LARGE = SCALES[1:]  # log α = 0 has no kernel phase in the theorems' sense
SETTINGS = {
    "dimension d": "2000 (--full: 2e4, minutes)",
    "points n": "64 (128)",
    "sparsity k": 3,
    "initial scale α": f"every entry of u and v: {', '.join(f'{a:g}' for a in SCALES)}",
    "loss": "logistic, mean",
    "weight decay λ": margins.WEIGHT_DECAY,
}


def name_of(scale: float) -> str:
    return f"α={scale:g}"


def data(request: Request) -> SparseSigns:
    return margins.sparse(20_000, 128, request.seed) if request.full else margins.sparse(2000, 64, request.seed)


def jobs(request: Request) -> dict[str, FlowJob]:
    """A run for each scale, to ten units of λt beyond what Theorem 3.5 speaks of."""
    return {
        name_of(scale): margins.dual_job(
            data(request),
            init_scale=scale,
            time=((1 + C) * np.log(scale) + 10) / margins.WEIGHT_DECAY,
            records_per_decade=100,
        )
        for scale in SCALES
    }


def at_theorem_time(evidence: Evidence, scale: float, column: str, sign: int) -> float:
    """A column at `(1 ± c) log α / λ`; "cosine_l2" and "cosine_l1" are those with the oracles."""
    run = evidence.runs[name_of(scale)]
    cosine = dict(zip(("cosine_l2", "cosine_l1"), margins.cosines(evidence, name_of(scale)), strict=True))
    values = cosine[column] if column in cosine else run[column]
    return at(run, values, (1 + sign * C) * float(np.log(scale)))
