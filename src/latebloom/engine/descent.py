"""The compiled loop: many steps, a record now and then, snapshots of where a threshold was crossed.

Everything here is traced once per structure (shapes, method, kinds) and reused. A batch is a
stack of *lanes* that are run one after the other inside the compiled program: a lane does the
same arithmetic whether it is alone or one of many, so that its numbers are the same to the last bit.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.methods import AbstractMethod
from latebloom.penalties import AbstractPenalty
from latebloom.probes import AbstractProbe, TrainLoss
from latebloom.problems import AbstractProblem

# A loss this many times the first one (or 1, if that is more) counts as diverged.
DIVERGENCE_FACTOR = 1e8
# Records written by one call; the host collects them between calls.
CAPACITY = 64


class Lane(eqx.Module):
    """Everything that defines one run's arithmetic."""

    problem: AbstractProblem
    method: AbstractMethod
    penalty: AbstractPenalty | None
    probes: tuple[AbstractProbe, ...]
    watched: tuple[AbstractProbe, ...]
    thresholds: jax.Array | np.ndarray
    stop_on: jax.Array | np.ndarray


class Point(eqx.Module):
    """Where a run is: the step, the parameters and the method's memory."""

    step: jax.Array
    params: Any
    state: Any


class Progress(eqx.Module):
    """A run in progress.

    `anchor` is the point of the last record; `first` and `latest` hold, for each watched probe, the
    anchor before its first and its latest crossing; `broken` says that the loss left `limit` after
    `anchor`, `done` that nothing more is to be run.
    """

    limit: jax.Array
    point: Point
    anchor: Point
    below: jax.Array
    crossed: jax.Array
    first: tuple[Point, ...]
    latest: tuple[Point, ...]
    broken: jax.Array
    done: jax.Array


def measure(lane: Lane, point: Point) -> dict[str, jax.Array]:
    """Every probe at this point, and the clocks that the method keeps."""
    probed = {probe.column: probe.measure(lane.problem, lane.penalty, point.params) for probe in lane.probes}
    return probed | lane.method.clocks(point.state)


def run_to(lane: Lane, point: Point, step: jax.Array) -> Point:
    """Steps on until `step`."""

    def one(_, carry):
        return lane.method.step(lane.problem, lane.penalty, *carry)

    params, state = jax.lax.fori_loop(point.step, jnp.maximum(step, point.step), one, (point.params, point.state))
    return Point(jnp.maximum(step, point.step), params, state)


def _begin(lane: Lane) -> Progress:
    params = lane.problem.init()
    point = Point(jnp.zeros((), jnp.int64), params, lane.method.init(lane.problem, lane.penalty, params))
    none = jnp.zeros(len(lane.watched), bool)
    held = (point,) * len(lane.watched)
    limit = DIVERGENCE_FACTOR * jnp.maximum(lane.problem.loss(params), 1.0)
    return Progress(limit, point, point, none, none, held, held, jnp.zeros((), bool), jnp.zeros((), bool))


def _record(lane: Lane, progress: Progress, point: Point) -> tuple[Progress, dict[str, jax.Array]]:
    """The progress after a record at `point`, and its row."""
    row = measure(lane, point)
    values = [probe.measure(lane.problem, lane.penalty, point.params) for probe in lane.watched]
    below = jnp.stack([v <= t for v, t in zip(values, lane.thresholds, strict=True)]) if values else progress.below
    loss = lane.problem.loss(point.params)
    broken = ~(loss <= progress.limit) | ~jnp.isfinite(loss)
    entered = below & ~progress.below & ~broken
    hold = lambda when, old: jax.tree.map(lambda new, kept: jnp.where(when, new, kept), progress.anchor, old)  # noqa: E731
    first = tuple(hold(e & ~c, p) for e, c, p in zip(entered, progress.crossed, progress.first, strict=True))
    latest = tuple(hold(e, p) for e, p in zip(entered, progress.latest, strict=True))
    anchor = jax.tree.map(lambda new, kept: jnp.where(broken, kept, new), point, progress.anchor)
    done = broken | jnp.any(entered & lane.stop_on)
    return Progress(progress.limit, point, anchor, below, progress.crossed | entered, first, latest, broken, done), row


def _advance(lane: Lane, progress: Progress, targets: jax.Array, count: jax.Array, stop: jax.Array):
    """Runs through the first `count` of `targets`, recording at each, then on to `stop`."""
    empty = jax.eval_shape(measure, lane, progress.point)
    rows = jax.tree.map(lambda leaf: jnp.full((CAPACITY, *leaf.shape), jnp.nan), empty)

    def go_on(carry):
        index, progress, _ = carry
        return (index < count) & ~progress.done

    def body(carry):
        index, progress, rows = carry
        progress, row = _record(lane, progress, run_to(lane, progress.point, targets[index]))
        return index + 1, progress, jax.tree.map(lambda table, new: table.at[index].set(new), rows, row)

    index, progress, rows = jax.lax.while_loop(go_on, body, (jnp.zeros((), jnp.int64), progress, rows))
    point = run_to(lane, progress.point, jnp.where(progress.done, progress.point.step, stop))
    return eqx.tree_at(lambda p: p.point, progress, point), rows, index


def _pin(lane: Lane, which: int, limit: jax.Array, point: Point, stop: jax.Array):
    """The first step after `point` at or below the threshold, the first and the last above it (-1 if none)."""
    probe, threshold = (TrainLoss(), limit) if which < 0 else (lane.watched[which], lane.thresholds[which])

    def one(step, carry):
        params, state, first_below, first_above, last_above = carry
        params, state = lane.method.step(lane.problem, lane.penalty, params, state)
        below = probe.measure(lane.problem, lane.penalty, params) <= threshold
        first_below = jnp.where(below & (first_below < 0), step + 1, first_below)
        first_above = jnp.where(~below & (first_above < 0), step + 1, first_above)
        return params, state, first_below, first_above, jnp.where(below, last_above, step + 1)

    none = jnp.full((), -1, jnp.int64)
    start = (point.params, point.state, none, none, none)
    _, _, *found = jax.lax.fori_loop(point.step, stop, one, start)
    return jnp.stack(found)


@jax.jit
def begin(lanes: Lane) -> Progress:
    """The start of every lane."""
    return jax.lax.map(_begin, lanes)


@jax.jit
def advance(lanes: Lane, progress: Progress, targets: jax.Array, counts: jax.Array, stops: jax.Array):
    """Advances every lane; returns the progress, the rows and how many rows are filled, lane by lane."""
    return jax.lax.map(lambda args: _advance(*args), (lanes, progress, targets, counts, stops))


@partial(jax.jit, static_argnames="which")
def pin(lanes: Lane, which: int, limits: jax.Array, points: Point, stops: jax.Array) -> jax.Array:
    """Runs a bracket of every lane again, looking at one watched probe (-1: the loss limit) after every step."""
    return jax.lax.map(lambda args: _pin(args[0], which, *args[1:]), (lanes, limits, points, stops))
