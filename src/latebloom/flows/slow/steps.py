"""The compiled part of a slow flow: adaptive steps along the zero-loss set, each brought back to it."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from latebloom.flows.gradient.steps import CAPACITY, find_crossings, measure, stopped, watched
from latebloom.flows.slow import approach
from latebloom.penalties import AbstractPenalty
from latebloom.probes import AbstractProbe
from latebloom.problems import AbstractProblem
from latebloom.zero_loss.normal_equations import DENSE, Nearby
from latebloom.zero_loss.set import Retracted, linearised, residual_goal, retract

SAFETY, SHORTER, LONGER = 0.9, 0.2, 4.0  # of the step size: on the estimate, and how fast it may change
SMALLEST = 1e-13  # a step of this share of the slow time asked for makes no progress
PATIENCE = 8  # rejections in a row, after which a step is accepted: a kink, where no estimate falls as it should
SOLVE = 1e-2  # the tolerance of conjugate gradients, relative to that of a step
# Bogacki and Shampine's method: where its stages are, what they are made of, and the embedded one of second order.
NODES = np.array([1 / 2, 3 / 4, 1.0])
STAGES = np.array([[1 / 2, 0, 0, 0], [0, 3 / 4, 0, 0], [2 / 9, 1 / 3, 4 / 9, 0]])
EMBEDDED = np.array([7 / 24, 1 / 4, 1 / 3, 1 / 8])
# The inverse of J D Jᵀ is kept for the steps around a point, up to so many residuals, and made again after a step that
# took more than so many products: it costs about 250 of them (200 residuals), and saves that many in two steps.
KEPT, AGED = 1000, 60
BETWEEN = 1e-6  # |r| of a record between two steps, relative as that of a step


class SlowLane(eqx.Module):
    """Everything that defines one slow flow's arithmetic; `metric` is the diagonal D as one vector, or None.

    `rows` are the residuals that are not zero for ever, None for all.
    """

    problem: AbstractProblem
    penalty: AbstractPenalty
    probes: tuple[AbstractProbe, ...]
    watched: tuple[AbstractProbe, ...]
    thresholds: jax.Array
    stop_on: jax.Array
    rtol: jax.Array
    atol: jax.Array
    until: jax.Array
    residual: jax.Array
    metric: jax.Array | None
    rows: jax.Array | None

    def unravel(self, flat: jax.Array) -> Any:
        return ravel_pytree(self.problem.init())[1](flat)

    def keep(self, flat: jax.Array) -> Nearby | None:
        """The inverse of `J D Jᵀ` for the steps around a point, where it is worth its making."""
        here = linearised(self.problem, flat, self.metric)
        size = here.residual.size if self.rows is None else len(self.rows)
        return here.keep(self.rows) if here.residual.size > DENSE and size <= KEPT else None

    def field(self, flat: jax.Array, guess: jax.Array, nearby: Nearby | None):
        """`-(D - D Jᵀ(J D Jᵀ)⁻¹ J D) ∇h`, the multipliers of the constraints, and the cost."""
        here = linearised(self.problem, flat, self.metric, nearby)
        gradient = ravel_pytree(self.penalty.subgradient(self.unravel(flat)))[0] / self.penalty.strengths[0]
        u, cost = here.solve(here.apply(here.scaled(gradient)), guess, SOLVE * self.rtol)
        return -here.scaled(gradient - here.transpose(u)), u, cost + 1


@jax.jit
def goal(lane: SlowLane) -> jax.Array:
    return residual_goal(lane.problem, lane.residual)


class Point(eqx.Module):
    """A point of the path: slow time, parameters as one vector, slope, and the multipliers that made it tangent."""

    time: jax.Array
    flat: jax.Array
    slope: jax.Array
    multipliers: jax.Array


class SlowProgress(eqx.Module):
    """A slow flow in progress: the path is known from `before` to `here`; crossings as in `FlowProgress`.

    `nearby` is the inverse that is kept, `latest` what the last step took in products.
    """

    params: Any
    before: Point
    here: Point
    proposed: jax.Array
    error: jax.Array
    nearby: Nearby | None
    latest: jax.Array
    goal: jax.Array
    residual: jax.Array
    gradients: jax.Array
    accepted: jax.Array
    rejected: jax.Array
    streak: jax.Array
    below: jax.Array
    crossings: jax.Array
    lost: jax.Array
    broken: jax.Array
    arrived: jax.Array
    stalled: jax.Array

    @property
    def time(self) -> jax.Array:
        return self.here.time


@eqx.filter_jit
def begin(lane: SlowLane, limit: approach.Limit) -> SlowProgress:
    """The start of the slow phase, at the end of the fast one."""
    params, least = lane.unravel(limit.point), residual_goal(lane.problem, lane.residual)
    nothing = jnp.zeros_like(linearised(lane.problem, limit.point).residual)
    nearby = lane.keep(limit.point)
    slope, u, cost = lane.field(limit.point, nothing, nearby)
    here = Point(jnp.zeros(()), limit.point, slope, u)
    size, speed = jnp.linalg.norm(limit.point), jnp.linalg.norm(slope)
    first = jnp.minimum(0.05 * (size + 1e-3) / jnp.maximum(speed, jnp.finfo(float).tiny), lane.until)
    below = watched(lane, params) <= 0
    none, count = jnp.zeros((), jnp.int64), len(lane.watched)
    crossings = jnp.where(below[:, None], 0.0, jnp.inf) * jnp.ones((1, 2))
    return SlowProgress(
        params, here, here, first, jnp.ones(()), nearby, none, jnp.maximum(least, limit.residual * limit.arrived),
        limit.residual, limit.gradients + cost, none, none, none, below, crossings, jnp.full(count, jnp.inf, float),
        limit.broken, limit.arrived, limit.stalled,
    )  # fmt: skip


def hermite(before: Point, here: Point, time: jax.Array) -> jax.Array:
    """The cubic through two points of the path with their slopes."""
    length = here.time - before.time
    x = (time - before.time) / jnp.where(length > 0, length, 1.0)
    rise = here.flat - before.flat
    a, b = length * before.slope - rise, rise - length * here.slope
    return (1 - x) * before.flat + x * here.flat + x * (1 - x) * ((1 - x) * a + x * b)


def _stages(lane: SlowLane, progress: SlowProgress, h: jax.Array, nearby: Nearby | None):
    """The four slopes of a step, its end brought back to the set, the multipliers there, and the cost."""
    here, before, nodes = progress.here, progress.before, jnp.asarray(NODES)
    past = here.time - before.time
    trend = jnp.where(past > 0, h / jnp.where(past > 0, past, 1.0), 0.0) * (here.multipliers - before.multipliers)

    def stage(j, carry):
        slopes, _, trend, spent = carry
        ahead = here.flat + h * jnp.asarray(STAGES)[j] @ slopes
        landed = retract(lane.problem, ahead, jnp.where(j == 2, progress.goal, jnp.inf), lane.metric, nearby)
        # The multipliers change slowly: from where they are heading, conjugate gradients have a third less to do.
        slope, u, cost = lane.field(landed.point, here.multipliers + nodes[j] * trend, nearby)
        trend = (u - here.multipliers) / nodes[j]
        return slopes.at[j + 1].set(slope), landed, trend, spent + cost + landed.products

    slopes = jnp.zeros((4, here.flat.size)).at[0].set(here.slope)
    none = jnp.zeros((), jnp.int64)
    start = (slopes, Retracted(here.flat, progress.residual, none), trend, none)
    # A loop, and not written out: the program that is compiled is a third as large.
    slopes, landed, trend, cost = jax.lax.fori_loop(0, 3, stage, start)
    return slopes, landed, here.multipliers + trend, cost


def _refreshed(lane: SlowLane, progress: SlowProgress) -> tuple[Nearby | None, jax.Array | int]:
    """The inverse that is kept, made again if the last step took many products, and what that costs."""
    nearby = progress.nearby
    if nearby is None:
        return None, 0
    aged = progress.latest > AGED
    made = jax.lax.cond(aged, lambda: lane.keep(progress.here.flat), lambda: nearby)
    return made, jnp.where(aged, len(nearby.inverse), 0)


def attempt(lane: SlowLane, progress: SlowProgress) -> SlowProgress:
    """One step of Bogacki and Shampine's method of third order, brought back to the set; accepted or not."""
    here = progress.here
    left = lane.until - here.time
    last = 1.0000001 * progress.proposed >= left
    h = jnp.where(last, left, progress.proposed)
    y = here.flat
    nearby, made = _refreshed(lane, progress)
    slopes, landed, u, cost = _stages(lane, progress, h, nearby)
    second = y + h * jnp.asarray(EMBEDDED) @ slopes
    scale = lane.atol + lane.rtol * jnp.sqrt(jnp.mean(y**2))
    error = jnp.sqrt(jnp.mean((landed.point - second) ** 2)) / scale
    finite = jnp.all(jnp.isfinite(landed.point)) & jnp.all(jnp.isfinite(slopes))
    # A point of which Gauss-Newton does not get closer than this, where J loses rank, must not stop the flow.
    back = landed.residual <= jnp.maximum(progress.goal, progress.residual)
    error = jnp.where(finite & back, error, jnp.inf)
    keep = (error <= 1) | (finite & back & (progress.streak >= PATIENCE))
    # Proportional and integral: at the edge of stability a step size that follows the last error alone alternates.
    error = jnp.maximum(error, 1e-9)
    factor = SAFETY * error ** (-0.7 / 3) * jnp.where(keep, progress.error ** (0.4 / 3), error ** (-0.3 / 3))
    factor = jnp.clip(factor, SHORTER, LONGER)
    after = h * jnp.where(keep, factor, jnp.minimum(factor, 0.5))
    ahead = Point(jnp.where(last, lane.until, here.time + h), landed.point, slopes[3], u)
    path = lambda time: lane.unravel(hermite(here, ahead, time))  # noqa: E731
    params = lane.unravel(jnp.where(finite, landed.point, y))
    below, crossings, lost = find_crossings(lane, progress, (here.time, ahead.time), path, watched(lane, params), keep)
    choose = lambda new, old: jax.tree.map(lambda a, b: jnp.where(keep, a, b), new, old)  # noqa: E731
    return SlowProgress(
        choose(params, progress.params),
        choose(here, progress.before),
        choose(ahead, here),
        jnp.where(keep & last, jnp.maximum(after, progress.proposed), after),
        jnp.where(keep, jnp.maximum(error, 1e-4), progress.error),
        nearby,
        cost,
        progress.goal,
        jnp.where(keep, landed.residual, progress.residual),
        progress.gradients + cost + made,
        progress.accepted + keep,
        progress.rejected + ~keep,
        jnp.where(keep, 0, progress.streak + 1),
        below,
        crossings,
        lost,
        ~keep & ~(after > SMALLEST * lane.until),
        progress.arrived,
        progress.stalled,
    )


@eqx.filter_jit
def advance(lane: SlowLane, progress: SlowProgress, targets: jax.Array, count: jax.Array, budget: jax.Array):
    """Records at the first `count` of `targets`, on the path between two steps, which are made as they are needed."""
    empty = jax.eval_shape(measure, lane, progress.params)
    rows = jax.tree.map(lambda leaf: jnp.full((CAPACITY, *leaf.shape), jnp.nan), empty)

    def go_on(carry):
        index, progress, _ = carry
        able = (progress.gradients < budget) & ~progress.broken & progress.arrived & ~stopped(lane, progress)
        return (index < count) & ((targets[index] <= progress.time) | able)

    def record(index, progress, rows):
        between = hermite(progress.before, progress.here, targets[index])
        onto = retract(lane.problem, between, BETWEEN / lane.residual * progress.goal, lane.metric, progress.nearby)
        exact = targets[index] >= progress.time
        point = lane.unravel(jnp.where(exact, progress.here.flat, onto.point))
        rows = jax.tree.map(lambda t, new: t.at[index].set(new), rows, measure(lane, point))
        spent = jnp.where(exact, 0, onto.products)
        return index + 1, eqx.tree_at(lambda p: p.gradients, progress, progress.gradients + spent), rows

    def body(carry):
        index, progress, rows = carry
        return jax.lax.cond(
            targets[index] <= progress.time,
            lambda: record(index, progress, rows),
            lambda: (index, attempt(lane, progress), rows),
        )

    index, progress, rows = jax.lax.while_loop(go_on, body, (jnp.zeros((), jnp.int64), progress, rows))
    return progress, rows, index
