"""A matrix completion small enough for high accuracy: flows to many times, and the curvature at their end."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Settings
from latebloom.catalog.measures import completion, flat
from latebloom.core.fields import count, number

if TYPE_CHECKING:
    from latebloom.flows import FlowJob
    from latebloom.problems import MatrixCompletion

LONG = 100.0  # the unregularised flow has converged to rounding
END = "unregularised, to its end"


class SmallCompletion(Settings):
    """A planted matrix, a product of Gaussian factors, of which a third of the entries are observed."""

    side: int = count(default=6, note="n, rows and columns")
    rank: int = count(default=1, note="of the planted matrix")
    observed: int = count(default=12, note="entries; the loss F is the sum of squares over them")
    width: int = count(default=6, note="of the factors U and V")
    init_scale: float = number(default=1.0, least=0, note="of the entries of U and V: 1 is N(0, 1)")
    truth_norm: float = number(default=6.0, above=0, note="Frobenius norm of the planted matrix")
    rtol: float = number(default=1e-10, above=0, note="relative tolerance of the flows (Runge-Kutta of order 8)")

    def problem(self) -> MatrixCompletion:
        """The draw."""
        return completion(
            self.seed, shape=(self.side, self.side), rank=self.rank, observed=self.observed, truth_kind="gaussian",
            truth_norm=self.truth_norm, width=self.width, init_scale=self.init_scale, weight=2.0,
        )  # fmt: skip

    def flow_to(self, strength: float, time: float) -> FlowJob:
        """A flow of which the end counts; the distances of interest go down to 1e-7."""
        tight: dict[str, Any] = {"solver": "dopri8", "rtol": self.rtol, "atol": 1e-12, "records_per_decade": 1}
        return lb.FlowJob(self.problem(), lb.L2(strength), time=time, **tight)


OBSERVED = SmallCompletion().observed


def problem(seed: int) -> MatrixCompletion:
    """The draw of a seed, in the usual size."""
    return SmallCompletion(seed=seed).problem()


def flow_to(seed: int, weight_decay: float, until: float) -> FlowJob:
    """The flow of a seed, in the usual size."""
    return SmallCompletion(seed=seed).flow_to(weight_decay, until)


def end_of(evidence: Any, name: str) -> np.ndarray:
    """All parameters at the end of a run."""
    return flat(evidence.runs[name].params)


@lru_cache(maxsize=16)
def _curvatures(problem: MatrixCompletion, point: bytes) -> np.ndarray:
    import jax
    from jax.flatten_util import ravel_pytree

    _, unravel = ravel_pytree(problem.init())
    hessian = jax.hessian(lambda vector: problem.loss(unravel(vector)))(np.frombuffer(point))
    return np.linalg.eigvalsh(np.asarray(hessian))[::-1]


def curvatures(evidence: Any) -> tuple[float, float]:
    """The largest and the smallest non-zero eigenvalue of the Hessian of F where the unregularised flow ends."""
    problem = evidence.jobs[END].problem
    values = _curvatures(problem, end_of(evidence, END).astype(float).tobytes())
    return float(values[0]), float(values[problem.observed - 1])
