"""What the entries on diagonal networks share: runs in dual form, the two max-margin directions, and cosines."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Settings, Study
from latebloom.core.fields import count, number

if TYPE_CHECKING:
    from latebloom.engine.run import Run
    from latebloom.problems import SparseSigns

TOGETHER = 32  # records whose weights, of d entries each, are in memory at a time
FLOW = "flow"
DUAL_NOTE = (
    "The flow is integrated exactly in n variables, one a training point (lb.flow with solver='dual'); gradient "
    "descent with the authors' step of 0.01 would take 1e6 steps on 2d parameters."
)

_KEPT: WeakKeyDictionary[Run, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()


class DiagonalSettings(Settings):
    """A diagonal network `⟨u ⊙ u - v ⊙ v, x⟩` on labelled points, started at α everywhere: mean logistic loss."""

    weight_decay: float = number(default=1e-3, above=0, note="λ, of |θ|²/2 as in the paper")
    memorised_at: float = number(default=1e-4, above=0, note="share of wrong training points of t1")
    generalised_at: float = number(default=1e-2, above=0, note="share of wrong test points of t2")

    def job(self, data, *, init_scale, time, weight_decay=None, **options):
        """The flow to a time, in dual form."""
        problem = lb.problems.DiagonalClassifier(data, init_scale=init_scale)
        decay = lb.L2(self.weight_decay if weight_decay is None else weight_decay)
        options |= {"memorised_at": self.memorised_at, "generalised_at": self.generalised_at}
        return lb.FlowJob(problem, decay, time=time, solver="dual", **options)


class SparseSettings(DiagonalSettings):
    """Points of signs, labelled by the majority of a few coordinates."""

    dimension: int = count(default=10_000, note="d; inputs are uniform in {-1, 1}^d")
    samples: int = count(default=128, note="n")
    sparsity: int = count(default=3, note="k, odd: coordinates that vote on the label")
    test_samples: int = count(default=1000, note="points to count errors on")

    def data(self):
        return sparse(self.dimension, self.samples, self.seed, self.test_samples, self.sparsity)


@lru_cache(maxsize=4)  # runs and study of an entry share the draw, of a second and 300 MB at d = 1e5
def sparse(dimension: int, samples: int, seed: int, test_samples: int = 1000, sparsity: int = 3) -> SparseSigns:
    return lb.problems.SparseSigns(dimension, samples, sparsity=sparsity, test_samples=test_samples, seed=seed)


def oracle_study(data: Any) -> list[Study]:
    """The two directions, a column each; and their margins, duality gaps and test errors."""

    @lru_cache(maxsize=1)
    def solve():
        return lb.oracles.max_l2_margin(data), lb.oracles.max_l1_margin(data)

    def directions() -> dict[str, np.ndarray]:
        l2, l1 = solve()
        return {"l2": l2.direction, "l1": l1.direction}

    def certificates() -> dict[str, np.ndarray]:
        found = solve()
        return {
            "margin": np.array([result.margin for result in found]),
            "gap": np.array([result.gap for result in found]),
            "test_error": data.test_errors(np.stack([result.direction for result in found])),
            "seconds": np.array([result.seconds for result in found]),
        }

    identity = {"data": data.text, "version": 1}
    return [Study("directions", identity, directions), Study("certificates", identity, certificates)]


def cosines(e, name=FLOW):
    """The cosine of w with the max l2-margin and with the max l1-margin direction, at every record."""
    run = e[name]
    if run not in _KEPT:
        goals = np.stack([e.tables["directions"][kind] for kind in ("l2", "l1")], axis=1)
        parts = []
        for start in range(0, len(run["time"]), TOGETHER):
            weights = weights_at(e, name, slice(start, start + TOGETHER))
            sizes = np.linalg.norm(weights, axis=1, keepdims=True)
            parts.append(weights @ goals / np.where(sizes > 0, sizes, 1.0))
        both = np.concatenate(parts)
        _KEPT[run] = both[:, 0], both[:, 1]
    return _KEPT[run]


def weights_at(e, name, records):
    """The effective weights of a run at some records."""
    job, run = e.job(name), e[name]
    return lb.flows.DualForm(job.problem, job.penalty.strengths[0]).weights(run["dual"][records], run["time"][records])


def l1_share(e, name=FLOW):
    """The normalised l1 margin of the end over the largest possible one."""
    return float(e[name].final["margin_l1"] / e.tables["certificates"]["margin"][1])


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
