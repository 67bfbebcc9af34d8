"""A stabilised explicit solver for gradient flows: Runge–Kutta–Chebyshev of second order, as a diffrax solver."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

DAMPING = 2 / 13  # ε: keeps the stability polynomial away from ±1 inside the interval
INTERVAL = 2 / 3 * (1 - 2 * DAMPING / 15)  # the stability interval of s stages is INTERVAL (s² - 1), up to O(1/s²)
SAFETY = 1.15  # on the estimate of the spectral radius, which power iterations approach from below
FORGET = 0.05  # how fast a spectral radius that has fallen is believed
FIRST, AGAIN = 30, 10  # power iterations at the start, and at most after a rejected step
SETTLED = 0.01  # a relative change of the spectral radius after which there are no more of them
MOST_STAGES = 2**15


class Memory(eqx.Module):
    """What the solver remembers: spectral radius of the Jacobian, its vector, the field there, what it has spent."""

    radius: jax.Array
    vector: jax.Array
    slope: jax.Array
    gradients: jax.Array


class RungeKuttaChebyshev(diffrax.AbstractSolver):
    """Explicit, of second order, with as many stages as the step needs to be stable.

    The eigenvalues of a gradient flow are real. With s stages the polynomial of the method stays below 1 on an interval
    that grows as s², so a step h costs `√(h ρ / 0.65)` gradients where ρ is the spectral radius: n times the stiffness
    costs √n times the work, where an ordinary explicit method pays n times. ρ is followed by one power iteration
    (a Hessian-vector product) a step, at its end, where the field is needed as well: both serve the next step.

    Error estimate, dense output (cubic Hermite) and everything else that diffrax's controllers and events need are
    there; `max_stages` limits the step: one that would need more is refused by an infinite error.

    Source: Sommeijer, Shampine and Verwer, "RKC: an explicit solver for parabolic PDEs", 1997.
    """

    max_stages: int = eqx.field(static=True, default=MOST_STAGES)

    term_structure: ClassVar = diffrax.ODETerm
    interpolation_cls: ClassVar[Callable[..., Any]] = diffrax.ThirdOrderHermitePolynomialInterpolation

    def order(self, terms):
        return 2

    def error_order(self, terms):
        return 3

    def func(self, terms, t0, y0, args):
        return terms.vf(t0, y0, args)

    def init(self, terms, t0, t1, y0, args):
        return self.estimate(terms, t0, y0, args, self.open(terms, t0, t1, y0, args), FIRST)

    def open(self, terms, t0, t1, y0, args) -> Memory:
        """What is remembered before anything is known of the spectral radius."""
        flat, field = _flat_field(terms, t0, y0, args)
        slope = field(flat)
        # The flow's own direction, and a little of everything else lest it be orthogonal to the stiffest one.
        spread = jnp.cos(jnp.arange(1, flat.size + 1, dtype=flat.dtype))
        vector = slope + 1e-3 * (jnp.linalg.norm(slope) + 1) * spread
        unit, one = vector / jnp.linalg.norm(vector), jnp.ones((), jnp.int64)
        return Memory(jnp.zeros((), flat.dtype), unit, slope, one)

    def estimate(self, terms, t0, y0, args, memory: Memory, count: int | jax.Array) -> Memory:
        """`count` power iterations at `y0`."""
        flat, field = _flat_field(terms, t0, y0, args)
        return power_iterations(field, flat, memory, count)

    def refresh(self, terms, t0, y0, args, memory: Memory) -> Memory:
        """More power iterations at `y0`, until the radius has settled: what to do when a step was rejected."""
        flat, field = _flat_field(terms, t0, y0, args)

        def moves(carry):
            memory, before, count = carry
            return (count < AGAIN) & (jnp.abs(memory.radius - before) > SETTLED * memory.radius)

        def once(carry):
            memory, _, count = carry
            return power_iterations(field, flat, memory, 1), memory.radius, count + 1

        return jax.lax.while_loop(moves, once, (memory, jnp.full_like(memory.radius, jnp.inf), 0))[0]

    def longest_step(self, memory: Memory, stages: jax.Array) -> jax.Array:
        """The largest step that so many stages keep stable."""
        return INTERVAL * (stages**2 - 1) / (SAFETY * jnp.maximum(memory.radius, jnp.finfo(float).tiny))

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        flat, unravel = ravel_pytree(y0)
        field = lambda t, y: ravel_pytree(terms.vf(t, unravel(y), args))[0]  # noqa: E731
        h = jnp.asarray(terms.contr(t0, t1), flat.dtype)  # negative if diffrax runs backwards in time
        first = jax.lax.cond(made_jump, lambda: field(t0, flat), lambda: solver_state.slope)
        stages = stages_for(jnp.abs(h) * SAFETY * solver_state.radius)
        within = stages <= self.max_stages
        stages = jnp.minimum(stages, self.max_stages)
        moved: Any = _stages(field, (t0, t1), h, flat, first, stages)
        last: Any = flat + moved
        slope = field(t1, last)
        error = 0.4 * h * (first + slope) - 0.8 * moved
        error = jnp.where(within, error, jnp.inf)
        memory = power_iterations(lambda y: field(t1, y), last, solver_state, 1)
        memory = eqx.tree_at(lambda m: (m.slope, m.gradients), memory, (slope, memory.gradients + stages))
        dense: dict[str, Any] = {"y0": y0, "y1": unravel(last), "k0": unravel(h * first), "k1": unravel(h * slope)}
        return unravel(last), unravel(error), dense, memory, diffrax.RESULTS.successful


def most_stages(rtol: float, epsilon: float) -> int:
    """As many stages as rounding allows, whose errors grow as their square: `√(rtol / 10ε)`.

    >>> most_stages(1e-4, 2.2e-16), most_stages(1e-2, 1.2e-7)
    (32768, 91)
    """
    return min(MOST_STAGES, max(16, math.isqrt(int(rtol / (10 * epsilon)))))


def stages_for(stiffness: jax.Array) -> jax.Array:
    """The smallest number of stages, two or more, whose stability interval holds `stiffness = h ρ`."""
    return jnp.maximum(jnp.ceil(jnp.sqrt(1 + stiffness / INTERVAL)), 2).astype(jnp.int64)


def power_iterations(field: Callable[[jax.Array], jax.Array], at: jax.Array, memory: Memory, count: Any) -> Memory:
    """The spectral radius of the field's Jacobian at a point, from the last estimate on; a fall is believed slowly."""

    def once(_, carry):
        vector, _ = carry
        product = jax.jvp(field, (at,), (vector,))[1]
        size = jnp.linalg.norm(product)
        return jnp.where(size > 0, product / jnp.where(size > 0, size, 1.0), vector), size

    vector, size = jax.lax.fori_loop(0, count, once, (memory.vector, memory.radius))
    radius = jnp.where(jnp.isfinite(size), jnp.maximum(size, (1 - FORGET) * memory.radius), memory.radius)
    vector = jnp.where(jnp.isfinite(vector), vector, memory.vector)
    # A product of the Jacobian with a vector costs about two gradients.
    return Memory(radius, vector, memory.slope, memory.gradients + 2 * count)


def chebyshev(count: jax.Array, w0: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """`T_s`, `T_s'` and `T_s''` at `w0 > 1`.

    >>> [round(float(value), 9) for value in chebyshev(jnp.array(3.0), jnp.array(1.5))]
    [9.0, 24.0, 36.0]
    """
    angle = jnp.arccosh(w0)
    sinh, high, low = jnp.sinh(angle), jnp.cosh(count * angle), jnp.sinh(count * angle)
    slope = count * low / sinh
    return high, slope, (count**2 * high - w0 * slope) / sinh**2


def _stages(field, span, h, start, first, stages) -> jax.Array:
    """How far the last stage is from the start; the coefficients follow the recursion of the Chebyshev polynomials.

    Rounding errors grow as s² of what the recursion carries: the distance moved, and not the point itself.
    """
    t0, t1 = span
    kind = start.dtype
    count = stages.astype(jnp.float64)
    w0 = 1 + DAMPING / count**2
    _, slope, curvature = chebyshev(count, w0)
    w1 = slope / curvature
    # (T, T', T'') of degree 1 and 2, then b_j = T_j'' / T_j'², with b_0 = b_1 = b_2.
    one, two = (w0, jnp.ones_like(w0), jnp.zeros_like(w0)), (2 * w0**2 - 1, 4 * w0, 4 * jnp.ones_like(w0))
    b2 = two[2] / two[1] ** 2

    def stage(j, carry):
        before, latest, (t_old, t_new), (b_old, b_new), time = carry
        now = tuple(
            2 * w0 * new - old + extra
            for new, old, extra in zip(t_new, t_old, (0.0, 2 * t_new[0], 4 * t_new[1]), strict=True)
        )
        b = now[2] / now[1] ** 2
        mu, nu, scaled = 2 * w0 * b / b_new, -b / b_old, 2 * w1 * b / b_new
        gamma = -(1 - b_new * t_new[0]) * scaled
        slope = field(t0 + (t1 - t0) * time.astype(kind), start + latest)
        moved = (
            mu.astype(kind) * latest
            + nu.astype(kind) * before
            + (h * scaled.astype(kind)) * slope
            + (h * gamma.astype(kind)) * first
        )
        return latest, moved, (t_new, now), (b_new, b), w1 * now[2] / now[1]

    zero = (jnp.ones_like(w0), jnp.zeros_like(w0), jnp.zeros_like(w0))
    opening = ((b2 * w1).astype(kind) * h) * first
    begin = w1 * two[2] / two[1] / (4 * w0)  # c_1 = c_2 / (4 w0)
    carry = (jnp.zeros_like(start), opening, (zero, one), (b2, b2), begin)
    # The second stage is the first that the recursion makes; its b is b_2 as well.
    _, last, *_ = jax.lax.fori_loop(2, stages + 1, stage, carry)
    return last


def _flat_field(terms, t0, y0, args) -> tuple[jax.Array, Callable[[jax.Array], jax.Array]]:
    flat, unravel = ravel_pytree(y0)
    return flat, lambda y: ravel_pytree(terms.vf(t0, unravel(y), args))[0]
