"""The smallest spectral norm over an affine set of matrices, with certified bounds from both sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

WEIGHT_FACTOR = 20.0
MOST_CENTRINGS = 30  # 20^30: rounding stops it long before
MOST_NEWTON_STEPS = 100


@dataclass(frozen=True, eq=False)
class SmallestNorm:
    """`lower <= min |W|_op <= upper`, with `upper = |point|_op` and a `witness` S of the lower bound.

    S is orthogonal to the directions, so that `<S, W> = <S, offset> <= |S|_* |W|_op` for every W of the set.

    >>> smallest = smallest_spectral_norm(np.diag([3.0, 1.0]), np.array([[[0.0, 1.0], [0.0, 0.0]]]))
    >>> round(smallest.lower, 4), round(smallest.upper, 4)
    (3.0, 3.0)
    """

    lower: float
    upper: float
    point: np.ndarray
    witness: np.ndarray


def smallest_spectral_norm(offset: np.ndarray, directions: np.ndarray, *, tolerance: float = 1e-6) -> SmallestNorm:
    """The minimum of `|offset + Σ z_k directions_k|_op` over z; the directions must be orthonormal, shape (k, p, q).

    `|W|_op <= t` if and only if `[[tI, W], [Wᵀ, tI]]` is positive semi-definite: t is minimised by Newton's
    method on that matrix's log-determinant barrier, until the bounds agree to `tolerance` relative to the upper one.
    The bounds hold whether or not they have met.

    >>> e = np.eye(2)
    >>> smallest = smallest_spectral_norm(e, (e / np.sqrt(2))[None])
    >>> smallest.lower, smallest.upper
    (0.0, 0.0)
    """
    scale = float(np.linalg.norm(offset))
    offset = _without(offset, directions)
    best = SmallestNorm(0.0, float(np.linalg.norm(offset, 2)), offset, np.zeros_like(offset))
    if np.linalg.norm(offset) <= max(offset.shape) * np.finfo(float).eps * scale:
        return SmallestNorm(0.0, 0.0, np.zeros_like(offset), np.zeros_like(offset))
    if len(directions) == 0:
        return _improve(best, offset, offset, _rank_one(offset))
    barrier = _Barrier(offset, directions)
    x = np.append(1.5 * best.upper, np.zeros(len(directions)))
    weight = sum(offset.shape) / x[0]
    for _ in range(MOST_CENTRINGS):
        try:
            x = barrier.centre(x, weight)
            best = _improve(best, offset, barrier.point(x), _without(barrier.dual(x), directions))
        except np.linalg.LinAlgError:  # rounding: the centre is too close to the boundary
            break
        if best.upper - best.lower <= tolerance * best.upper:
            break
        weight *= WEIGHT_FACTOR
    return best


class _Barrier:
    """`weight t - log det [[tI, W(z)], [W(z)ᵀ, tI]]` in `x = (t, z)`, self-concordant."""

    def __init__(self, offset: np.ndarray, directions: np.ndarray):
        self.shape = offset.shape
        self.offset, self.directions = offset, directions
        self.constant = self._symmetric(offset)
        self.terms = np.concatenate([np.eye(sum(self.shape))[None], self._symmetric(directions)])

    def _symmetric(self, blocks: np.ndarray) -> np.ndarray:
        rows = self.shape[0]
        whole = np.zeros((*blocks.shape[:-2], sum(self.shape), sum(self.shape)))
        whole[..., :rows, rows:] = blocks
        whole[..., rows:, :rows] = np.swapaxes(blocks, -1, -2)
        return whole

    def matrix(self, x: np.ndarray) -> np.ndarray:
        return self.constant + np.tensordot(x, self.terms, 1)

    def point(self, x: np.ndarray) -> np.ndarray:
        return self.offset + np.tensordot(x[1:], self.directions, 1)

    def dual(self, x: np.ndarray) -> np.ndarray:
        return -np.linalg.inv(self.matrix(x))[: self.shape[0], self.shape[0] :]

    def centre(self, x: np.ndarray, weight: float) -> np.ndarray:
        """Damped Newton, whose steps `1/(1 + decrement)` never leave the domain."""
        for _ in range(MOST_NEWTON_STEPS):
            root = np.linalg.inv(np.linalg.cholesky(self.matrix(x)))
            seen = root @ self.terms @ root.T
            gradient = -np.trace(seen, axis1=1, axis2=2)
            gradient[0] += weight
            flat = seen.reshape(len(x), -1)
            step = np.linalg.solve(flat @ flat.T, -gradient)
            decrement = float(np.sqrt(max(-gradient @ step, 0.0)))
            x = x + step / (1 + decrement if decrement > 0.25 else 1)
            if decrement < 0.25:
                break
        return x


def _improve(best: SmallestNorm, offset: np.ndarray, point: np.ndarray, witness: np.ndarray) -> SmallestNorm:
    lower = float(np.sum(witness * offset) / np.linalg.norm(witness, "nuc"))
    upper = float(np.linalg.norm(point, 2))
    lower, witness = (lower, witness) if lower > best.lower else (best.lower, best.witness)
    upper, point = (upper, point) if upper < best.upper else (best.upper, best.point)
    return SmallestNorm(min(lower, upper), upper, point, witness)


def _without(matrix: np.ndarray, directions: np.ndarray) -> np.ndarray:
    return matrix - np.tensordot(np.tensordot(directions, matrix, 2), directions, 1)


def _rank_one(matrix: np.ndarray) -> np.ndarray:
    u, _, vt = np.linalg.svd(matrix, full_matrices=False)
    return np.outer(u[:, 0], vt[0])
