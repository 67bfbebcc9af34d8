"""Weak duality for the nuclear norm: `|A|_* >= <ν, y>` whenever A fits and `|X*ν|_op <= 1`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latebloom.oracles.nuclear.constraints import Constraints
from latebloom.oracles.result import relative

# Of the largest singular value: below, a singular value of a certified point is rounding.
RANK_TOLERANCE = 1e-7
# A singular value of the dual that is this close to one may be one at another dual point.
STRICT = 1e-6
SHARP = 1e-8  # a gap up to which the dual is as good as optimal


@dataclass(frozen=True, eq=False)
class Certified:
    """A matrix that fits, a feasible dual matrix `W = X*ν` with `|W|_op <= 1`, and the relative gap between them."""

    matrix: np.ndarray
    dual: np.ndarray
    gap: float
    method: str


def certify(constraints: Constraints, matrix: np.ndarray, multipliers: np.ndarray, method: str) -> Certified:
    """The closest matrix that fits and the multipliers shrunk to be feasible, with `(|A|_* - νᵀy) / |A|_*` at both.

    >>> import numpy as np
    >>> from latebloom.oracles.nuclear.constraints import EntryConstraints
    >>> seen = EntryConstraints.of(np.array([[1, 0]]), np.array([[3.0, 0.0]]))
    >>> certify(seen, np.array([[3.0, 0.0]]), np.array([2.0]), "by hand").gap
    0.0
    >>> round(certify(seen, np.array([[3.0, 4.0]]), np.array([2.0]), "by hand").gap, 12)
    0.4
    """
    matrix = constraints.project(matrix)
    dual = constraints.adjoint(multipliers)
    shrink = 1 / max(1.0, _largest(dual))
    norm = nuclear_norm(matrix)
    gap = relative(abs(norm - shrink * float(multipliers @ constraints.values)), norm)  # rounding may make it negative
    return Certified(matrix, shrink * dual, gap, method)


def is_unique(constraints: Constraints, found: Certified) -> bool | None:
    """Whether the minimiser is the only one; None where this pair cannot tell.

    Every minimiser is `U M Vᵀ` with M positive semi-definite, U and V the singular vectors of W at singular value one.
    It is unique if X is injective on those matrices with M symmetric; if it is not, and A has full rank among
    them (strict complementarity), A can move along the kernel and there are others.

    >>> import numpy as np
    >>> from latebloom.oracles.nuclear.constraints import EntryConstraints
    >>> seen = EntryConstraints.of(np.eye(2), np.eye(2))
    >>> is_unique(seen, Certified(np.eye(2), np.eye(2), 0.0, "by hand"))
    False

    Source: Candès and Recht, "Exact Matrix Completion via Convex Optimization" (2009), Lemma 3.1, on the face of W.
    """
    if found.gap > SHARP:
        return None
    u, sigma, vt = np.linalg.svd(found.dual)
    size = int((sigma > 1 - STRICT).sum())
    moves = [
        constraints.measure(np.outer(u[:, a], vt[b]) + np.outer(u[:, b], vt[a]))
        for a in range(size)
        for b in range(a + 1)
    ]
    if not moves:
        return None
    stiffness = np.linalg.eigvalsh(np.array(moves) @ np.array(moves).T)
    if stiffness[0] > 1e-10 * stiffness[-1]:
        return True
    movable = stiffness[0] <= 1e-14 * stiffness[-1] and numerical_rank(found.matrix) == size
    return False if movable else None


def nuclear_norm(matrix: np.ndarray) -> float:
    """The sum of the singular values."""
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


def numerical_rank(matrix: np.ndarray) -> int:
    """The number of singular values above rounding."""
    sigma = np.linalg.svd(matrix, compute_uv=False)
    return int((sigma > RANK_TOLERANCE * sigma[0]).sum())


def _largest(matrix: np.ndarray) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False)[0])
