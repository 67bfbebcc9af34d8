"""A matrix completion small enough for high accuracy: flows to many times, and the curvature at their end."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog.measures import completion, flat

if TYPE_CHECKING:
    from latebloom.flows import FlowJob
    from latebloom.problems import MatrixCompletion

OBSERVED = 12
LONG = 100.0  # the unregularised flow has converged to rounding
END = "unregularised, to its end"
SETTINGS: dict[str, Any] = {
    "problem": "matrix completion 6 x 6, rank 1, 12 entries observed",
    "factors U, V": "6 x 6, entries N(0, 1)",
    "loss F": "sum of squares over the observed entries",
    "solver": "Runge-Kutta of order 8, relative tolerance 1e-10",
}


def problem(seed: int) -> MatrixCompletion:
    return completion(
        seed,
        shape=(6, 6),
        rank=1,
        observed=OBSERVED,
        truth_kind="gaussian",
        truth_norm=6.0,
        width=6,
        init_scale=1.0,
        weight=2.0,
    )


def flow_to(seed: int, weight_decay: float, until: float) -> FlowJob:
    """A flow of which the end counts; the distances of interest go down to 1e-7."""
    return lb.FlowJob(
        problem(seed), lb.L2(weight_decay), time=until, solver="dopri8", rtol=1e-10, atol=1e-12, records_per_decade=1
    )


def end_of(evidence: Any, name: str) -> np.ndarray:
    """All parameters at the end of a run."""
    return flat(evidence.runs[name].params)


@lru_cache(maxsize=16)
def _curvatures(seed: int, point: bytes) -> np.ndarray:
    import jax
    from jax.flatten_util import ravel_pytree

    chosen = problem(seed)
    _, unravel = ravel_pytree(chosen.init())
    hessian = jax.hessian(lambda vector: chosen.loss(unravel(vector)))(np.frombuffer(point))
    return np.linalg.eigvalsh(np.asarray(hessian))[::-1]


def curvatures(evidence: Any) -> tuple[float, float]:
    """The largest and the smallest non-zero eigenvalue of the Hessian of F where the unregularised flow ends."""
    seed = evidence.settings.seed if hasattr(evidence, "settings") else evidence.request.seed
    values = _curvatures(seed, end_of(evidence, END).astype(float).tobytes())
    return float(values[0]), float(values[OBSERVED - 1])
