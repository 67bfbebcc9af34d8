"""The compiled part of a flow: adaptive steps onto the record times, and crossings located on the dense output."""

from __future__ import annotations

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp

from latebloom.flows.gradient.chebyshev import RungeKuttaChebyshev
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
    stop_on: jax.Array  # which watched errors end the flow once they are below
    rtol: jax.Array
    atol: jax.Array
    stages: jax.Array  # at most
    solver: Any = eqx.field(static=True)  # one of diffrax's
    metric: Any = None  # a positive diagonal D, as parameters: the flow is that of `-D∇F`; without a penalty

    def field(self, t, params, args):
        """`-∇F - ∇h`."""
        gradient = self.problem.gradient(params)
        if self.metric is not None:
            gradient = jax.tree.map(jnp.multiply, self.metric, gradient)
        if self.penalty is None:
            return jax.tree.map(jnp.negative, gradient)
        return jax.tree.map(lambda g, h: -(g + h), gradient, self.penalty.subgradient(params))

    @property
    def stabilised(self) -> bool:
        return isinstance(self.solver, RungeKuttaChebyshev)

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


def stopped(lane: Any, progress: Any) -> jax.Array:
    """Whether an error that ends the flow is below its threshold."""
    return jnp.any(progress.below & lane.stop_on)


def _first_step(lane: FlowLane, params: Any, first: jax.Array) -> jax.Array:
    """A step in which the flow moves by a hundredth of the parameters, at most to the first record."""
    slope = lane.field(0.0, params, None)
    size, speed = (jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree))) for tree in (params, slope))
    return jnp.minimum(first, 0.01 * (size + 1e-3) / jnp.maximum(speed, jnp.finfo(float).tiny))


@eqx.filter_jit
def begin(lane: FlowLane, first: jax.Array) -> FlowProgress:
    """The start: nothing is moved, and the spectral radius is not known yet."""
    params, zero = lane.problem.init(), jnp.zeros(())
    step = _first_step(lane, params, first)
    opened = lane.solver.open if lane.stabilised else lane.solver.init
    memory = opened(lane.terms, zero, step, params, None)
    _, control = lane.controller.init(
        lane.terms, zero, first, params, step, None, lane.solver.func, lane.solver.error_order(lane.terms)
    )
    below = watched(lane, params) <= 0
    crossings = jnp.where(below[:, None], 0.0, jnp.inf) * jnp.ones((1, 2))
    none = jnp.zeros((), jnp.int64)
    spent = memory.gradients if lane.stabilised else none
    loss = lane.problem.loss(params)
    return FlowProgress(
        zero, params, memory, control, step, spent + 1, none, none, none, below, crossings,
        jnp.full(len(lane.watched), jnp.inf, float), ~jnp.isfinite(loss),
    )  # fmt: skip


@eqx.filter_jit
def estimate(lane: FlowLane, progress: FlowProgress, count: jax.Array) -> FlowProgress:
    """`count` power iterations for the spectral radius at the start; of use to a stabilised solver only."""
    if not lane.stabilised:
        return progress
    memory = lane.solver.estimate(lane.terms, progress.time, progress.params, None, progress.memory, count)
    spent = progress.gradients + memory.gradients - progress.memory.gradients
    return eqx.tree_at(lambda p: (p.memory, p.gradients), progress, (memory, spent))


class Trial(eqx.Module):
    """One step as the solver made it, not yet accepted; `clipped` says that it was cut short to end at a record."""

    t0: jax.Array
    t1: jax.Array
    params: Any
    error: Any
    dense: Any
    memory: Any
    clipped: jax.Array
    finite: jax.Array
    watch: jax.Array


def _try(lane: FlowLane, progress: FlowProgress, target: jax.Array) -> Trial:
    """A step of the proposed length, at most to `target`."""
    t0 = progress.time
    reach = jnp.minimum(progress.proposed, _longest(lane, progress))
    clipped = t0 + 1.0000001 * reach >= target
    t1 = jnp.where(clipped, target, t0 + reach)
    params, error, dense, memory, solved = lane.solver.step(
        lane.terms, t0, t1, progress.params, None, progress.memory, jnp.array(False)
    )
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(params)]))
    # An implicit solver may fail to solve its equations: a smaller step is what helps.
    finite = finite & jnp.isfinite(lane.problem.loss(params)) & (solved == diffrax.RESULTS.successful)
    watch = watched(lane, params)  # of the very array that the last gradient is of, so that a compiler can join them
    error = jax.tree.map(lambda e: jnp.where(finite, e, jnp.inf), error)
    # The controller scales the error by the new point, and must not see one that is no point.
    params = jax.tree.map(lambda new, old: jnp.where(finite, new, old), params, progress.params)
    return Trial(t0, t1, params, error, dense, memory, clipped, finite, watch)


def _longest(lane: FlowLane, progress: FlowProgress) -> jax.Array:
    """The largest step that rounding errors and stability allow."""
    return lane.solver.longest_step(progress.memory, lane.stages) if lane.stabilised else jnp.asarray(jnp.inf)


def _judge(lane: FlowLane, progress: FlowProgress, trial: Trial) -> tuple[jax.Array, jax.Array, jax.Array, Any]:
    """Whether the step is accepted, whether only because of a kink, and how long the next one is."""
    keep: Any
    keep, _, after, _, control, _ = lane.controller.adapt_step_size(
        trial.t0, trial.t1, progress.params, trial.params, None, trial.error,
        lane.solver.error_order(lane.terms), progress.control,
    )  # fmt: skip
    after = after - jnp.where(keep, trial.t1, trial.t0)
    plain, length = jnp.zeros((), bool), trial.t1 - trial.t0
    if lane.stabilised:
        # At a kink the error estimate falls with h only, and smooth flow never needs so many rejections in a row.
        radius = trial.memory.radius
        plain = trial.finite & ~keep & (length * radius <= 0.5) & (progress.streak >= PATIENCE)
        # Back to the step of gradient descent, and not the one that so many rejections have come to.
        descent = 0.5 / jnp.maximum(radius, jnp.finfo(float).tiny)
        after = jnp.where(plain, jnp.minimum(descent, 10 * length), after)
        keep = keep | plain
    # A step that was cut short to hit a record says little about the next one.
    proposed = jnp.minimum(progress.proposed, _longest(lane, progress))
    return keep, plain, jnp.where(keep & trial.clipped, jnp.maximum(after, proposed), after), control


def _remember(lane: FlowLane, progress: FlowProgress, trial: Trial, keep: jax.Array) -> tuple[Any, jax.Array]:
    """What the solver remembers after the step, and how many gradients were spent."""
    old, new = progress.memory, trial.memory
    if not lane.stabilised:  # a solver that reuses its last slope must not reuse that of a rejected step
        kept = jax.tree.map(lambda new, old: jnp.where(keep, new, old), new, old)
        return kept, jnp.array(_cost(lane.solver))

    def refreshed():
        spent = eqx.tree_at(lambda memory: memory.gradients, old, new.gradients)
        return lane.solver.refresh(lane.terms, trial.t0, progress.params, None, spent)

    memory: Any = jax.lax.cond(keep, lambda: new, refreshed)
    return memory, memory.gradients - old.gradients


def attempt(lane: FlowLane, progress: FlowProgress, target: jax.Array) -> tuple[FlowProgress, jax.Array]:
    """One step towards `target`, accepted or not; also says whether the target was reached."""
    trial = _try(lane, progress, target)
    keep, plain, after, control = _judge(lane, progress, trial)
    memory, spent = _remember(lane, progress, trial, keep)
    path = lane.solver.interpolation_cls(t0=trial.t0, t1=trial.t1, **trial.dense).evaluate
    below, crossings, lost = find_crossings(lane, progress, (trial.t0, trial.t1), path, trial.watch, keep)
    choose = lambda new, old: jax.tree.map(lambda a, b: jnp.where(keep, a, b), new, old)  # noqa: E731
    moved = FlowProgress(
        time=jnp.where(keep, trial.t1, trial.t0),
        params=choose(trial.params, progress.params),
        memory=memory,
        control=control,
        proposed=after,
        gradients=progress.gradients + spent,
        accepted=progress.accepted + keep,
        rejected=progress.rejected + ~keep,
        streak=jnp.where(keep & ~plain, 0, progress.streak + 1),
        below=below,
        crossings=crossings,
        lost=lost,
        broken=~keep & ~(after > SMALLEST * jnp.maximum(target, jnp.finfo(float).tiny)),
    )
    return moved, keep & trial.clipped


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
        able = (progress.gradients < budget) & ~progress.broken & ~stopped(lane, progress)
        return (index < count) & able

    def body(carry):
        index, progress, rows = carry
        progress, reached = attempt(lane, progress, targets[index])
        write = lambda rows: jax.tree.map(lambda t, new: t.at[index].set(new), rows, measure(lane, progress.params))  # noqa: E731
        rows = jax.lax.cond(reached, write, lambda rows: rows, rows)
        return index + reached, progress, rows

    index, progress, rows = jax.lax.while_loop(go_on, body, (jnp.zeros((), jnp.int64), progress, rows))
    return progress, rows, index
