"""The compiled part of a flow: adaptive steps onto the record times, and crossings located on the dense output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp

from latebloom.flows.chebyshev import RungeKuttaChebyshev
from latebloom.penalties import AbstractPenalty
from latebloom.probes import AbstractProbe
from latebloom.problems import AbstractProblem

CAPACITY = 64  # records written by one call
BISECTIONS = 40  # halvings of a step in which a threshold was crossed
SMALLEST = 1e-14  # a step of this share of the time makes no progress
PATIENCE = 4  # rejections in a row, after which a step that gradient descent would make is accepted


class FlowLane(eqx.Module):
    """Everything that defines one flow's arithmetic."""

    problem: AbstractProblem
    penalty: AbstractPenalty | None
    probes: tuple[AbstractProbe, ...]
    watched: tuple[AbstractProbe, ...]
    thresholds: jax.Array
    rtol: jax.Array
    atol: jax.Array
    solver: Any = eqx.field(static=True)  # one of diffrax's
    metric: Any = None  # a positive diagonal D, as parameters: the flow is that of `-D∇F`; without a penalty

    def start(self, first: float, budget: int, cancelled: Callable[[], bool]) -> FlowProgress:
        """Where the steps begin."""
        return begin(self, jnp.asarray(first))

    def advance(self, progress, targets, count, budget):
        """Steps on through the record times."""
        return advance(self, progress, targets, count, budget)

    def field(self, t, params, args):
        """`-∇F - ∇h`."""
        gradient = self.problem.gradient(params)
        if self.metric is not None:
            gradient = jax.tree.map(jnp.multiply, self.metric, gradient)
        if self.penalty is None:
            return jax.tree.map(jnp.negative, gradient)
        return jax.tree.map(lambda g, h: -(g + h), gradient, self.penalty.subgradient(params))

    @property
    def terms(self) -> diffrax.ODETerm:
        return diffrax.ODETerm(self.field)

    @property
    def controller(self) -> diffrax.PIDController:
        return diffrax.PIDController(rtol=self.rtol, atol=self.atol)


class FlowProgress(eqx.Module):
    """A flow in progress.

    `below` says which watched errors are below their thresholds; `crossings` holds, for each, the time of the first and
    the latest descent below it, and `lost` of the first return above, infinite where there was none.
    """

    time: jax.Array
    params: Any
    memory: Any
    control: Any
    proposed: jax.Array
    gradients: jax.Array
    accepted: jax.Array
    rejected: jax.Array
    streak: jax.Array
    below: jax.Array
    crossings: jax.Array
    lost: jax.Array
    broken: jax.Array


def measure(lane: Any, params: Any) -> dict[str, jax.Array]:
    """Every probe at these parameters."""
    return {probe.column: probe.measure(lane.problem, lane.penalty, params) for probe in lane.probes}


def watched(lane: Any, params: Any) -> jax.Array:
    """The watched errors less their thresholds."""
    if not lane.watched:
        return jnp.zeros(0)
    values = jnp.stack([probe.measure(lane.problem, lane.penalty, params) for probe in lane.watched])
    return values - lane.thresholds


def _first_step(lane: FlowLane, params: Any, first: jax.Array) -> jax.Array:
    """A step in which the flow moves by a hundredth of the parameters, at most to the first record."""
    slope = lane.field(0.0, params, None)
    size, speed = (jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree))) for tree in (params, slope))
    return jnp.minimum(first, 0.01 * (size + 1e-3) / jnp.maximum(speed, jnp.finfo(float).tiny))


@eqx.filter_jit
def begin(lane: FlowLane, first: jax.Array) -> FlowProgress:
    """The start: the spectral radius is estimated, nothing is moved."""
    params, zero = lane.problem.init(), jnp.zeros(())
    step = _first_step(lane, params, first)
    memory = lane.solver.init(lane.terms, zero, step, params, None)
    _, control = lane.controller.init(
        lane.terms, zero, first, params, step, None, lane.solver.func, lane.solver.error_order(lane.terms)
    )
    below = watched(lane, params) <= 0
    crossings = jnp.where(below[:, None], 0.0, jnp.inf) * jnp.ones((1, 2))
    none = jnp.zeros((), jnp.int64)
    spent = memory.gradients if isinstance(lane.solver, RungeKuttaChebyshev) else none
    loss = lane.problem.loss(params)
    return FlowProgress(
        zero, params, memory, control, step, spent + 1, none, none, none, below, crossings,
        jnp.full(len(lane.watched), jnp.inf), ~jnp.isfinite(loss),
    )  # fmt: skip


def attempt(lane: FlowLane, progress: FlowProgress, target: jax.Array) -> tuple[FlowProgress, jax.Array]:
    """One step towards `target`, accepted or not; also says whether the target was reached."""
    stabilised = isinstance(lane.solver, RungeKuttaChebyshev)
    longest = lane.solver.longest_step(progress.memory) if stabilised else jnp.inf
    t0 = progress.time
    reach = jnp.minimum(progress.proposed, longest)
    clipped = t0 + 1.0000001 * reach >= target
    t1 = jnp.where(clipped, target, t0 + reach)
    y1, error, dense, memory, _ = lane.solver.step(
        lane.terms, t0, t1, progress.params, None, progress.memory, jnp.array(False)
    )
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(y1)]))
    finite = finite & jnp.isfinite(lane.problem.loss(y1))
    error = jax.tree.map(lambda e: jnp.where(finite, e, jnp.inf), error)
    # The controller scales the error by the new point, and must not see one that is no point.
    y1 = jax.tree.map(lambda new, old: jnp.where(finite, new, old), y1, progress.params)
    keep: Any
    keep, _, after, _, control, _ = lane.controller.adapt_step_size(
        t0, t1, progress.params, y1, None, error, lane.solver.error_order(lane.terms), progress.control
    )
    after = after - jnp.where(keep, t1, t0)
    plain = jnp.zeros((), bool)
    if stabilised:
        # At a kink the error estimate falls with h only, and smooth flow never needs so many rejections in a row.
        plain = finite & ~keep & ((t1 - t0) * memory.radius <= 0.5) & (progress.streak >= PATIENCE)
        # Back to the step of gradient descent, and not the one that so many rejections have come to.
        descent = 0.5 / jnp.maximum(memory.radius, jnp.finfo(float).tiny)
        after = jnp.where(plain, jnp.minimum(descent, 10 * (t1 - t0)), after)
        keep = keep | plain
        memory = jax.lax.cond(
            keep,
            lambda: memory,
            lambda: lane.solver.refresh(
                lane.terms,
                t0,
                progress.params,
                None,
                eqx.tree_at(lambda m: m.gradients, progress.memory, memory.gradients),
            ),
        )
    else:  # a solver that reuses its last slope must not reuse that of a rejected step
        memory = jax.tree.map(lambda new, old: jnp.where(keep, new, old), memory, progress.memory)
    spent = memory.gradients - progress.memory.gradients if stabilised else jnp.array(_cost(lane.solver))
    # A step that was cut short to hit a record says little about the next one.
    after = jnp.where(keep & clipped, jnp.maximum(after, jnp.minimum(progress.proposed, longest)), after)
    watch = watched(lane, y1)
    path = lane.solver.interpolation_cls(t0=t0, t1=t1, **dense).evaluate
    below, crossings, lost = find_crossings(lane, progress, (t0, t1), path, watch, keep)
    choose = lambda new, old: jax.tree.map(lambda a, b: jnp.where(keep, a, b), new, old)  # noqa: E731
    moved = FlowProgress(
        jnp.where(keep, t1, t0),
        choose(y1, progress.params),
        memory,
        control,
        after,
        progress.gradients + spent,
        progress.accepted + keep,
        progress.rejected + ~keep,
        jnp.where(keep & ~plain, 0, progress.streak + 1),
        below,
        crossings,
        lost,
        ~keep & ~(after > SMALLEST * jnp.maximum(target, jnp.finfo(float).tiny)),
    )
    return moved, keep & clipped


def find_crossings(lane, progress, span, path, watch, keep):
    """Where the watched errors went below or above their thresholds in this step, by bisection on the dense output."""
    if not lane.watched:
        return progress.below, progress.crossings, progress.lost
    now = watch <= 0
    entered, left = keep & now & ~progress.below, keep & ~now & progress.below
    t0, t1 = span

    def locate(which: int) -> jax.Array:
        def halve(_, bracket):
            low, high = bracket
            middle = (low + high) / 2
            inside = (watched(lane, path(middle))[which] <= 0) == now[which]
            return jnp.where(inside, low, middle), jnp.where(inside, middle, high)

        search = lambda: jax.lax.fori_loop(0, BISECTIONS, halve, (t0, t1))[1]  # noqa: E731
        return jax.lax.cond(entered[which] | left[which], search, lambda: t1)

    times = jnp.stack([locate(which) for which in range(len(lane.watched))])
    first = jnp.where(entered & jnp.isinf(progress.crossings[:, 0]), times, progress.crossings[:, 0])
    latest = jnp.where(entered, times, progress.crossings[:, 1])
    lost = jnp.where(left & jnp.isinf(progress.lost), times, progress.lost)
    return jnp.where(keep, now, progress.below), jnp.stack([first, latest], axis=1), lost


def _cost(solver: diffrax.AbstractSolver) -> int:
    """Gradients a step of one of diffrax's own solvers; implicit ones are counted by their stages."""
    tableau = getattr(solver, "tableau", None)
    return 1 if tableau is None else len(tableau.b_sol)


@eqx.filter_jit
def advance(lane: FlowLane, progress: FlowProgress, targets: jax.Array, count: jax.Array, budget: jax.Array):
    """Steps on through the first `count` of `targets`, recording at each, as long as the budget of gradients lasts."""
    empty = jax.eval_shape(measure, lane, progress.params)
    rows = jax.tree.map(lambda leaf: jnp.full((CAPACITY, *leaf.shape), jnp.nan), empty)

    def go_on(carry):
        index, progress, _ = carry
        return (index < count) & (progress.gradients < budget) & ~progress.broken

    def body(carry):
        index, progress, rows = carry
        progress, reached = attempt(lane, progress, targets[index])
        write = lambda rows: jax.tree.map(lambda t, new: t.at[index].set(new), rows, measure(lane, progress.params))  # noqa: E731
        rows = jax.lax.cond(reached, write, lambda rows: rows, rows)
        return index + reached, progress, rows

    index, progress, rows = jax.lax.while_loop(go_on, body, (jnp.zeros((), jnp.int64), progress, rows))
    return progress, rows, index
