"""Newton's method for the minimum nuclear norm once the rank of the minimiser is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latebloom.oracles.nuclear.certificate import Certified, certify
from latebloom.oracles.nuclear.constraints import Constraints

STEPS = 12
PATIENCE = 2  # steps that may fail to halve the residuals; the first often overshoots
ROUNDING = 1e-14
LARGEST_SYSTEM = 2000  # unknowns; a step of that size takes a third of a second
# How far a step may miss the constraints, as a share of the residuals but at least `HARDEST`. The part that it misses,
# divided by the softness, moves the multipliers: too hard far from the solution throws them off.
SOFTNESS = 0.01
HARDEST = 1e-9
DAMPING = 1e-5  # for the directions (L K, R K) with antisymmetric K, that change nothing


@dataclass(frozen=True, eq=False)
class Proposal:
    """Where a solver stands: a matrix, multipliers, and the rank that it believes in."""

    matrix: np.ndarray
    multipliers: np.ndarray
    rank: int
    method: str


def polish(constraints: Constraints, proposal: Proposal) -> Certified:
    """The proposal or, if that has the smaller gap, what Newton's method makes of it.

    The nuclear norm is `min (|L|² + |R|²) / 2` over `A = L Rᵀ`, and of fixed rank everything is smooth:
    `W R = L`, `Wᵀ L = R`, `X vec(L Rᵀ) = y` with `W = X*ν`. The steps are those of the proximal method of multipliers,
    which needs neither a unique ν nor a fixed rotation of the factors. Values should be of order one.

    >>> import numpy as np
    >>> from latebloom.oracles.nuclear.constraints import EntryConstraints
    >>> seen = EntryConstraints.of(np.array([[1, 1], [1, 0]]), np.array([[1.0, 0.5], [0.5, 0.0]]))
    >>> near = Proposal(np.array([[1.0, 0.5], [0.5, 0.2]]), np.array([0.7, 0.5, 0.5]), 1, "by hand")
    >>> found = polish(seen, near)
    >>> found.matrix.round(12), found.gap < 1e-12
    (array([[1.  , 0.5 ],
           [0.5 , 0.25]]), True)

    Source: Recht, Fazel and Parrilo, "Guaranteed Minimum-Rank Solutions ..." (2010), Section 5.3.
    """
    best = certify(constraints, proposal.matrix, proposal.multipliers, proposal.method)
    if not 0 < proposal.rank * sum(constraints.shape) <= LARGEST_SYSTEM:
        return best
    left, right = _factors(proposal.matrix, proposal.rank)
    multipliers, lowest, stalled = proposal.multipliers, np.inf, 0
    for _ in range(STEPS):
        left, right, multipliers, residual = _step(constraints, left, right, multipliers)
        stalled += not residual < lowest / 2
        if stalled > PATIENCE or not residual < 10:  # also if it is not a number
            break
        found = certify(constraints, left @ right.T, multipliers, f"{proposal.method}, then Newton's method")
        best = min(best, found, key=lambda point: point.gap)
        if best.gap <= ROUNDING:
            break
        lowest = min(lowest, residual)
    return best


def widest_gap(sigma: np.ndarray) -> tuple[int, float]:
    """How many singular values are above the largest ratio of neighbours, and that ratio.

    >>> import numpy as np
    >>> widest_gap(np.array([3.0, 2.0, 1e-3, 1e-4]))
    (2, 2000.0)
    """
    if len(sigma) < 2:
        return len(sigma), 1.0
    ratios = sigma[:-1] / np.maximum(sigma[1:], ROUNDING * sigma[0])
    return 1 + int(np.argmax(ratios)), float(ratios.max())


def _factors(matrix: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    u, sigma, vt = np.linalg.svd(matrix)
    root = np.sqrt(sigma[:rank])
    return u[:, :rank] * root, vt[:rank].T * root


def _step(
    constraints: Constraints, left: np.ndarray, right: np.ndarray, multipliers: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """One step, and the size of the residuals before it."""
    (n1, rank), n2 = left.shape, len(right)
    dual = constraints.adjoint(multipliers)
    missing = constraints.values - constraints.measure(left @ right.T)
    slope = np.concatenate([left - dual @ right, right - dual.T @ left])
    residual = float(np.hypot(np.linalg.norm(missing), np.linalg.norm(slope)))
    softness = max(HARDEST, SOFTNESS * residual)
    pull = constraints.adjoint(missing / softness)
    wanted = np.concatenate([pull @ right, pull.T @ left]) - slope
    curvature = np.block([[np.eye(n1), -dual], [-dual.T, np.eye(n2)]]) + DAMPING * np.eye(n1 + n2)
    system = constraints.normal(left, right) / softness + np.kron(curvature, np.eye(rank))
    try:
        move = np.linalg.solve(system, wanted.ravel()).reshape(wanted.shape)
    except np.linalg.LinAlgError:
        return left, right, multipliers, np.inf
    predicted = constraints.measure(move[:n1] @ right.T + left @ move[n1:].T)
    multipliers = multipliers + (missing - predicted) / softness
    return left + move[:n1], right + move[n1:], multipliers, residual
