"""The products of rows with rows, `H Hᵀ`, as a Cholesky factorisation reads them: one triangle."""

from __future__ import annotations

import jax
import jax.numpy as jnp

ROWS = 128  # of a block: with fewer, the products are too small to be fast
BLOCKS = 6  # at most: a program has half of their square in products to compile, and little is left to gain


@jax.custom_jvp
def lower_gram(features: jax.Array) -> jax.Array:
    """`H Hᵀ` on its diagonal and below, in blocks; what is above is not for use.

    It is symmetric, so of k x k blocks `k (k + 1) / 2` are enough: 10 of 16 for 492 rows, the largest product of a step
    of the isolated dynamics. Its derivative is that of the whole matrix, which is what the derivative of a Cholesky
    factor asks for.

    >>> bool(jnp.all(lower_gram(jnp.array([[1.0, 2.0], [0.0, 3.0]])) == jnp.array([[5.0, 6.0], [6.0, 9.0]])))
    True
    """
    size = len(features)
    count = min(max(round(size / ROWS), 1), BLOCKS)
    if count == 1:
        return features @ features.T
    starts = [round(size * block / count) for block in range(count + 1)]
    blocks = [features[start:end] for start, end in zip(starts, starts[1:], strict=False)]
    # Above the diagonal and transposed: LAPACK reads by columns, so that the transpose is its own and costs nothing.
    # Written block by block: joined by concatenation, eight blocks crash the compiler (XLA of jaxlib 0.10).
    gram = jnp.zeros((size, size), features.dtype)
    for i, block in enumerate(blocks):
        for j in range(i, count):
            gram = jax.lax.dynamic_update_slice(gram, block @ blocks[j].T, (starts[i], starts[j]))
    return gram.T


@lower_gram.defjvp
def _(primals, tangents):
    (features,), (change,) = primals, tangents
    half = change @ features.T
    return lower_gram(features), half + half.T
