"""The unregularised flow to its end: the limit map Φ, where the slow flow starts."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from latebloom.core.arrays import to_jax
from latebloom.flows.gradient import steps
from latebloom.flows.gradient.chebyshev import FIRST, RungeKuttaChebyshev
from latebloom.flows.gradient.steps import FlowLane, FlowProgress
from latebloom.problems import AbstractProblem
from latebloom.zero_loss.set import residual_goal, residual_size, retract

# |r| relative to the start at which Gauss-Newton takes over. It leaves the flow's path at second order: 1e-12.
NEAR = 1e-6
STALLED = 1e-9  # the rate |∇F|²/2F at which the loss falls, over the largest curvature, where it falls no more
CHUNK = 20_000  # gradients a call: about a tenth of a second on a small problem, then Ctrl-C is heard
FORWARD = 1e8  # first steps: far enough never to be a target


class Approach(eqx.Module):
    """A flow on its way to zero loss: `|r|`, and whether it has arrived there or stopped short of it."""

    flow: FlowProgress
    first: jax.Array
    residual: jax.Array
    arrived: jax.Array
    stalled: jax.Array


class Limit(eqx.Module):
    """A point of zero loss as one vector, unless `residual` says otherwise, and what it cost in gradients."""

    point: jax.Array
    residual: jax.Array
    arrived: jax.Array
    stalled: jax.Array
    broken: jax.Array
    gradients: jax.Array


def fast_lane(problem: AbstractProblem, metric: Any, rtol: float) -> FlowLane:
    """The flow of `-D∇F`, more accurate than what follows it: its solver is of second order, the slow one of third."""
    rtol = max(0.01 * rtol, 1e-13)
    none, never = to_jax(np.zeros(0)), to_jax(np.zeros(0, bool))
    tolerances = jnp.asarray(rtol), jnp.asarray(1e-3 * rtol)
    stages = jnp.asarray(1e3)  # the fast phase is over before a step needs as many
    return FlowLane(problem, None, (), (), none, never, *tolerances, stages, RungeKuttaChebyshev(), metric)


def begin(lane: FlowLane) -> FlowProgress:
    """The flow's own start, of which the spectral radius is to be estimated."""
    return steps.begin(lane, jnp.asarray(jnp.inf))


@eqx.filter_jit
def set_out(lane: FlowLane, flow: FlowProgress) -> Approach:
    """The start of the approach, the spectral radius being known."""
    size = residual_size(lane.problem, ravel_pytree(flow.params)[0])
    return Approach(flow, flow.proposed, size, size <= NEAR * jnp.maximum(1.0, size), jnp.asarray(False))


@eqx.filter_jit
def go_on(lane: FlowLane, approach: Approach, budget: jax.Array) -> Approach:
    """Steps on until the loss is small, falls no more, or the budget of gradients is spent."""
    near = residual_goal(lane.problem, NEAR)

    def running(approach: Approach):
        flow = approach.flow
        return ~approach.arrived & ~approach.stalled & ~flow.broken & (flow.gradients < budget)

    def step(approach: Approach):
        old = approach.flow
        flow, _ = steps.attempt(lane, old, old.time + FORWARD * jnp.maximum(approach.first, 1e-6 * old.time))
        size = residual_size(lane.problem, ravel_pytree(flow.params)[0])
        slope = jnp.linalg.norm(ravel_pytree(lane.field(0.0, flow.params, None))[0])
        stalled = slope**2 <= STALLED * flow.memory.radius * size**2
        return Approach(flow, approach.first, size, size <= near, stalled & (size > near))

    return jax.lax.while_loop(running, step, approach)


@eqx.filter_jit
def land(lane: FlowLane, approach: Approach, metric: jax.Array | None, goal: jax.Array) -> Limit:
    """The last stretch by Gauss-Newton steps; from afar, none."""
    flow = approach.flow
    flat = ravel_pytree(flow.params)[0]
    landed = retract(lane.problem, flat, jnp.where(approach.arrived, goal, jnp.inf), metric)
    arrived = approach.arrived & (landed.residual <= goal)
    gradients = flow.gradients + landed.products
    return Limit(landed.point, landed.residual, arrived, approach.stalled, flow.broken, gradients)


def over(approach: Approach) -> bool:
    """Whether zero loss is near, or cannot be reached."""
    return bool(approach.arrived) or bool(approach.stalled) or bool(approach.flow.broken)


def reach(lane: FlowLane, metric: jax.Array | None, goal: jax.Array, budget: int) -> Limit:
    """Φ(w0) in one go, in calls short enough for Ctrl-C."""
    approach, spent = set_out(lane, steps.estimate(lane, begin(lane), jnp.asarray(FIRST))), 0
    while not over(approach) and spent < budget:
        spent = min(spent + CHUNK, budget)
        approach = jax.block_until_ready(go_on(lane, approach, jnp.asarray(spent)))
    return land(lane, approach, metric, goal)
