"""The subgradient `U Vᵀ` of the nuclear norm: what descent on it alone does, and how it moves with the matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.core.arrays import check_array
from latebloom.errors import check_number
from latebloom.problems.matrix.base import check_matrix

ROUNDING = 1e-12  # of the largest singular value: what a decomposition is exact to, with room


@dataclass(frozen=True, eq=False)
class Shrinking:
    """Where `A <- A - step U Vᵀ` is after the first `steps` steps, at which the spectral norm is below `step`.

    From there on it alternates between two points: `singular_values` and `step` minus them (zeros stay).

    >>> Shrinking(steps=2, singular_values=np.array([0.5]), rank=1, rank_as_printed=0).rank
    1
    """

    steps: int
    singular_values: np.ndarray
    rank: int
    rank_as_printed: int


def shrinking_steps(matrix: Any, step: float) -> Shrinking:
    """The iteration `A <- A - step U Vᵀ` with no data: `σ <- |σ - step|` for each non-zero σ, in closed form.

    What holds of Lemma C.42: the spectral norm is below `step` after exactly `⌊|A|_op / step⌋` steps and stays so
    (item 2; with other subgradients, `U Vᵀ + W`, it can return to `step`: from A = 0 with |W|_op = 1 it does at once,
    and so it does with the `U Vᵀ` of a decomposition that keeps the directions of the zero singular values).
    What does not: no such point is stationary except A = 0, the others alternate with period 2 (item 1). The rank
    afterwards is the number of singular values that are *not* a multiple of `step`; item 3 prints the number of those
    that are, here `rank_as_printed`. Being a multiple is decided to rounding.

    >>> end = shrinking_steps(np.diag([3.0, 2.5, 1.0, 0.75]), step=0.5)
    >>> end.steps, end.singular_values, end.rank, end.rank_as_printed
    (6, array([0.25, 0.  , 0.  , 0.  ]), 1, 3)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Lemma C.42.
    """
    matrix = check_array("matrix", matrix, ndim=2)
    step = check_number("step", step, above=0)
    sigma = _nonzero_singular_values(matrix)
    ratios = sigma / step
    nearest = np.round(ratios)
    multiple = (nearest >= 1) & (np.abs(ratios - nearest) <= ROUNDING * ratios.max(initial=1.0))
    whole = np.where(multiple, nearest, np.floor(ratios))
    steps = int(whole.max(initial=0))
    rest = np.where(multiple, 0.0, ratios - whole)
    flipped = ~multiple & ((steps - whole) % 2 == 1)
    values = np.zeros(min(matrix.shape))
    values[: len(sigma)] = np.sort(step * np.where(flipped, 1 - rest, rest))[::-1]
    return Shrinking(steps, values, int(np.sum(~multiple)), int(np.sum(multiple)))


@dataclass(frozen=True)
class WedinBound:
    """`measured = |H(A - A*) - H(A)|_F` against the printed `bound` and the `corrected` one.

    `applies` says whether the printed hypothesis `σ_min(A) > σ_max(A*)` holds, and `holds` whether `measured <= bound`.

    >>> WedinBound(measured=1.0, bound=2.0, corrected=1.5, applies=True, holds=True).holds
    True
    """

    measured: float
    bound: float
    corrected: float
    applies: bool
    holds: bool


def wedin_bound(matrix: Any, truth: Any) -> WedinBound:
    """How far the nuclear-norm subgradient `H(A) = U Vᵀ` is from the one at `A - A*`, measured and bounded.

    The printed bound `2√(2 rank A) / (σ_min(A)/σ_max(A*) - 1)`, σ_min being the smallest non-zero one, is true if
    `rank(A - A*) = rank(A)`, e.g. if A has full rank. Otherwise it is not: `A = diag(2, 0)`, `A* = diag(0, ε)`
    has `H(A - A*) - H(A) = diag(0, -1)` of norm 1 for every ε > 0, and a bound that goes to 0 with ε.

    `corrected` always holds: `|A*|_F / c` with `c = (σ_min(A) + σ_min(A - A*))/2` if the ranks are equal, else the
    smaller of that and σ_min of the matrix with the higher rank. Proof: with A = UΣVᵀ, A - A* = ŨΣ̃Ṽᵀ and
    `P_ij = (UᵀŨ)_ij (VᵀṼ)_ij`, both `|A*|_F²` and `|H - H̃|_F²` are affine in P, whose absolute row and column sums
    are at most 1. It is enough to compare them at the extreme points, the signed partial permutations: a pair matched
    with sign +1 has `(σ - σ̃)² >= 0`, one with sign -1 has `(σ + σ̃)² >= 4c²`, an unmatched pair
    `σ² + σ̃² >= 2c²`, and what is left over, of the higher rank, `σ² >= c²`.

    >>> found = wedin_bound(np.diag([2.0, 0.0]), np.diag([0.0, 0.01]))
    >>> found.measured, round(found.bound, 4), found.corrected, found.applies, found.holds
    (1.0, 0.0142, 1.0, True, False)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Lemma C.45; the correction is derived here.
    """
    matrix = check_array("matrix", matrix, ndim=2)
    truth = check_matrix("truth", truth, (matrix.shape[0], matrix.shape[1]))
    shifted = matrix - truth
    measured = float(np.linalg.norm(_polar(shifted) - _polar(matrix)))
    before, after = _nonzero_singular_values(matrix), _nonzero_singular_values(shifted)
    largest = float(np.linalg.norm(truth, 2))
    smallest = float(before.min(initial=math.inf))
    applies = len(before) > 0 and smallest > largest
    bound = 2 * math.sqrt(2 * len(before)) * largest / (smallest - largest) if applies else math.inf
    gap = _corrected_gap(before, after)
    corrected = float(np.linalg.norm(truth)) / gap if gap > 0 else 0.0
    return WedinBound(measured, bound, corrected, applies, measured <= bound * (1 + 1e-9) + 1e-12)


def _corrected_gap(before: np.ndarray, after: np.ndarray) -> float:
    higher, lower = (before, after) if len(before) >= len(after) else (after, before)
    if len(higher) == 0:
        return 0.0
    if len(lower) == 0:
        return float(higher[-1])
    middle = float(higher[-1] + lower[-1]) / 2
    return middle if len(higher) == len(lower) else min(float(higher[-1]), middle)


def _polar(matrix: np.ndarray) -> np.ndarray:
    u, sigma, vt = np.linalg.svd(matrix, full_matrices=False)
    keep = _nonzero(sigma, matrix)
    return u[:, keep] @ vt[keep]


def _nonzero_singular_values(matrix: np.ndarray) -> np.ndarray:
    sigma = np.linalg.svd(matrix, compute_uv=False)
    return sigma[_nonzero(sigma, matrix)]


def _nonzero(sigma: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return sigma > max(matrix.shape) * np.finfo(float).eps * sigma[0]
