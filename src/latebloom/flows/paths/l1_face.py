"""The face of the cube on which the subgradient of the l1 norm lies, with the factorisation that events update."""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

REFRESH = 100  # updates of the inverse between two factorisations from scratch, or twice the rank if that is more
FLAT = 1e-9  # one minus a leverage below which a component cannot be taken out: its residual is rounding
STILL = 1e-12  # of a velocity (those of free components are of order one): rounding
LEAVING = 1e-9  # of a velocity that bounded least squares give: below, they have not converged
NEVER = 1e300

# Called as they are: a vector of thirty numbers is done before NumPy has looked at its arguments. Of a symmetric matrix
# only the lower triangle is held, read and updated.
_axpy, _symv, _syr = get_blas_funcs(("axpy", "symv", "syr"), dtype=np.float64)
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
        self.updates, self.count, self.patience = 0, len(signs), max(REFRESH, 2 * basis.shape[1])
        self.edge: list[int] = []  # components at zero that have been told to move, at this point
        self._earliest = np.full(len(signs), NEVER)  # that a component meets the border of its range: 0 if it rests
        self._ones, self._room = np.ones(len(signs)), np.empty(len(signs))
        self.refresh()

    @property
    def moving(self) -> np.ndarray:
        """Which components move."""
        return self._earliest > 0

    def velocity(self) -> np.ndarray:
        """`-P h` of what moves (of what rests: any number).

        A component that is told to leave zero and stands still, or goes astray by rounding, has zero.
        """
        velocity = self.fit - self.signs
        for k in self.edge:
            if velocity.item(k) * self.signs.item(k) < STILL:
                velocity[k] = 0.0
        return velocity

    def stands_still(self, velocity: np.ndarray) -> bool:
        """Whether what moves does so by rounding alone."""
        return bool(np.abs(velocity[self.moving]).max(initial=0.0) <= 1e3 * STILL)

    def settle(self, i: int, limit: int) -> None:
        """Component `i` has come to zero with `h_i = ±1`: moves `h_i` to where `|P h|` is least, with all that rests.

        `|P h|`, minimised over what is at zero, is convex in `h_i`. As `h_i` moves, `V ν` moves along `V q`,
        `q = ±(V_Fᵀ V_F)⁻¹ V_i`, until `i` is at rest, or has gone through the cube to its other side, or another
        component is at the border of its own range and begins or ceases to move.
        """
        side, gone = self.signs.item(i), 0.0
        for _ in range(limit):
            q = self._solve(i, -side)
            pace = self.basis.dot(q)
            give = 1.0 + side * pace.item(i)
            left = side * (self.signs.item(i) - self.fit.item(i))
            if left <= STILL or give <= FLAT:
                self.edge.append(i)
                return
            j, room = self._first_border(pace)
            k, edge_room = self._first_edge(pace)
            step = min(left / give, 2.0 - gone, room, edge_room)
            self.fit = _axpy(pace, self.fit, a=step)
            self.signs[i] -= step * side
            gone += step
            if step == edge_room:
                self.edge.remove(k)
                q = self._solve(k)
                self._rest(k, q, 1.0 - float(self.basis[k].dot(q)))
            elif step == room:
                self._move(j)
            elif gone >= 2.0:
                self.signs[i] = -side
                self.edge.append(i)
                return
            else:
                self._rest(i, q, give)
                return
        raise Stuck

    def restart(self, point: np.ndarray) -> None:
        """The face at a point from scratch, by bounded least squares: where ties make the events go in circles."""
        kernel = np.eye(len(point)) - self.basis @ self.basis.T
        zero, h = point == 0, np.sign(point)
        from scipy.optimize import lsq_linear  # a quarter of a second to load, and rarely asked

        h[zero] = lsq_linear(kernel[:, zero], -kernel @ h, bounds=(-1, 1), method="bvls", tol=1e-14).x
        velocity = -kernel @ h
        leaving = zero & (np.abs(velocity) > LEAVING)
        h[leaving] = np.sign(velocity[leaving])
        self.signs, self._earliest = h, np.where(~zero | leaving, NEVER, 0.0)
        self.edge, self.count = [int(k) for k in np.flatnonzero(leaving)], int(self.moving.sum())
        if np.abs(velocity).max() <= LEAVING:  # the end, where what moves need not determine ν
            self.fit = h
        else:
            self.refresh()

    def _first_border(self, pace: np.ndarray) -> tuple[int, float]:
        """Which resting component is the first to come to the border of [-1, 1], and when."""
        room = np.copysign(self._ones, pace, out=self._room)
        np.subtract(room, self.fit, out=room)
        np.divide(room, pace, out=room)
        np.maximum(room, self._earliest, out=room)  # at once if at the border already, by rounding; never if it moves
        j = int(room.argmin())
        if room.item(j) != room.item(j):  # 0/0: it is at the border and stays there
            room[np.isnan(room)] = NEVER
            j = int(room.argmin())
        return j, room.item(j)

    def _first_edge(self, pace: np.ndarray) -> tuple[int, float]:
        """Which component told to leave zero is the first to be pulled back, and when."""
        first, earliest = -1, NEVER
        for k in self.edge:
            side = self.signs.item(k)
            closing = -side * pace.item(k)
            if closing > STILL:
                room = max(side * (self.fit.item(k) - side), 0.0) / closing
                first, earliest = (k, room) if room < earliest else (first, earliest)
        return first, earliest

    def _solve(self, i: int, times: float = 1.0) -> np.ndarray:
        return _symv(times, self._inverse, self.basis[i], lower=1)

    def _rest(self, i: int, q: np.ndarray, give: float) -> None:
        self._earliest[i], self.count = 0.0, self.count - 1
        self._update(q, 1.0 / max(give, FLAT), give)

    def _move(self, j: int) -> None:
        q = self._solve(j)
        self.signs[j] = 1.0 if self.fit[j] > 0 else -1.0
        self._earliest[j], self.count = NEVER, self.count + 1
        self.edge.append(j)
        self._update(q, -1.0 / (1.0 + float(self.basis[j].dot(q))), 1.0)

    def _update(self, q: np.ndarray, weight: float, give: float) -> None:
        self.updates += 1
        if self.updates >= self.patience or give < 1e-4:  # a component of almost full leverage takes digits with it
            self.refresh()
        else:
            self._inverse = _syr(weight, q, a=self._inverse, lower=1, overwrite_a=1)

    def refresh(self) -> None:
        """The factorisation and the fit from scratch."""
        rows, signs = self.basis[self.moving], self.signs[self.moving]
        factor, failed = _potrf(rows.T @ rows, lower=1, overwrite_a=1)
        inverse, bad = _potri(factor, lower=1, overwrite_c=1)
        if failed or bad:
            raise Stuck
        self._inverse = inverse
        nu = _symv(1.0, self._inverse, rows.T @ signs, lower=1)
        nu += _symv(1.0, self._inverse, rows.T @ (signs - rows @ nu), lower=1)  # one step of refinement
        self.fit = self.basis @ nu
        self.updates = 0
