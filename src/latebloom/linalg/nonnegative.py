"""A convex quadratic over non-negative vectors: the dual of every max-margin problem."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

ITERATIONS = 80
TOLERANCE = 1e-13  # of the complementarity, relative to the objective
KEPT = 0.995  # of the way to the boundary
UNBOUNDED = 1e9  # a sum of multipliers, in units of the data, at which there is no finite solution


def nonnegative_quadratic(gram: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """The minimiser of `λᵀGλ/2 - bᵀλ` over λ ≥ 0, by a primal-dual interior-point method (Mehrotra).

    With G the Gram matrix of features `z_i` and b = 1, `w = Σ λ_i z_i` is the shortest vector with `⟨w, z_i⟩ ≥ 1` for
    all i. Every iteration is a Cholesky factorisation of `G + diag(s/λ)`, s = Gλ - b the slacks. If there is no such
    vector λ grows without bound along `Gλ = 0` and is returned when it is huge: the direction proves it.

    >>> nonnegative_quadratic(np.array([[1.0, 0.0], [0.0, 4.0]]), np.array([1.0, -1.0])).round(9).tolist()
    [1.0, 0.0]
    """
    size, height = float(np.mean(np.diag(gram))), float(np.max(np.abs(linear)))
    if size == 0 or height == 0:
        return np.zeros(len(linear))
    gram, linear = gram / size, linear / height
    dual = np.ones(len(linear)) / max(float(np.max(gram.sum(axis=1))), 1.0)
    slack = np.ones(len(linear))
    for _ in range(ITERATIONS):
        residual = gram @ dual - linear - slack
        gap = float(dual @ slack)
        objective = abs(float(linear @ dual))
        if gap <= TOLERANCE * max(objective, 1e-300) and np.abs(residual).max() <= 1e-11:
            break
        if dual.sum() > UNBOUNDED:
            break
        try:
            factor = cho_factor(gram + np.diag(slack / dual), check_finite=False)
        except LinAlgError:  # as near as floats allow
            break
        dual, slack = _step(factor, dual, slack, residual)
    return dual * height / size


def _step(factor, dual: np.ndarray, slack: np.ndarray, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A predictor towards the boundary, which says how much to centre, and the corrected step."""

    def solve(target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        move = cho_solve(factor, -residual + target / dual - slack, check_finite=False)
        return move, (target - dual * slack - slack * move) / dual

    mean = float(dual @ slack) / len(dual)
    ahead, below = solve(np.zeros_like(dual))
    reach = min(_reach(dual, ahead), _reach(slack, below))
    left = float((dual + reach * ahead) @ (slack + reach * below)) / len(dual)
    centre = (max(left, 0.0) / mean) ** 3 * mean
    ahead, below = solve(centre - ahead * below)
    reach = min(1.0, KEPT * min(_reach(dual, ahead), _reach(slack, below)))
    return dual + reach * ahead, slack + reach * below


def _reach(values: np.ndarray, move: np.ndarray) -> float:
    """How far one can go, at most 1/KEPT, before a value is zero."""
    falling = move < 0
    return min(1 / KEPT, float(np.min(-values[falling] / move[falling]))) if falling.any() else 1 / KEPT
