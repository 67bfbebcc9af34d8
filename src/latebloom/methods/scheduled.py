"""Any method with a learning rate that changes from step to step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.errors import InputError
from latebloom.methods.base import AbstractMethod

TIME = "time"


def check_schedule(what: str, value: Any) -> Any:
    """A function of the step, such as a schedule of optax."""
    if not callable(value):
        raise InputError(
            f"{what} must be a function of the step, not {value!r}: e.g. optax.cosine_decay_schedule(0.1, 1000)"
        )
    return value


class Scheduled(AbstractMethod):
    """`method` with the learning rate `schedule(k)` at step k, counted from 0.

    It is what a method becomes whose learning rate is a function: `GradientDescent(optax.cosine_decay_schedule(0.1,
    1000))`. The clock `time` is the sum of the learning rates. Functions are compared by identity; a `name` stands for
    the schedule in the store, so that another process finds the run.

    >>> import latebloom as lb
    >>> problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12, seed=1)
    >>> run = lb.train(problem, lb.GradientDescent(lambda step: 0.1 / (1 + step)), steps=3)
    >>> run["time"].round(4).tolist()
    [0.0, 0.1, 0.15, 0.1833]
    """

    example = "lb.GradientDescent(lambda step: 0.1 / (1 + step))"
    method: AbstractMethod = fields.record_of(
        AbstractMethod, "Scheduled wraps a method, not {value}: Scheduled(GradientDescent(1), schedule)", note="steps"
    )
    schedule: Callable[[Any], Any] = fields.own(
        check_schedule, kind="function", static=True, note="the learning rate at a step"
    )
    known_as: str | None = fields.text(
        default=None, alias="name", static=True, kw_only=True, note="stands for the schedule in the store"
    )

    def derive(self):
        if not hasattr(self.method, "learning_rate"):
            raise InputError(f"{self.method!r} has no learning rate to be scheduled: give one to the method inside")
        rate = np.asarray(self.schedule(jnp.zeros((), jnp.int64)))
        if rate.shape != () or not np.isfinite(rate) or rate < 0:
            raise InputError(f"schedule(0) is {rate}: a learning rate is one number from 0 on")
        return {}

    def identity(self) -> dict[str, Any]:
        given = self.parameters()
        return {key: value for key, value in given.items() if key != ("name" if self.known_as is None else "schedule")}

    def check(self, problem, penalty):
        self.method.check(problem, penalty)

    def init(self, problem, penalty, params):
        # The time is a sum over all steps: in double precision whatever the parameters are in.
        start = jnp.zeros((), jnp.int64), jnp.zeros((), jnp.float64)
        return *start, self.method.init(problem, penalty, params)

    def step(self, problem, penalty, params, state):
        count, time, memory = state
        rate = jnp.asarray(self.schedule(count))
        method = _with_rate(self.method, rate)
        params, memory = method.step(problem, penalty, params, memory)
        return params, (count + 1, time + rate.astype(time.dtype), memory)

    def clocks(self, state):
        return self.method.clocks(state[2]) or {TIME: state[1]}


def _with_rate(method: AbstractMethod, rate: jax.Array) -> AbstractMethod:
    """The method with this learning rate, in the precision of its own, or with that of the method inside it."""
    if "learning_rate" not in method.configured():
        return eqx.tree_at(lambda m: m.method, method, _with_rate(method.method, rate))  # type: ignore[attr-defined]
    own: Any = method.learning_rate  # type: ignore[attr-defined]
    return eqx.tree_at(lambda m: m.learning_rate, method, rate.astype(jnp.result_type(own)))  # type: ignore[attr-defined]
