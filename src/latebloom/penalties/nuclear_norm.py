"""The nuclear norm: it prefers matrices of low rank."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.errors import CapabilityError
from latebloom.penalties.base import AbstractPenalty, over_leaves

# Singular values below this share of the largest count as zero. The polar factor of two singular values at a share x
# is off by about 1e-16/x², since the eigenvectors of AᵀA see the ratio squared: 1e-10 at 1e-3, 1e-6 at 1e-5. In single
# precision it would be off by 0.1 at a share of 1e-3, so AᵀA and its vectors are always in double precision.
RANK_TOLERANCE = 1e-7
SINGLE_RANK_TOLERANCE = 1e-5  # in single precision entries are rounded to 6e-8, and a zero becomes about 1e-6
# Up to this size a product is written out as sums; a call to the matrix-product routine takes longer.
WRITTEN_OUT = 16


class NuclearNorm(AbstractPenalty):
    """`strength · |A|_*`, the sum of singular values, added up over the matrices of the parameters.

    The subgradient is the polar factor `U Vᵀ` over the singular values that are not zero (`RANK_TOLERANCE`): at a
    matrix of deficient rank that is the subgradient of least norm, and nothing moves in the directions without a
    singular value. It comes from an eigendecomposition of the smaller Gram matrix, half the cost of an SVD, in double
    precision whatever that of the matrix is. The prox soft-thresholds the singular values.

    Every parameter must be a matrix; `OnParts(NuclearNorm(1e-4), "weights")` leaves the others out.

    >>> import jax.numpy as jnp
    >>> NuclearNorm(0.5).subgradient(jnp.array([[3.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.0]]

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Section 3.2 and Appendix C.6.
    """

    example = "nuclear_norm[1e-4]"
    tried_on = "matrix_completion"
    strength: float = fields.number(least=0, note="β, what |A|_* is multiplied by")

    def check(self, params):
        for path, leaf in jax.tree_util.tree_leaves_with_path(params):
            if np.ndim(leaf) != 2:
                where = jax.tree_util.keystr(path) or "the parameter"
                raise CapabilityError(
                    f"{self!r} needs matrices; {where} has shape {np.shape(leaf)}: "
                    "use OnParts(NuclearNorm(…), 'name') on the parts that are"
                )

    def value(self, params):
        return self.strength * over_leaves(lambda w: jnp.sum(jnp.linalg.svd(w, compute_uv=False)), params)

    def subgradient(self, params):
        return jax.tree.map(lambda w: self.strength * polar_factor(w), params)

    def prox(self, params, step_size):
        return jax.tree.map(lambda w: shrink_singular_values(w, step_size * self.strength), params)

    @property
    def strengths(self):
        return (self.strength,)


def polar_factor(matrix: jax.Array) -> jax.Array:
    """`U Vᵀ` for `A = U Σ Vᵀ`, over the singular values that are not zero.

    >>> polar_factor(jnp.array([[0.0, 2.0], [-3.0, 0.0]])).round(12).tolist()
    [[0.0, 1.0], [-1.0, 0.0]]
    """

    tolerance = SINGLE_RANK_TOLERANCE if matrix.dtype == jnp.float32 else RANK_TOLERANCE

    def scale(sizes: jax.Array) -> jax.Array:
        kept = sizes > tolerance * jnp.max(sizes)
        return jnp.where(kept, 1 / jnp.where(kept, sizes, 1.0), 0.0)

    return _scale_singular_values(matrix, scale)


def shrink_singular_values(matrix: jax.Array, threshold: jax.Array | float) -> jax.Array:
    """`U max(Σ - threshold, 0) Vᵀ`.

    >>> shrink_singular_values(jnp.diag(jnp.array([3.0, 0.5])), 1.0).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """

    def scale(sizes: jax.Array) -> jax.Array:
        kept = sizes > threshold
        return jnp.where(kept, 1 - threshold / jnp.where(kept, sizes, 1.0), 0.0)

    return _scale_singular_values(matrix, scale)


def _scale_singular_values(matrix: jax.Array, scale) -> jax.Array:
    """`A V diag(scale(Σ)) Vᵀ`: every singular value times its scale.

    The singular values are the norms of the columns of `A V`, more accurate than roots of the eigenvalues.
    """
    if matrix.shape[0] < matrix.shape[1]:
        return _scale_singular_values(matrix.T, scale).T
    if matrix.dtype != jnp.float64:
        return _scale_singular_values(matrix.astype(jnp.float64), scale).astype(matrix.dtype)
    largest = jnp.max(jnp.abs(matrix))
    unit = jnp.where(largest > 0, largest, 1.0)  # squares of tiny or huge entries would be lost
    matrix = matrix / unit
    gram = _product(matrix.T, matrix)
    vectors = jax.lax.linalg.eigh(gram, symmetrize_input=False, sort_eigenvalues=False)[0]
    turned = _product(matrix, vectors)
    sizes = unit * jnp.sqrt(jnp.sum(turned**2, axis=0))
    return _product(turned * (unit * scale(sizes)), vectors.T)


def _product(left: jax.Array, right: jax.Array) -> jax.Array:
    if max(*left.shape, *right.shape) > WRITTEN_OUT:
        return left @ right
    return jnp.sum(left[:, :, None] * right[None, :, :], axis=1)
