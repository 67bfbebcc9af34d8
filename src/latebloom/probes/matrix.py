"""Probes of the end-to-end matrix: singular values, rank, norm, singular subspaces, and the balance of its layers."""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.errors import CapabilityError
from latebloom.probes.base import AbstractProbe
from latebloom.problems import require_matrix


class _MatrixProbe(AbstractProbe):
    """A number that depends on the end-to-end matrix alone."""

    tried_on = "matrix_completion"

    def check(self, problem, penalty):
        require_matrix(problem, type(self).__name__)

    def of(self, problem, matrix: jax.Array) -> jax.Array:
        raise NotImplementedError

    def measure(self, problem, penalty, params):
        return self.of(problem, problem.end_to_end(params))


class SingularValues(_MatrixProbe):
    """All singular values of the end-to-end matrix, the largest first (Figure 5)."""

    def of(self, problem, matrix):
        return _singular_values(matrix)


class NuclearNormOfMatrix(_MatrixProbe):
    """`|A|_*` of the end-to-end matrix, without a strength: column `nuclear_norm`."""

    @property
    def column(self):
        return "nuclear_norm"

    def of(self, problem, matrix):
        return jnp.sum(_singular_values(matrix))


class EffectiveRank(_MatrixProbe):
    """The exponential of the entropy of `σ / Σσ`: r if r singular values are equal and the others zero."""

    def of(self, problem, matrix):
        sigma = _singular_values(matrix)
        share = sigma / jnp.where(jnp.sum(sigma) > 0, jnp.sum(sigma), 1.0)
        return jnp.exp(-jnp.sum(jnp.where(share > 0, share * jnp.log(jnp.where(share > 0, share, 1.0)), 0.0)))


class NumericalRank(_MatrixProbe):
    """The number of singular values above `tolerance` times the largest."""

    tolerance: float = fields.number(
        default=1e-3, above=0, below=1, note="the share of the largest up to which one is zero"
    )

    def of(self, problem, matrix):
        sigma = _singular_values(matrix)
        return jnp.sum(sigma > self.tolerance * sigma[0]).astype(float)


class SubspaceAngles(_MatrixProbe):
    """The largest principal angles, in radians, between the leading singular subspaces of `A` and those of the truth.

    Two numbers, left and right, for subspaces of the truth's rank: π/2 if some direction of the truth is missing.
    """

    def check(self, problem, penalty):
        if not require_matrix(problem, "SubspaceAngles").has_test:
            raise CapabilityError("SubspaceAngles compares with the truth and the problem has none: give truth=…")

    def of(self, problem, matrix):
        u, _, vt = jnp.linalg.svd(matrix, full_matrices=False)
        left, sigma, right = jnp.linalg.svd(problem.truth, full_matrices=False)
        # The truth's rank is a number of the data, not of the program: directions beyond it are masked out.
        kept = sigma > 1e-9 * sigma[0]
        return jnp.stack([_largest_angle(u, left, kept), _largest_angle(vt.T, right.T, kept)])


class LayerBalance(AbstractProbe):
    """`|A_kᵀA_k - A_{k+1}A_{k+1}ᵀ| / (|A_kᵀA_k| + |A_{k+1}A_{k+1}ᵀ|)` for neighbouring layers: 0 if balanced.

    At most 1. Gradient flow keeps the difference constant without a penalty, and an l2 penalty takes it to zero.
    """

    tried_on = "'matrix_completion[width=5]'"

    def check(self, problem, penalty):
        factors = require_matrix(problem, "LayerBalance").factors
        if factors.linear or factors.form != "product":
            raise CapabilityError("LayerBalance compares the layers of a product: use depth=2 or more")

    def measure(self, problem, penalty, params):
        layers = [params[name] for name in problem.factors.layers()]
        return jnp.stack([_imbalance(a.T @ a, b @ b.T) for a, b in pairwise(layers)])


def _singular_values(matrix: jax.Array) -> jax.Array:
    return jnp.linalg.svd(matrix, compute_uv=False)


def _largest_angle(mine: jax.Array, truth: jax.Array, kept: jax.Array) -> jax.Array:
    """The largest angle between the span of the kept columns of `truth` and that of as many columns of `mine`."""
    mine, truth = mine * kept, truth * kept
    # The sine, from the part of the truth outside of my span, is accurate for small angles; the cosine is not.
    outside = truth - mine @ (mine.T @ truth)
    sine = jnp.linalg.svd(outside, compute_uv=False)[0]
    return jnp.arcsin(jnp.clip(sine, 0.0, 1.0))


def _imbalance(first: jax.Array, second: jax.Array) -> jax.Array:
    norms = [jnp.linalg.norm(part.ravel()) for part in (first, second, first - second)]
    whole = norms[0] + norms[1]
    return norms[2] / jnp.where(whole > 0, whole, 1.0)
