"""What the entries on diagonal networks share: runs in dual form, the two max-margin directions, and cosines."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

import latebloom as lb
from latebloom.catalog.old_base import Claim, Evidence, Measured, Study, at_least, at_most

if TYPE_CHECKING:
    from latebloom.engine.run import Run
    from latebloom.flows import FlowJob
    from latebloom.problems import AbstractPoints, GaussianGap, SparseSigns

WEIGHT_DECAY = 1e-3
INIT_SCALE = 128 / np.sqrt(2e5)  # every entry of u and v, for the printed norm of 128 at d = 1e5
TIME = 1e4
EARLY = 0.1  # a slow time λt in the middle of the kernel phase
TOGETHER = 32
FLOW, L2, L1 = "flow", "max l2-margin", "max l1-margin"
DUAL_NOTE = (
    "The flow is integrated exactly in n variables, one a training point (lb.flow with solver='dual'); gradient "
    "descent with the authors' step of 0.01 would take 1e6 steps on 2d parameters."
)

_KEPT: WeakKeyDictionary[Run, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()


@lru_cache(maxsize=4)
def sparse(dimension: int, samples: int, seed: int, test_samples: int = 1000) -> SparseSigns:
    return lb.problems.SparseSigns(dimension, samples, sparsity=3, test_samples=test_samples, seed=seed)


@lru_cache(maxsize=4)
def gap(dimension: int, samples: int, margin: float, seed: int) -> GaussianGap:
    return lb.problems.GaussianGap(dimension, samples, margin=margin, seed=seed)


def dual_job(
    data: AbstractPoints, *, init_scale: float = INIT_SCALE, weight_decay: float = WEIGHT_DECAY, **options: Any
) -> FlowJob:
    problem = lb.problems.DiagonalClassifier(data, init_scale=init_scale)
    settings: dict[str, Any] = {"time": TIME, "memorised_at": 1e-4, "generalised_at": 1e-2} | options
    return lb.FlowJob(problem, lb.L2(weight_decay), solver="dual", **settings)


def oracle_study(make: Callable[[], AbstractPoints]) -> tuple[Study, Study]:
    """The two directions, a column each; and their margins, duality gaps and test errors."""

    @lru_cache(maxsize=1)
    def solve():
        data = make()
        return data, (lb.oracles.max_l2_margin(data), lb.oracles.max_l1_margin(data))

    def directions() -> dict[str, np.ndarray]:
        _, (l2, l1) = solve()
        return {"l2": l2.direction, "l1": l1.direction}

    def certificates() -> dict[str, np.ndarray]:
        data, found = solve()
        return {
            "margin": np.array([result.margin for result in found]),
            "gap": np.array([result.gap for result in found]),
            "test_error": data.test_errors(np.stack([result.direction for result in found])),
            "seconds": np.array([result.seconds for result in found]),
        }

    identity = {"data": make().text, "version": 1}
    return Study("directions", identity, directions), Study("certificates", identity, certificates)


def cosines(evidence: Evidence, name: str = FLOW) -> tuple[np.ndarray, np.ndarray]:
    """The cosine of w with the max l2-margin and with the max l1-margin direction, at every record."""
    run = evidence.runs[name]
    if run not in _KEPT:
        goals = np.stack([evidence.tables["directions"][kind] for kind in ("l2", "l1")], axis=1)
        parts = []
        for start in range(0, len(run["time"]), TOGETHER):
            weights = weights_at(evidence, name, slice(start, start + TOGETHER))
            sizes = np.linalg.norm(weights, axis=1, keepdims=True)
            parts.append(weights @ goals / np.where(sizes > 0, sizes, 1.0))
        both = np.concatenate(parts)
        _KEPT[run] = both[:, 0], both[:, 1]
    return _KEPT[run]


def weights_at(evidence: Evidence, name: str, records: Any) -> np.ndarray:
    """The effective weights of a run at some records."""
    from latebloom.flows import DualForm

    job: Any = evidence.jobs[name]
    run = evidence.runs[name]
    return DualForm(job.problem, job.penalty.strengths[0]).weights(run["dual"][records], run["time"][records])


def at(run: Run, values: np.ndarray, slow_time: float) -> float:
    """A column at a slow time, linear in its logarithm between records."""
    return float(np.interp(np.log(slow_time), np.log(run["slow_time"][1:]), values[1:]))


def when_falls(run: Run, values: np.ndarray, level: float) -> float | None:
    """The slow time at which a column falls through a level for the last time."""
    above = np.flatnonzero(values[1:] > level) + 1
    if not len(above) or above[-1] + 1 >= len(values):
        return None
    k = above[-1]
    low, high = np.log(run["slow_time"][k : k + 2])
    share = (values[k] - level) / (values[k] - values[k + 1])
    return float(np.exp(low + share * (high - low)))


def kernel_direction(bound: float, name: str = FLOW) -> Callable[[Evidence], Measured]:
    return lambda e: at_least(at(e.runs[name], cosines(e, name)[0], EARLY), bound)


def l1_share(evidence: Evidence, name: str = FLOW) -> float:
    """The normalised l1 margin of the end over the largest possible one."""
    return float(evidence.runs[name].final["margin_l1"] / evidence.tables["certificates"]["margin"][1])


def certified(evidence: Evidence) -> Measured:
    return at_most(float(evidence.tables["certificates"]["gap"].max()), 1e-6)


# Where the two phases are, of Figures 1a and 1b alike.
BOTH_ENDS = (
    Claim(
        "kernel-phase-is-max-l2-margin",
        "The kernel phase is at the max l2-margin classifier.",
        "Corollary 3.6",
        f"cosine at λt = {EARLY:g} at least 0.98",
        kernel_direction(0.98),
    ),
    Claim(
        "end-is-max-l1-margin",
        "The rich phase goes to the max l1-margin classifier.",
        "Corollary 3.7 and the remark after it",
        "normalised l1 margin of the end at least 0.85 of the largest (the rest is the weight decay of 1e-3)",
        lambda e: at_least(l1_share(e), 0.85),
    ),
)
