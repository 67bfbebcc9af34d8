"""The residuals linearised at a point, and the equations `J D Jᵀ u = b` of every projection onto their kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

DENSE = 48  # residuals up to which a Cholesky factor is cheaper than conjugate gradients
FLOOR = 1e-13  # Tikhonov's, relative to the trace of J D Jᵀ: what is left of a direction in which J loses its rank
REFINEMENTS = 2  # with which the floor is not seen where J has full rank
ROUGH = 1e-9  # the floor of an inverse that is kept for the points nearby, relative to the trace
TOLERANCE = 1e-12  # of conjugate gradients, relative to the right-hand side
LARGEST = 400  # conjugate gradients at most, a solve

Operator = Callable[[jax.Array], jax.Array]


class Nearby(eqx.Module):
    """About `(J D Jᵀ)⁻¹`: the inverse at a point not far away, on the residuals `rows` (None for all of them)."""

    inverse: jax.Array
    rows: jax.Array | None

    def __call__(self, b: jax.Array) -> jax.Array:
        if self.rows is None:
            return self.inverse @ b
        return jnp.zeros_like(b).at[self.rows].set(self.inverse @ b[self.rows])


@dataclass(frozen=True)
class Linearised:
    """`r(w + v) ≈ residual + J v` at a point: `apply` is `v ↦ J v`, `transpose` is `u ↦ Jᵀ u`, on flat vectors.

    `metric` is a positive vector D, or None for the Euclidean one; with `nearby`, conjugate gradients need a seventh of
    the products.
    """

    residual: jax.Array
    apply: Operator
    transpose: Operator
    metric: jax.Array | None
    nearby: Nearby | None = None

    @classmethod
    def at(
        cls, residuals: Operator, point: jax.Array, metric: jax.Array | None = None, nearby: Nearby | None = None
    ) -> Linearised:
        """The residuals linearised at a point: one evaluation, used by every product that follows."""
        residual, apply = jax.linearize(residuals, point)
        transpose = jax.linear_transpose(apply, point)
        return cls(residual, apply, lambda u: transpose(u)[0], metric, nearby)

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
        guess = jnp.zeros_like(b) if guess is None else guess
        return conjugate_gradients(self.normal, b, guess, tolerance, self.nearby)

    def keep(self, rows: jax.Array | None = None) -> Nearby:
        """The inverse of `J D Jᵀ` here, for what is linearised not far away; `rows` if the others are zero for ever."""
        gram = self._gram(rows)
        factor = _factor(gram, ROUGH)
        return Nearby(jax.scipy.linalg.cho_solve((factor, True), jnp.eye(len(gram))), rows)

    def _gram(self, rows: jax.Array | None = None) -> jax.Array:
        """`J D Jᵀ`, or the part of it that `rows` have."""
        units = jnp.eye(self.residual.size)
        jacobian = jax.vmap(self.transpose)(units if rows is None else units[rows])
        return (jacobian if self.metric is None else jacobian * self.metric) @ jacobian.T

    def _dense(self, b: jax.Array) -> jax.Array:
        gram = self._gram()
        factor = _factor(gram, FLOOR)
        solve = lambda right: jax.scipy.linalg.cho_solve((factor, True), right)  # noqa: E731
        u = solve(b)
        for _ in range(REFINEMENTS):
            u = u + solve(b - gram @ u)
        return u


def _factor(gram: jax.Array, floor: float) -> jax.Array:
    """The Cholesky factor of a Gram matrix with a floor relative to its trace."""
    return jnp.linalg.cholesky(gram + (floor * jnp.trace(gram) + jnp.finfo(float).tiny) * jnp.eye(len(gram)))


def conjugate_gradients(
    operator: Operator, b: jax.Array, guess: jax.Array, tolerance: Any, nearby: Operator | None = None
):
    """`operator u = b` for a positive semi-definite operator with `b` in its range; also the number of products.

    Stops at `|b - operator u| ≤ tolerance |b|`, after `LARGEST` products, or where the operator sees no more curvature.
    `nearby` is about the operator's inverse, positive definite as well: the closer, the fewer products.

    >>> operator = lambda u: jnp.array([2.0, 4.0, 0.0]) * u
    >>> found, cost = conjugate_gradients(operator, jnp.array([2.0, 2.0, 0.0]), jnp.zeros(3), 1e-12)
    >>> found.tolist(), int(cost)
    ([1.0, 0.5, 0.0], 3)
    """
    goal = tolerance * jnp.linalg.norm(b)
    towards = (lambda r: r) if nearby is None else nearby

    def go_on(carry):
        _, residual, _, _, count, alive = carry
        return (jnp.linalg.norm(residual) > goal) & (count < LARGEST) & alive

    def step(carry):
        u, residual, direction, squared, count, _ = carry
        image = operator(direction)
        curvature = direction @ image
        alive = curvature > 0
        length = jnp.where(alive, squared / jnp.where(alive, curvature, 1.0), 0.0)
        u, residual = u + length * direction, residual - length * image
        ahead = towards(residual)
        after = residual @ ahead
        return u, residual, ahead + (after / squared) * direction, after, count + 1, alive

    first = b - operator(guess)
    ahead = towards(first)
    start = (guess, first, ahead, first @ ahead, jnp.ones((), jnp.int64), jnp.asarray(True))
    u, _, _, _, count, _ = jax.lax.while_loop(go_on, step, start)
    return u, count
