"""Any method on minibatches."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.errors import CapabilityError, InputError
from latebloom.methods.base import AbstractMethod
from latebloom.methods.optax import as_method
from latebloom.problems.rows import OnRows, require_rows

NOT_A_METHOD = "Minibatch wraps a method, not {value}: Minibatch(GradientDescent(0.1), 32)"


def _wrapped(what: str, value: Any) -> AbstractMethod:
    try:
        return as_method(what, value)
    except InputError:
        raise InputError(NOT_A_METHOD.format(value=repr(value))) from None


class Minibatch(AbstractMethod):
    """`method` on `size` training rows a step, drawn without replacement: a step is one minibatch.

    Every epoch shuffles the rows and goes through them once; its last minibatch has what is left. The gradient is of
    the mean over the minibatch, so that over an epoch the mean of the gradients, weighted by the sizes, is the full
    one. The penalty is whole in every step. The shuffles come from a key in the method's memory that is made of
    `seed`: a run repeats to the bit.

    >>> from latebloom.methods import GradientDescent
    >>> Minibatch(GradientDescent(0.1), 32, seed=4)
    Minibatch(method=GradientDescent(learning_rate=0.1), size=32, seed=4)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Figures 1, 2 and 30: with minibatches of 2,048
    out of 3,763 rows, counting minibatches gives the printed times.
    """

    example = "minibatch[adam[0.001],32]"
    tried_on = "teacher_student"
    method: AbstractMethod = fields.own(_wrapped, kind="record", base=AbstractMethod, note="makes the steps")
    size: int = fields.count(static=True, note="the rows of a minibatch")
    seed: int = fields.seed(default=0, kw_only=True, note="draws the order of the rows")

    def derive(self):
        if isinstance(self.method, Minibatch):
            raise InputError(NOT_A_METHOD.format(value=repr(self.method)))
        return {}

    @property
    def learning_rate(self) -> float:
        """That of the method: it drives the clock `time`."""
        return getattr(self.method, "learning_rate", 1.0)

    def check(self, problem, penalty):
        rows = require_rows(problem, "Minibatch").rows
        if self.size > rows:
            raise InputError(
                f"size={self.size} is not allowed: {type(problem).__name__} has {rows} training rows; use at most "
                f"{rows}, or the method without Minibatch"
            )
        self.method.check(problem, penalty)
        try:
            self.method.check(OnRows(problem, jnp.arange(self.size)), penalty)
        except CapabilityError:
            raise CapabilityError(
                f"{type(self.method).__name__} needs all rows at once: use it without Minibatch, or another method"
            ) from None

    def init(self, problem, penalty, params):
        key = jax.random.key_data(jax.random.key(jnp.asarray(self.seed, dtype=jnp.uint64)))
        start = jnp.zeros((), jnp.int64)
        return key, jnp.arange(problem.rows), start, self.method.init(problem, penalty, params)

    def step(self, problem, penalty, params, state):
        key, order, position, memory = state
        key, order = jax.lax.cond(position == 0, next_epoch, lambda *same: same, key, order)
        rows, rest = problem.rows, problem.rows % self.size

        def on(chosen):
            return self.method.step(OnRows(problem, chosen), penalty, params, memory)

        def whole():
            return on(jax.lax.dynamic_slice(order, (position,), (self.size,)))

        if rest:  # two programs, so that a short minibatch costs what it is
            params, memory = jax.lax.cond(position + self.size <= rows, whole, lambda: on(order[rows - rest :]))
        else:
            params, memory = whole()
        after = position + self.size
        return params, (key, order, jnp.where(after < rows, after, 0), memory)


def next_epoch(key: Any, order: jax.Array) -> tuple[Any, jax.Array]:
    """A new key and a new order of the rows."""
    key, draw = jax.random.split(jax.random.wrap_key_data(key))
    return jax.random.key_data(key), shuffled(draw, len(order))


def shuffled(key: Any, count: int) -> jax.Array:
    """The numbers 0 … count-1 in an order drawn uniformly.

    Random 32-bit numbers are sorted with the row in the lower half of a word: three times as fast as an argsort.

    >>> sorted(shuffled(jax.random.key(0), 5).tolist())
    [0, 1, 2, 3, 4]
    """
    high = jax.random.bits(key, (count,), jnp.uint32).astype(jnp.uint64) << 32
    return (jnp.sort(high | jnp.arange(count, dtype=jnp.uint64)) & 0xFFFFFFFF).astype(jnp.int64)
