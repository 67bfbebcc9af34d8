"""The first-order expansion of a model in its parameters: tangent features, their products, and their kernel.

Everything takes a function of the parameters that gives a vector of outputs, such as `problem.outputs` (the training
set), `problem.end_to_end` (everything a linear measurement sees) or one of yours. The Jacobian J of that function is
the matrix of tangent features, a row an output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from latebloom.core.arrays import Params

Function = Callable[[Params], jax.Array]

DENSE = 1_500  # outputs, up to which the kernel is formed; beyond, it is only multiplied with
TOGETHER = 64  # rows of the Jacobian that are pulled back at once
RANK_TOLERANCE = 1e-12  # eigenvalues of the kernel below this share of the largest are zero: features are dependent


def tangent_features(function: Function, params: Params) -> jax.Array:
    """The Jacobian `J = ∂f/∂θ`, a row an output and a column a parameter (leaves in order, each row by row).

    >>> tangent_features(lambda w: jnp.array([w[0] * w[1], w[1]]), jnp.array([2.0, 3.0])).tolist()
    [[3.0, 2.0], [0.0, 1.0]]
    """
    jacobian = jax.jacrev(lambda p: function(p).ravel())(params)
    return jnp.concatenate([leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(jacobian)], axis=1)


def tangent_rows(function: Function, params: Params, rows: jax.Array) -> jax.Array:
    """Some rows of the Jacobian, a few at a time: all of them at once would need their backward passes in memory.

    >>> tangent_rows(lambda w: jnp.array([w[0] * w[1], w[1]]), jnp.array([2.0, 3.0]), jnp.array([1])).tolist()
    [[0.0, 1.0]]
    """
    value, back = jax.vjp(lambda p: function(p).ravel(), params)
    pull = lambda row: back(jnp.zeros_like(value).at[row].set(1))[0]  # noqa: E731
    found = jax.lax.map(pull, rows, batch_size=TOGETHER)
    return jnp.concatenate([leaf.reshape(len(rows), -1) for leaf in jax.tree.leaves(found)], axis=1)


def tangent_maps(function: Function, params: Params) -> tuple[Callable[[Any], jax.Array], Callable[[jax.Array], Any]]:
    """`h ↦ J h` and `v ↦ Jᵀ v` without forming J: one forward and one backward pass.

    >>> forward, backward = tangent_maps(lambda w: jnp.array([w[0] * w[1]]), jnp.array([2.0, 3.0]))
    >>> forward(jnp.array([1.0, 0.0])).tolist(), backward(jnp.array([2.0])).tolist()
    ([3.0], [6.0, 4.0])
    """
    _, forward = jax.linearize(lambda p: function(p).ravel(), params)
    transpose = jax.linear_transpose(forward, params)
    return forward, lambda v: transpose(v)[0]


def tangent_product(function: Function, params: Params, vectors: jax.Array) -> jax.Array:
    """`J Jᵀ V` for the columns of V, matrix-free."""
    forward, backward = tangent_maps(function, params)
    return jax.vmap(lambda v: forward(backward(v)), in_axes=1, out_axes=1)(vectors)


def tangent_kernel(function: Function, params: Params, other: Function | None = None) -> jax.Array:
    """The kernel `J Jᵀ`, or `J J'ᵀ` with the features J' of another function, e.g. the outputs on test points.

    >>> tangent_kernel(lambda w: jnp.array([w[0] * w[1], w[1]]), jnp.array([2.0, 3.0])).tolist()
    [[13.0, 2.0], [2.0, 1.0]]
    """
    mine = tangent_features(function, params)
    return mine @ (mine if other is None else tangent_features(other, params)).T


def solve_dense(kernel: jax.Array, target: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The shortest solution of `K ν = b` and the rank of K; dependent features are cut off, not divided by."""
    values, vectors = jnp.linalg.eigh(kernel)
    kept = values > RANK_TOLERANCE * values[-1]
    inverse = jnp.where(kept, 1 / jnp.where(kept, values, 1.0), 0.0)
    return vectors @ (inverse * (vectors.T @ target)), jnp.sum(kept)
