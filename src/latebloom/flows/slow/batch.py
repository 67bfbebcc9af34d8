"""The host's side of a slow flow: first to zero loss, then along it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from latebloom.core.arrays import to_jax
from latebloom.engine.batch import Emit
from latebloom.flows.gradient import steps as fast_steps
from latebloom.flows.gradient.batch import FlowBatch, measure
from latebloom.flows.gradient.chebyshev import FIRST
from latebloom.flows.slow import approach, steps


class SlowBatch(FlowBatch):
    """One slow flow: the unregularised flow to its end, in calls like all else, then steps along the zero-loss set."""

    def __init__(self, number: int, job: Any):
        super().__init__(number, job)
        metric = None if job.metric is None else ravel_pytree(job.problem.init())[1](self.lane.metric)
        self.fast = approach.fast_lane(self.lane.problem, metric, job.rtol)
        self.flow: Any = None
        self.way: Any = None
        self.like: dict[str, Any] = {}

    def compile(self) -> None:
        nothing = jnp.asarray(0)
        self.goal = steps.goal(self.lane)
        self.flow = fast_steps.estimate(self.fast, approach.begin(self.fast), nothing)
        way = approach.go_on(self.fast, approach.set_out(self.fast, self.flow), nothing)
        progress = steps.begin(self.lane, approach.land(self.fast, way, self.lane.metric, self.goal))
        jax.block_until_ready(self._advance(progress, self.times[:0], 0))
        jax.block_until_ready(measure(self.lane, progress.params))
        self.like = {"way": way, "progress": progress}

    def _advance(self, progress: Any, wanted: np.ndarray, budget: int) -> tuple[Any, Any, Any]:
        return steps.advance(self.lane, progress, *self.targets(wanted), jnp.asarray(budget))

    @property
    def spent(self) -> int:
        if self.opened:
            return int(self.progress.gradients)
        return int((self.flow if self.way is None else self.way.flow).gradients)

    def _open(self, emit: Emit) -> bool:
        if self.way is None:
            self._estimate()
            return False
        budget = min(self.spent + self.quota, self.job.max_gradients)
        self.way = jax.block_until_ready(approach.go_on(self.fast, self.way, jnp.asarray(budget)))
        if approach.over(self.way) or self.spent >= self.job.max_gradients:
            self._stand(emit)
        return False

    def _estimate(self) -> None:
        count = self.iterations()
        self.flow = jax.block_until_ready(fast_steps.estimate(self.fast, self.flow, jnp.asarray(count)))
        self.estimated += count
        if self.estimated == FIRST:
            self.way = approach.set_out(self.fast, self.flow)

    def _stand(self, emit: Emit) -> None:
        way = approach.set_out(self.fast, self.flow) if self.way is None else self.way
        self.progress = steps.begin(self.lane, approach.land(self.fast, way, self.lane.metric, self.goal))
        super()._stand(emit)

    def state(self, number: int) -> Any:
        if self.opened or self.way is None:
            return super().state(number)
        return {"way": jax.tree.map(np.asarray, self.way)}

    def resume(self, number: int, state: Any) -> None:
        if state is not None and "way" in state:
            self.way, self.estimated = jax.tree.map(to_jax, state["way"]), FIRST
        else:
            super().resume(number, state)

    def trees(self) -> dict[str, Any]:
        return self.like
