"""The products of rows with rows, `H Hᵀ + ridge I`, as a Cholesky factorisation reads them: one triangle."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

ROWS = 128  # of a block: with fewer, the products are too small to be fast
BLOCKS = 6  # at most: a program has half of their square in products to compile, and little is left to gain


@jax.custom_jvp
def lower_gram(features: jax.Array, ridge: Any) -> jax.Array:
    """`H Hᵀ + ridge I` on its diagonal and below, in blocks; what is above is not for use.

    It is symmetric, so of k x k blocks `k (k + 1) / 2` are enough: 10 of 16 for 492 rows, where it is the largest
    product of a step of the isolated dynamics. Its derivative is that of the whole matrix, which is what the derivative
    of a Cholesky factor asks for.

    >>> lower_gram(jnp.array([[1.0, 2.0], [0.0, 3.0]]), 1.0).tolist()
    [[6.0, 6.0], [6.0, 10.0]]
    """
    size = len(features)
    count = min(max(round(size / ROWS), 1), BLOCKS)
    starts = [round(size * block / count) for block in range(count + 1)]
    blocks = [features[start:end] for start, end in pairwise(starts)]
    if count == 1:
        return _diagonal(features, ridge)
    # Above the diagonal and transposed: LAPACK reads by columns, so that the transpose is its own and costs nothing.
    # Written block by block: joined by concatenation, eight strips crashed the compiler (XLA of jaxlib 0.10.2).
    gram = jnp.zeros((size, size), features.dtype)
    for i, block in enumerate(blocks):
        for j in range(i, count):
            product = _diagonal(block, ridge) if i == j else block @ blocks[j].T
            gram = jax.lax.dynamic_update_slice(gram, product, (starts[i], starts[j]))
    return gram.T


def _diagonal(rows: jax.Array, ridge: Any) -> jax.Array:
    """`H Hᵀ + ridge I` for a few rows.

    The mask is a constant: what depends on no parameter, as `ridge I`, a compiler takes out of a loop, one copy for
    every measure that needs it there, and then does not see that all their factorisations are one and the same.
    """
    product = rows @ rows.T
    return jnp.where(np.eye(len(rows), dtype=bool), product + ridge, product)


@lower_gram.defjvp
def _(primals, tangents):
    (features, ridge), (change, ridge_change) = primals, tangents
    half = change @ features.T
    return lower_gram(features, ridge), half + half.T + ridge_change * jnp.eye(len(features), dtype=features.dtype)
