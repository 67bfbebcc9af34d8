"""The edge of stability: whether steps are longer than the curvature allows, measured now and then while a run goes on.

A gradient step multiplies a perturbation along an eigenvector of the Hessian by `1 - learning_rate · λ`: above
`learning_rate · λ = 2` it grows, until other directions stop it. Such a run need not diverge, but it does not follow
the flow. The largest λ comes from a few steps of Lanczos; their products are differences of the compiled step itself,

    learning_rate · H v = v - (step(w + ε v) - step(w)) / ε,

so that nothing else is compiled (a program of Hessian products takes a fifth of the compilation time of a run), and the
rounding error is small just where it matters, at `learning_rate · λ` near 2. A kink of a network is a jump of the slope
and 1/ε in such a difference: what seems to be above the limit is measured again with exact products. A Ritz value is
never above the largest eigenvalue: what is said to be above the limit is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.arrays import Params
from latebloom.errors import LatebloomWarning
from latebloom.methods import ProximalGradient

if TYPE_CHECKING:
    from latebloom.engine.training import TrainJob

FIRST, PER_DECADE = 1000, 3  # when it is measured: 19 steps at the first moment are 1.9 % of the run, less later
PRODUCTS = 8  # steps of Lanczos: on networks within 1 % of the largest eigenvalue (tests/engine/test_stability.py)
LONG = 2  # moments in a row: the step was too long while the number of steps doubled
# ε over |w|: a difference of steps is off by rounding / ε, 1e-10 and 6e-5 in double and single precision.
APART = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-3}

Move = Callable[[Params], Params]  # the parameters of all lanes after one more step


def moments(job: TrainJob) -> np.ndarray:
    """The steps at which a run is looked at; none where no limit is known, or where the curvature is constant.

    They do not depend on how long the run is: one that is continued is looked at as if it had not been interrupted.
    """
    if job.method.stable_below is None or job.problem.linear or job.steps < FIRST:
        return np.zeros(0, dtype=np.int64)
    count = int(PER_DECADE * np.log10(job.steps / FIRST) + 1e-9) + 1
    return np.round(FIRST * 10.0 ** (np.arange(count) / PER_DECADE)).astype(np.int64)


def curved(lane: Any) -> bool:
    """Whether the penalty is part of what a step is too long for."""
    return lane.penalty.smooth and not isinstance(lane.method, ProximalGradient)


def plain_steps(lanes: Any) -> Any:
    """The lanes as they are measured: with a penalty that has no curvature, or is stepped on by its prox, at zero.

    Strengths are leaves, so that the program is the same one.
    """
    penalty = lanes.penalty
    if penalty is None or curved(lanes):
        return lanes
    off = lambda path, leaf: jnp.zeros_like(leaf) if getattr(path[-1], "name", "") == "strength" else leaf  # noqa: E731
    return eqx.tree_at(lambda lanes: lanes.penalty, lanes, jax.tree_util.tree_map_with_path(off, penalty))


def _slope(lane: Any, params: Params) -> Params:
    """What a step follows, but for penalties that have no curvature."""
    gradient = lane.problem.gradient(params)
    if lane.penalty is None or not curved(lane):
        return gradient
    return jax.tree.map(jnp.add, gradient, lane.penalty.subgradient(params))


@jax.jit
def hessian_products(lanes: Any, params: Params, directions: Params) -> Params:
    """`H v`, lane by lane."""
    return jax.lax.map(
        lambda one: jax.jvp(lambda at: _slope(one[0], at), (one[1],), (one[2],))[1], (lanes, params, directions)
    )


@np.errstate(over="ignore", invalid="ignore")  # on its way out of all numbers a run has no curvature: NaN
def step_times_curvature(move: Move, params: Params, exact: Move | None = None) -> np.ndarray:
    """`learning_rate · λ_max` lane by lane: the largest Ritz value of Lanczos from the step that comes next.

    Products are differences of `move`, or `exact(directions)`.

    At the edge that step is mostly along the sharp direction; some noise sees to it that every direction is in it.
    """
    leaves, tree = jax.tree.flatten(params)
    here, there = _flat(leaves), _flat(jax.tree.leaves(move(params)))
    count, size = here.shape
    scale = np.maximum(np.linalg.norm(here, axis=1), np.linalg.norm(there - here, axis=1))[:, None]
    apart = max(APART.get(np.dtype(leaf.dtype), 1e-3) for leaf in leaves) * np.where(scale > 0, scale, 1.0)

    def product(direction: np.ndarray) -> np.ndarray:
        if exact is not None:
            return _flat(jax.tree.leaves(exact(jax.tree.unflatten(tree, _unflat(direction, leaves)))))
        moved = _unflat(here + apart * direction, leaves)
        gone = _flat(moved) - here  # what rounding has left of it
        return (gone - (_flat(jax.tree.leaves(move(jax.tree.unflatten(tree, moved)))) - there)) / apart

    noise = np.random.default_rng(0).standard_normal((1, size))
    return _largest(product, _unit(_unit(there - here) + 0.3 * _unit(noise) * np.ones((count, 1))))


def _largest(product: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> np.ndarray:
    """The largest eigenvalue of the tridiagonal matrix of Lanczos, lane by lane; rows are lanes."""
    lanes, size = start.shape
    now, before, beta = start, np.zeros_like(start), np.zeros(lanes)
    tables = np.zeros((lanes, PRODUCTS, PRODUCTS))
    for k in range(min(PRODUCTS, size)):
        image = product(now)
        alpha = np.sum(now * image, axis=1)
        tables[:, k, k] = alpha
        rest = image - alpha[:, None] * now - beta[:, None] * before
        beta = np.linalg.norm(rest, axis=1)
        beta = np.where(beta > 1e-9 * (1 + np.abs(alpha)), beta, 0.0)  # all directions that the start has are seen
        before, now = now, np.where(beta[:, None] > 0, rest / np.where(beta > 0, beta, 1.0)[:, None], 0.0)
        if k + 1 < PRODUCTS:
            tables[:, k, k + 1] = tables[:, k + 1, k] = beta
    bad = ~np.isfinite(tables.reshape(lanes, -1)).all(axis=1)
    tables[bad] = 0.0
    return np.where(bad, np.nan, np.linalg.eigvalsh(tables)[:, -1])


def _unit(rows: np.ndarray) -> np.ndarray:
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(sizes > 0, sizes, 1.0)


def _flat(leaves: list[Any]) -> np.ndarray:
    """A row per lane, in double precision."""
    return np.concatenate([np.asarray(leaf, dtype=float).reshape(len(leaf), -1) for leaf in leaves], axis=1)


def _unflat(rows: np.ndarray, like: list[Any]) -> list[np.ndarray]:
    ends = np.cumsum([np.asarray(leaf)[0].size for leaf in like])[:-1]
    parts = np.split(rows, ends, axis=1)
    return [part.reshape(leaf.shape).astype(leaf.dtype) for part, leaf in zip(parts, like, strict=True)]


@dataclass
class Edge:
    """What was seen of one run: the steps looked at, and how many times the longest stable step its own was."""

    job: TrainJob
    steps: list[int] = field(default_factory=list)
    factors: list[float] = field(default_factory=list)
    at_start: float | None = None  # looked at where a run diverges
    warned: bool = False

    def __post_init__(self):
        self.moments = moments(self.job)

    @property
    def due(self) -> float:
        """The next moment to look at; infinite after the last one."""
        return float(self.moments[len(self.steps)]) if len(self.steps) < len(self.moments) else np.inf

    def saw(self, step: int, step_times_curvature: float) -> None:
        """Notes what was measured, and warns as soon as the step has been too long for long."""
        self.steps.append(step)
        self.factors.append(self.factor(step_times_curvature))
        if not self.warned and (span := self.longest()) is not None:
            self.warned = True
            warnings.warn(f"{self.job.problem.name()}: {self._says(*span)}", LatebloomWarning, stacklevel=2)

    def factor(self, step_times_curvature: float) -> float:
        """How many times the longest stable step the step is."""
        return step_times_curvature / (self.job.method.stable_below or np.inf)

    def state(self) -> dict[str, np.ndarray]:
        """What was seen, for a run that goes on later."""
        return {"step": np.array(self.steps, dtype=np.int64), "factor": np.array(self.factors, dtype=float)}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Puts back what was seen; what was warned of once is not again."""
        self.steps, self.factors = np.asarray(state["step"]).tolist(), np.asarray(state["factor"]).tolist()
        self.warned = self.longest() is not None

    def longest(self) -> tuple[int, int] | None:
        """Where the longest row of moments with a step above the limit begins and ends; None if there is none."""
        best, begun = None, None
        for place, factor in enumerate([*self.factors, 0.0]):
            if factor > 1:
                begun = place if begun is None else begun
                continue
            if begun is not None and place - begun >= LONG and (best is None or place - begun > best[1] - best[0] + 1):
                best = begun, place - 1
            begun = None
        return best

    @property
    def remark(self) -> str:
        """What the outcome of the run says of it; nothing of a run whose steps were short enough."""
        span = self.longest()
        return "" if span is None else f", {self._says(*span)}"

    def _says(self, begin: int, end: int) -> str:
        until = "on" if end == len(self.moments) - 1 else f"to step {self.steps[end]:,}"
        when = f"from step {self.steps[begin]:,} {until}"
        return f"steps at the edge of stability {when}: {too_long(self.job, max(self.factors[begin : end + 1]))}"


def too_long(job: TrainJob, factor: float) -> str:
    """A learning rate that is so many times the longest stable one, in words, and what to use."""
    rate = float(getattr(job.method, "learning_rate", 1.0))
    named = f"{job.method.stable_below or 2:.3g}/sharpness"
    above = f"learning_rate={rate:g} is {factor:.3g} times {named} = {rate / factor:.3g}"
    return f"{above}; use e.g. {rate / factor / 2:.2g}"
