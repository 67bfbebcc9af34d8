"""One proximal step of the nuclear norm on the matrices that fit, by a semismooth Newton method on its dual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from latebloom.oracles.nuclear.constraints import Constraints, RowConstraints

STEPS = 60
FITTED = 1e-13  # |X vec(A) - y| over |y| at which the dual is solved to rounding
ENOUGH = 1e-9  # the same, if rounding lets no step through any more
ARMIJO = 1e-4
HALVINGS = 12
DAMPING, POWER = 1e-2, 0.5  # of the relative misfit: the system is singular as soon as the rank is small


@dataclass(frozen=True, eq=False)
class ProxStep:
    """The minimiser of `|A|_* + |A - B|² / (2τ)` among the matrices that fit, and what proves it.

    `bound` is a distance from the true minimiser that the duality gap certifies: the objective is 1/τ-strongly convex,
    so `|A - A°|² <= 2τ gap`. Of a gap at rounding, the square root is left.
    """

    matrix: np.ndarray
    multipliers: np.ndarray
    bound: float
    solved: bool


def prox_step(
    constraints: Constraints, centre: np.ndarray, step: float, multipliers: np.ndarray | None = None
) -> ProxStep:
    """`argmin |A|_* + |A - centre|² / (2 step)` subject to `X vec(A) = y`; `multipliers` is a first guess.

    For multipliers ν the inner minimum is at `A(ν) = shrink(centre + step X*ν)`, the soft threshold `step` of the
    singular values, and ν maximises a concave dual whose gradient is `y - X vec(A(ν))`. Newton's method with the
    derivative of the shrinkage, and a line search on the dual.

    >>> import numpy as np
    >>> from latebloom.oracles.nuclear.constraints import EntryConstraints
    >>> seen = EntryConstraints.of(np.array([[1, 0]]), np.array([[3.0, 0.0]]))
    >>> found = prox_step(seen, np.array([[3.0, 8.0]]), 5.0)
    >>> found.matrix.round(9), found.solved
    (array([[3., 4.]]), True)

    Source: Jiang, Sun and Toh, "A Partial Proximal Point Algorithm for Nuclear Norm Regularized Matrix Least
    Squares Problems" (2014), Section 3.
    """
    size = max(float(np.linalg.norm(constraints.values)), np.finfo(float).tiny)
    nu = np.zeros(len(constraints.values)) if multipliers is None else multipliers
    here = _Dual(constraints, centre, step, nu)
    for _ in range(STEPS):
        miss = float(np.linalg.norm(here.slope))
        if miss <= FITTED * size:
            break
        there = _climb(here, here.newton(DAMPING * min(1.0, miss / size) ** POWER), miss)
        if there is None:
            break
        here = there
    fitting = constraints.project(here.matrix)
    primal = _nuclear(fitting) + float(np.sum((fitting - centre) ** 2)) / (2 * step)
    bound = np.sqrt(2 * step * max(primal - here.value, np.finfo(float).eps * primal))
    solved = float(np.linalg.norm(here.slope)) <= ENOUGH * size
    return ProxStep(fitting, here.multipliers, float(bound), solved)


def _climb(here: _Dual, move: np.ndarray, miss: float) -> _Dual | None:
    """The longest of the steps 1, 1/2, 1/4, ... that climbs enough; None if rounding lets none through."""
    gain, length = float(here.slope @ move), 1.0
    for _ in range(HALVINGS):
        there = _Dual(here.constraints, here.centre, here.step, here.multipliers + length * move)
        # Near the end the dual cannot resolve its own rise: then the misfit decides.
        if there.value >= here.value + ARMIJO * length * gain or np.linalg.norm(there.slope) <= 0.9 * miss:
            return there
        length /= 2
    return None


class _Dual:
    """The dual function, its gradient and its generalised Hessian at a multiplier."""

    def __init__(self, constraints: Constraints, centre: np.ndarray, step: float, multipliers: np.ndarray):
        self.constraints, self.centre, self.step, self.multipliers = constraints, centre, step, multipliers
        self.wide = centre.shape[0] <= centre.shape[1]
        inner = centre + step * constraints.adjoint(multipliers)
        self.left, self.sigma, right = np.linalg.svd(inner if self.wide else inner.T, full_matrices=True)
        self.right = right.T
        self.shrunk = np.maximum(self.sigma - step, 0.0)
        matrix = (self.left * self.shrunk) @ right[: len(self.shrunk)]
        self.matrix = matrix if self.wide else matrix.T
        self.slope = constraints.values - constraints.measure(self.matrix)
        away = float(np.sum((self.matrix - centre) ** 2)) / (2 * step)
        self.value = float(self.shrunk.sum()) + away + float(multipliers @ self.slope)

    def newton(self, damping: float) -> np.ndarray:
        """The Newton step: `(τ X J X* + damping τ) move = slope`, J the derivative of the shrinkage."""
        turned = self._turned()
        changed = turned * self._ratios(minus=False)
        head = len(self.sigma)
        square = turned[:, :, :head]
        # J scales the symmetric part by one table and the antisymmetric part by another.
        both = (self._ratios(minus=True) - self._ratios(minus=False)[:, :head]) / 2
        changed[:, :, :head] += both * (square + square.transpose(0, 2, 1))
        flat = len(turned), -1
        system = turned.reshape(flat) @ changed.reshape(flat).T
        system[np.diag_indices(len(system))] += damping + 1e-13
        return cho_solve(cho_factor(system, lower=True, check_finite=False), self.slope) / self.step

    def _turned(self) -> np.ndarray:
        """Every direction of measurement in the singular bases: `Uᵀ X_k V`."""
        seen = self.constraints
        if isinstance(seen, RowConstraints):
            directions = seen.directions if self.wide else seen.directions.transpose(0, 2, 1)
            return self.left.T @ directions @ self.right
        rows, columns = (seen.rows, seen.columns) if self.wide else (seen.columns, seen.rows)
        return self.left[rows][:, :, None] * self.right[columns][:, None, :]

    def _ratios(self, *, minus: bool) -> np.ndarray:
        """`(s_i - s_j) / (σ_i - σ_j)`, or with plus signs; columns past the square part have σ = s = 0."""
        sigma, shrunk = self.sigma, self.shrunk
        if minus:
            top, bottom = shrunk[:, None] - shrunk, sigma[:, None] - sigma
            same = np.abs(bottom) <= 1e-12 * sigma[0]
            on = ((sigma[:, None] > self.step) & (sigma > self.step)).astype(float)
            return np.where(same, on, top / np.where(same, 1.0, bottom))
        spare = np.zeros(len(self.right) - len(sigma))
        sigma, shrunk = np.concatenate([sigma, spare]), np.concatenate([shrunk, spare])
        bottom = self.sigma[:, None] + sigma
        return (self.shrunk[:, None] + shrunk) / np.where(bottom > 0, bottom, 1.0)


def _nuclear(matrix: np.ndarray) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False).sum())
