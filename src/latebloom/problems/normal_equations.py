"""The residuals linearised at a point, and the equations `J D Jᵀ u = b` of every projection onto their kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

DENSE = 48  # residuals up to which a Cholesky factor is cheaper than conjugate gradients
FLOOR = 1e-13  # Tikhonov's, relative to the trace of J D Jᵀ: what is left of a direction in which J loses its rank
REFINEMENTS = 2  # with which the floor is not seen where J has full rank
TOLERANCE = 1e-12  # of conjugate gradients, relative to the right-hand side
LARGEST = 400  # conjugate gradients at most, a solve

Operator = Callable[[jax.Array], jax.Array]


@dataclass(frozen=True)
class Linearised:
    """`r(w + v) ≈ residual + J v` at a point: `apply` is `v ↦ J v`, `transpose` is `u ↦ Jᵀ u`, on flat vectors.

    `metric` is a positive vector D, or None for the Euclidean one.
    """

    residual: jax.Array
    apply: Operator
    transpose: Operator
    metric: jax.Array | None

    @classmethod
    def at(cls, residuals: Operator, point: jax.Array, metric: jax.Array | None = None) -> Linearised:
        """The residuals linearised at a point: one evaluation, used by every product that follows."""
        residual, apply = jax.linearize(residuals, point)
        transpose = jax.linear_transpose(apply, point)
        return cls(residual, apply, lambda u: transpose(u)[0], metric)

    def scaled(self, vector: jax.Array) -> jax.Array:
        """`D v`."""
        return vector if self.metric is None else self.metric * vector

    def normal(self, u: jax.Array) -> jax.Array:
        """`J D Jᵀ u`."""
        return self.apply(self.scaled(self.transpose(u)))

    def solve(self, b: jax.Array, guess: jax.Array | None = None, tolerance: Any = TOLERANCE):
        """The `u` of `J D Jᵀ u = b` and what it cost, in products with J and its transpose.

        Few residuals: a Cholesky factor with a floor, refined. Many: conjugate gradients from `guess` on, which leave
        out the directions that matter less than `tolerance`. Both are finite where J loses rank.
        """
        if b.size <= DENSE:
            return self._dense(b), jnp.asarray(b.size)
        return conjugate_gradients(self.normal, b, jnp.zeros_like(b) if guess is None else guess, tolerance)

    def _dense(self, b: jax.Array) -> jax.Array:
        rows = jax.vmap(self.transpose)(jnp.eye(b.size))
        gram = (rows if self.metric is None else rows * self.metric) @ rows.T
        floor = FLOOR * jnp.trace(gram) + jnp.finfo(float).tiny
        factor = jnp.linalg.cholesky(gram + floor * jnp.eye(b.size))
        solve = lambda right: jax.scipy.linalg.cho_solve((factor, True), right)  # noqa: E731
        u = solve(b)
        for _ in range(REFINEMENTS):
            u = u + solve(b - gram @ u)
        return u


def conjugate_gradients(operator: Operator, b: jax.Array, guess: jax.Array, tolerance: Any):
    """`operator u = b` for a positive semi-definite operator with `b` in its range; also the number of products.

    Stops at `|b - operator u| ≤ tolerance |b|`, after `LARGEST` products, or where the operator sees no more curvature.

    >>> found, cost = conjugate_gradients(lambda u: jnp.array([2.0, 4.0, 0.0]) * u, jnp.array([2.0, 2.0, 0.0]),
    ...                                   jnp.zeros(3), 1e-12)
    >>> found.tolist(), int(cost)
    ([1.0, 0.5, 0.0], 3)
    """
    goal = tolerance * jnp.linalg.norm(b)

    def go_on(carry):
        _, _, _, squared, count, alive = carry
        return (jnp.sqrt(squared) > goal) & (count < LARGEST) & alive

    def step(carry):
        u, residual, direction, squared, count, _ = carry
        image = operator(direction)
        curvature = direction @ image
        alive = curvature > 0
        length = jnp.where(alive, squared / jnp.where(alive, curvature, 1.0), 0.0)
        u, residual = u + length * direction, residual - length * image
        after = residual @ residual
        return u, residual, residual + (after / squared) * direction, after, count + 1, alive

    first = b - operator(guess)
    start = (guess, first, first, first @ first, jnp.ones((), jnp.int64), jnp.asarray(True))
    u, _, _, _, count, _ = jax.lax.while_loop(go_on, step, start)
    return u, count
