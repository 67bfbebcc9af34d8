"""Douglas-Rachford splitting for the minimum nuclear norm: one small singular value decomposition a step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latebloom.linalg.anderson import Anderson
from latebloom.oracles.nuclear.constraints import Constraints
from latebloom.oracles.nuclear.newton import Proposal, widest_gap

METHOD = "Douglas-Rachford splitting"
THRESHOLD = 0.2  # of the spectral norm of the smallest matrix that fits; 0.05 to 1 works, by size and share observed
RELAXATION = 1.6
MEMORY = 15
ASTRAY = 2  # times the smallest step so far: without acceleration steps never grow
FIRST = 1e-3  # a relative step from which Newton's method may succeed
ROUNDING = 1e-13
WIDE = 10  # a ratio of singular values that may be the end of the rank


def split(constraints: Constraints, *, steps: int) -> Iterator[Proposal]:
    """Proposals of rising accuracy: some whenever the step has shrunk tenfold, and the last point.

    `A = P(Z)`, `B = shrink(2A - Z)`, `Z += ρ (B - A)`, with P the projection on the matrices that fit and `shrink` the
    soft threshold t of the singular values. `(A - Z) / t` is a multiplier by construction, and feasible in the limit.
    The steps are accelerated; one that goes astray is undone.

    >>> import numpy as np
    >>> from latebloom.oracles.nuclear.constraints import EntryConstraints
    >>> seen = EntryConstraints.of(np.array([[1, 1], [1, 0]]), np.array([[1.0, 0.5], [0.5, 0.0]]))
    >>> *_, last = split(seen, steps=200)
    >>> last.matrix.round(6), last.rank
    (array([[1.  , 0.5 ],
           [0.5 , 0.25]]), 1)

    Source: Combettes and Pesquet, "A Douglas-Rachford Splitting Approach ..." (2007); Cai, Candès and
    Shen, "A Singular Value Thresholding Algorithm for Matrix Completion" (2010), Theorem 2.1.
    """
    smallest = constraints.adjoint(constraints.values)
    threshold = THRESHOLD * float(np.linalg.svd(smallest, compute_uv=False)[0])
    point, safe, lowest = smallest, smallest, np.inf
    enough, size, accelerate = FIRST, float(np.linalg.norm(smallest)), Anderson(MEMORY)
    for count in range(1, steps + 1):
        fitting = constraints.project(point)
        low, sigma = _shrink(2 * fitting - point, threshold)
        step = RELAXATION * (low - fitting)
        moved = float(np.linalg.norm(low - fitting)) / size
        if moved <= enough or count == steps:
            enough = min(enough, moved) / 10
            multipliers = constraints.measure(fitting - point - step) / threshold
            yield from (Proposal(low, multipliers, rank, METHOD) for rank in _ranks(sigma))
        if moved <= ROUNDING:
            return
        if moved > ASTRAY * lowest:
            accelerate.forget()
            point = safe
            continue
        lowest, safe = min(lowest, moved), point + step
        point = accelerate(point, step)


def _shrink(matrix: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """The shrunk matrix and its singular values."""
    u, sigma, vt = np.linalg.svd(matrix, full_matrices=False)
    sigma = sigma[sigma > threshold] - threshold
    return (u[:, : len(sigma)] * sigma) @ vt[: len(sigma)], sigma


def _ranks(sigma: np.ndarray) -> list[int]:
    """The rank below the widest gap, then the rank itself: singular values can take long to vanish."""
    rank, ratio = widest_gap(sigma)
    return [len(sigma)] if ratio < WIDE or rank == len(sigma) else [rank, len(sigma)]
