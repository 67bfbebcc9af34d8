"""The geometry of the zero-loss set `{w : r(w) = 0}`: retraction, tangent space, distance, and least norm on it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from latebloom.core.arrays import Params
from latebloom.core.precision import require_double
from latebloom.problems.base import AbstractProblem, require_least_squares
from latebloom.zero_loss.normal_equations import Linearised, Nearby

RESIDUAL = 1e-10  # |r| at which a point counts as one of zero loss, relative to |r(w0)| where that is above 1
ROUNDS = 60  # Gauss-Newton steps at most; near the set they converge quadratically and three are enough
SHORTEST = 1e-3  # share of a Gauss-Newton step that may be needed, far from the set
INEXACT = 1e-4  # how well the equations of one of them are solved: the next one corrects the rest


class Retracted(NamedTuple):
    """A point with `|r| = residual`, and what it cost in products with J and its transpose."""

    point: jax.Array
    residual: jax.Array
    products: jax.Array


def linearised(
    problem: AbstractProblem, flat: jax.Array, metric: jax.Array | None = None, nearby: Nearby | None = None
) -> Linearised:
    """The problem's residuals linearised at all its parameters in one vector."""
    require_double(problem, "the zero-loss set")
    unravel = ravel_pytree(problem.init())[1]
    residuals = require_least_squares(problem, "the zero-loss set").residuals
    return Linearised.at(lambda w: residuals(unravel(w)), flat, metric, nearby)


def tangent_projection(problem: AbstractProblem, params: Params, vector: Params) -> Params:
    """`P v = v - Jᵀ(J Jᵀ)⁻¹ J v`, the orthogonal projection onto the kernel of the residuals' Jacobian J at `params`.

    That is the tangent space of the level set of the residuals. Where J loses rank it is that of the directions in
    which J is larger than 3e-7 of its norm (in which conjugate gradients see it, for more than 48 residuals).

    >>> import jax.numpy as jnp, latebloom as lb
    >>> problem = lb.problems.ToyModel("plane")
    >>> tangent_projection(problem, jnp.ones(3), jnp.array([3.0, 0.0, 0.0])).round(12).tolist()
    [2.0, -1.0, -1.0]
    """
    flat, unravel = ravel_pytree(params)
    return unravel(_project(linearised(problem, flat), ravel_pytree(vector)[0]))


def _project(here: Linearised, vector: jax.Array) -> jax.Array:
    u, _ = here.solve(here.apply(vector))
    return vector - here.transpose(u)


def retract(
    problem: AbstractProblem,
    flat: jax.Array,
    tolerance: Any,
    metric: jax.Array | None = None,
    nearby: Nearby | None = None,
) -> Retracted:
    """Gauss-Newton steps of least norm, `w ← w - D Jᵀ(J D Jᵀ)⁻¹ r`, until `|r| ≤ tolerance` or they stop helping.

    A step that does not lower `|r|` is shortened to a quarter, one that does is followed by a longer one.
    """

    def go_on(carry):
        _, size, _, count, length = carry
        return (size > tolerance) & (count < ROUNDS) & (length > SHORTEST)

    def step(carry):
        w, size, products, count, length = carry
        here = linearised(problem, w, metric, nearby)
        u, cost = here.solve(here.residual, tolerance=INEXACT)
        moved = w - length * here.scaled(here.transpose(u))
        after = residual_size(problem, moved)
        better = after < size  # false for NaN
        length = jnp.where(better, jnp.minimum(1.0, 4 * length), length / 4)
        return jnp.where(better, moved, w), jnp.where(better, after, size), products + cost, count + 1, length

    zero = jnp.zeros((), jnp.int64)
    start = (flat, residual_size(problem, flat), zero, zero, jnp.ones(()))
    w, size, products, *_ = jax.lax.while_loop(go_on, step, start)
    return Retracted(w, size, products)


def residual_size(problem: Any, flat: jax.Array) -> jax.Array:
    """`|r|` at all parameters in one vector."""
    return jnp.linalg.norm(problem.residuals(ravel_pytree(problem.init())[1](flat)))


def residual_goal(problem: AbstractProblem, tolerance: Any = RESIDUAL) -> jax.Array:
    """`tolerance`, relative to the residuals at the start where those are larger than 1."""
    return tolerance * jnp.maximum(1.0, residual_size(problem, ravel_pytree(problem.init())[0]))


def retraction(problem: AbstractProblem, params: Params, *, tolerance: float = RESIDUAL) -> Params:
    """The point of zero loss that Gauss-Newton steps of least norm lead to from `params`.

    `w ← w - Jᵀ(J Jᵀ)⁻¹ r(w)`, quadratically convergent. From a point of the set, `retraction(w + εv)` for a tangent v
    is `w + εv + O(ε²)`. Where no zero loss is near, the point with the least residual found.

    >>> import jax.numpy as jnp, latebloom as lb
    >>> retraction(lb.problems.ToyModel("plane"), jnp.array([0.0, 1.0, 5.0])).round(12).tolist()
    [-1.0, 0.0, 4.0]
    """
    flat, unravel = ravel_pytree(params)
    return unravel(retract(problem, flat, residual_goal(problem, tolerance)).point)


def distance_to_zero_loss(problem: AbstractProblem, params: Params) -> jax.Array:
    """`|w - retraction(w)|`: the distance to the zero-loss set, to second order in it (exact if linear).

    NaN if no point of zero loss is found.

    >>> import jax.numpy as jnp, latebloom as lb
    >>> round(float(distance_to_zero_loss(lb.problems.ToyModel("plane"), jnp.zeros(3))), 9)
    1.732050808
    """
    flat, _ = ravel_pytree(params)
    goal = residual_goal(problem)
    foot = retract(problem, flat, goal)
    return jnp.where(foot.residual <= 1e3 * goal, jnp.linalg.norm(flat - foot.point), jnp.nan)


def tangent_cosine(problem: AbstractProblem, params: Params) -> jax.Array:
    """`|P ∇F(w)| / |∇F(w)|` with P the tangent projection at the point of zero loss nearest to w.

    The cosine of the angle between the loss gradient and the tangent space: it falls as the distance to the set.
    NaN where the gradient is zero.

    Source: "The Geometry of Grokking", Theorem 4.13.
    """
    flat, _ = ravel_pytree(params)
    gradient = ravel_pytree(problem.gradient(params))[0]
    size = jnp.linalg.norm(gradient)
    foot = retract(problem, flat, residual_goal(problem)).point
    along = _project(linearised(problem, foot), gradient / jnp.where(size > 0, size, 1.0))
    return jnp.where(size > 0, jnp.linalg.norm(along), jnp.nan)


def kkt_residual(problem: AbstractProblem, params: Params) -> jax.Array:
    """`|P w| / |w|` with P the projection onto the kernel of J at w: 0 at a KKT point of least norm among zero loss.

    Stationarity: `w` is a combination of the residuals' gradients; that `r(w) = 0` is the train error's to say.
    """
    flat, _ = ravel_pytree(params)
    size = jnp.linalg.norm(flat)
    return jnp.where(size > 0, jnp.linalg.norm(_project(linearised(problem, flat), flat)) / size, 0.0)
