"""The face of the cube on which the subgradient of the l1 norm lies, with the factorisation that events update."""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs
from scipy.optimize import lsq_linear

REFRESH = 100  # updates of the inverse between two factorisations from scratch, or twice the rank if that is more
FLAT = 1e-9  # one minus a leverage below which a component cannot be taken out: its residual is rounding
STILL = 1e-12  # of a velocity (those of free components are of order one): rounding
LEAVING = 1e-9  # of a velocity that bounded least squares give: below, they have not converged
NEVER = 1e300

# Called as they are: a vector of thirty numbers is done before NumPy has looked at its arguments.
_gemv, _ger = get_blas_funcs(("gemv", "ger"), dtype=np.float64)
_potrf, _potri = get_lapack_funcs(("potrf", "potri"), dtype=np.float64)


class Stuck(Exception):
    """The events at one point do not come to an end."""


class Face:
    """The subgradient `h` of least `|P h|` at a point: P projects on the kernel of X, whose row space has the basis V.

    Components are *moving* (`h_i = ±1`, fixed) or *resting* (`a_i = 0`, `h_i` in [-1, 1], `(P h)_i = 0`). With F the
    moving ones, `V Vᵀ h = V ν` where ν solves the least-squares problem `V_F ν ≈ h_F`: what rests has `h = V ν`, what
    moves has the velocity `V ν - h`. Held: `fit = V ν`, and the inverse of `V_Fᵀ V_F`, which a component that
    begins or ceases to move changes by a matrix of rank one.
    """

    def __init__(self, basis: np.ndarray, signs: np.ndarray):
        self.basis = np.ascontiguousarray(basis)  # rows are what the events read
        self.signs = signs
        self.moving = np.ones(len(signs), dtype=bool)
        self.updates, self.count, self.patience = 0, len(signs), max(REFRESH, 2 * basis.shape[1])
        self.edge: list[int] = []  # components at zero that have been told to move, at this point
        self.refresh()

    def velocity(self) -> np.ndarray:
        """`-P h`; a component that is told to leave zero and stands still, or goes astray by rounding, has zero."""
        velocity = (self.fit - self.signs) * self.moving
        for k in self.edge:
            if velocity[k] * self.signs[k] < STILL:
                velocity[k] = 0.0
        return velocity

    def settle(self, i: int, limit: int) -> None:
        """Component `i` has come to zero with `h_i = ±1`: moves `h_i` to where `|P h|` is least, with all that rests.

        `|P h|`, minimised over what is at zero, is convex in `h_i`. As `h_i` moves, `V ν` moves along `w = V q`,
        `q = (V_Fᵀ V_F)⁻¹ V_i`, until `i` is at rest, or has gone through the cube to its other side, or another
        component is at the border of its own range and begins or ceases to move.
        """
        side, gone = self.signs[i], 0.0
        for _ in range(limit):
            q = self._solve(i)
            w = self.basis.dot(q)
            give = 1.0 - w[i]
            left = side * (self.signs[i] - self.fit[i])
            if left <= STILL or give <= FLAT:
                self.edge.append(i)
                return
            step = min(left / give, 2.0 - gone)
            pace = w if side < 0 else -w
            j, room = self._first_border(pace)
            k, edge_room = self._first_edge(pace)
            step = min(step, room, edge_room)
            pace *= step
            self.fit += pace
            self.signs[i] -= step * side
            gone += step
            if step == edge_room:
                self.edge.remove(k)
                self._rest(k, self._solve(k))
            elif step == room:
                self._move(j)
            elif gone >= 2.0:
                self.signs[i] = -side
                self.edge.append(i)
                return
            else:
                self._rest(i, q)
                return
        raise Stuck

    def restart(self, point: np.ndarray) -> None:
        """The face at a point from scratch, by bounded least squares: where ties make the events go in circles."""
        kernel = np.eye(len(point)) - self.basis @ self.basis.T
        zero, h = point == 0, np.sign(point)
        h[zero] = lsq_linear(kernel[:, zero], -kernel @ h, bounds=(-1, 1), method="bvls", tol=1e-14).x
        velocity = -kernel @ h
        leaving = zero & (np.abs(velocity) > LEAVING)
        h[leaving] = np.sign(velocity[leaving])
        self.signs, self.moving = h, ~zero | leaving
        self.edge, self.count = [int(k) for k in np.flatnonzero(leaving)], int(self.moving.sum())
        if np.abs(velocity).max() <= LEAVING:  # the end, where what moves need not determine ν
            self.fit = h
        else:
            self.refresh()

    def _first_border(self, pace: np.ndarray) -> tuple[int, float]:
        """Which resting component is the first to come to the border of [-1, 1], and when."""
        room = np.copysign(1.0, pace)
        room -= self.fit
        room /= pace
        room[self.moving] = NEVER
        j = int(room.argmin())
        if not room[j] >= 0:  # at the border already: by rounding, or 0/0 if it stays there
            room = np.where(np.isnan(room), NEVER, np.maximum(room, 0.0))
            j = int(room.argmin())
        return j, float(room[j])

    def _first_edge(self, pace: np.ndarray) -> tuple[int, float]:
        """Which component told to leave zero is the first to be pulled back, and when."""
        first, earliest = -1, NEVER
        for k in self.edge:
            closing = -self.signs[k] * pace[k]
            if closing > 0:
                room = max(self.signs[k] * (self.fit[k] - self.signs[k]), 0.0) / closing
                first, earliest = (k, room) if room < earliest else (first, earliest)
        return first, earliest

    def _solve(self, i: int) -> np.ndarray:
        return _gemv(1.0, self._inverse, self.basis[i])

    def _rest(self, i: int, q: np.ndarray) -> None:
        give = 1.0 - self.basis[i].dot(q)
        self.moving[i], self.count = False, self.count - 1
        self._update(q, 1.0 / give, give)

    def _move(self, j: int) -> None:
        q = self._solve(j)
        self.signs[j] = 1.0 if self.fit[j] > 0 else -1.0
        self.moving[j], self.count = True, self.count + 1
        self.edge.append(j)
        self._update(q, -1.0 / (1.0 + self.basis[j].dot(q)), 1.0)

    def _update(self, q: np.ndarray, weight: float, give: float) -> None:
        self.updates += 1
        if self.updates >= self.patience or give < 1e-4:  # a component of almost full leverage takes digits with it
            self.refresh()
        else:
            self._inverse = _ger(weight, q, q, a=self._inverse, overwrite_a=1)

    def refresh(self) -> None:
        """The factorisation and the fit from scratch."""
        rows = self.basis[self.moving]
        factor, failed = _potrf(rows.T @ rows, lower=1, overwrite_a=1)
        inverse, bad = _potri(factor, lower=1, overwrite_c=1)
        if failed or bad:
            raise Stuck
        below = np.tril(inverse, -1)
        self._inverse = np.asfortranarray(below + below.T + np.diag(inverse.diagonal()))
        nu = self._inverse @ (rows.T @ self.signs[self.moving])
        nu += self._inverse @ (rows.T @ (self.signs[self.moving] - rows @ nu))  # one step of refinement
        self.fit = self.basis @ nu
        self.updates = 0
