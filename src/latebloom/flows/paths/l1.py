"""The slow flow of the l1 norm on `{a : X a = y}`, exact: a piecewise linear path, followed from event to event."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs, lstsq

from latebloom.core.arrays import check_array
from latebloom.core.threads import one_core
from latebloom.engine.outcome import Ending, Outcome
from latebloom.errors import InputError, check_count
from latebloom.flows.paths.l1_face import STILL, Face, Stuck
from latebloom.flows.paths.slow_path import SlowPath
from latebloom.linalg.spectrum import Spectrum
from latebloom.problems.base import AbstractLinear, require_linear

CERTIFICATE = "relative duality gap (|a|_1 - yᵀν) / |a|_1 with |Xᵀν|_inf <= 1"
CONSISTENT = 1e-9  # |X a - y| / |y| of the least-squares solution, above which nothing interpolates
FITS = 1e-6  # the same for a start that is given; what remains is projected away
OPTIMAL = 1e-9
SHARP = 1e-12
TOGETHER = 1e-11  # of the largest entry: components this close to zero have reached it

(_axpy,) = get_blas_funcs(("axpy",), dtype=np.float64)


def l1_path(problem: Any, *, start: Any = None, max_events: int | None = None) -> SlowPath:
    """The flow `da/ds = -P ∂|a|_1` on the vectors that fit, P the projection on the kernel of X: exact, to its end.

    Of the subgradients it takes the one with the shortest projection, so the direction solves a least-squares problem
    with `h_i` in [-1, 1] where `a_i = 0`. It is constant until a component reaches zero, so the path is piecewise
    linear; an event changes the working set by a few components, and the inverse it needs by matrices of rank one.
    The path ends at a minimiser of `|a|_1` among the vectors that fit (basis pursuit), with a dual certificate.

    Descent with a small l1 penalty follows it: step t of learning rate α and strength β is at `s = αβt`. `start` is
    where memorisation ends, by default the limit of unregularised descent from `problem.init()`.

    >>> from latebloom.problems import LinearRegression
    >>> path = l1_path(LinearRegression([[1.0, 2.0]], [2.0]))
    >>> path.points.round(12), path.slow_times.round(12), path.outcome.sentence
    (array([[0.4, 0.8],
           [0. , 1. ]]), array([0., 1.]), 'the minimum of |a|_1 at slow time 1, after 1 events')

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorems 2.1 and 3.1, in the limit αβ → 0.
    """
    began = time.perf_counter()
    problem = require_linear(problem, "l1_path")
    design, targets = np.asarray(problem.design, dtype=np.float64), np.asarray(problem.targets, dtype=np.float64)
    limit = 50 * design.shape[1] if max_events is None else check_count("max_events", max_events)
    with one_core(), np.errstate(divide="ignore", invalid="ignore"):
        spectrum = Spectrum.of(design)
        values = interpolated(spectrum, targets, "l1_path")
        walk = _Walk(spectrum.right, values, starting_point(problem, spectrum, values, start))
        outcome = walk.follow(limit)
        gap, dual = _certify(walk, values, ended=outcome.ending is Ending.FINISHED)
        points = walk.points()
        misfits = np.linalg.norm(points @ design.T - targets, axis=1)
    return SlowPath(
        slow_times=np.array(walk.times),
        points=points.reshape(len(points), *problem.truth.shape),
        norms=np.abs(points).sum(axis=1),
        dual=dual.reshape(problem.truth.shape),
        gap=gap,
        certificate=CERTIFICATE,
        infeasibility=float(misfits.max() / (np.linalg.norm(targets) or 1.0)),
        outcome=_judge(outcome, gap),
        exact=True,
        seconds=time.perf_counter() - began,
    )


def interpolated(spectrum: Spectrum, targets: np.ndarray, who: str) -> np.ndarray:
    """The constraints `X a = y` as `Vᵀ a = values`, refused if nothing fits."""
    seen = spectrum.left.T @ targets
    distance = float(np.linalg.norm(targets - spectrum.left @ seen))
    if distance > CONSISTENT * float(np.linalg.norm(targets)):
        raise InputError(
            f"the targets are at relative distance {distance / float(np.linalg.norm(targets)):.1e} from the range of "
            f"the design: nothing fits them, and {who} lives on what fits; take fewer measurements than unknowns, "
            "or train with a penalty"
        )
    return seen / spectrum.sigma


def starting_point(problem: AbstractLinear, spectrum: Spectrum, values: np.ndarray, start: Any) -> np.ndarray:
    """Where the slow phase begins: the point that fits and is closest to the problem's start, or the one given."""
    if start is None:
        point = np.asarray(problem.init(), dtype=np.float64).ravel()
    else:
        point = check_array("start", start)
        if point.shape != problem.truth.shape:
            raise InputError(f"start has shape {point.shape}: give one of shape {problem.truth.shape}")
        point = point.ravel()
        missing = float(np.linalg.norm(point @ spectrum.right - values))
        if missing > FITS * max(float(np.linalg.norm(values)), float(np.linalg.norm(point))):
            raise InputError(
                f"start misses the measurements by {missing:.1e}: give a point with X a = y, e.g. "
                "oracles.least_squares(problem, point).solution"
            )
    return point - spectrum.right @ (point @ spectrum.right - values)


class _Walk:
    """The path so far, and the face it is on.

    `places` are its corners with infinity for zero: what is there moves to no other place and arrives nowhere.
    """

    def __init__(self, basis: np.ndarray, values: np.ndarray, start: np.ndarray):
        self.values = values
        self.scale = float(np.abs(start).max())
        start = np.where(np.abs(start) <= TOGETHER * self.scale, 0.0, start)
        # Everything moves at first; what begins at zero is settled as if it had just come there.
        self.face = Face(basis, np.where(start < 0, -1.0, 1.0))
        self.times, self.places = [0.0], [np.where(start == 0, np.inf, start)]

    def points(self) -> np.ndarray:
        """The corners."""
        return _point(np.array(self.places))

    def follow(self, limit: int) -> Outcome:
        """Event after event, to the end of the path or of the budget."""
        arrived = np.flatnonzero(self.places[0] == np.inf).tolist()
        for event in range(limit + 1):
            if not self._settle(arrived):
                return _stuck(self.times[-1], event)
            if self.face.count <= self.face.basis.shape[1]:
                return self._finish(event)
            velocity = self.face.velocity()
            rates = velocity / self.places[-1]
            first = int(rates.argmin())
            # If the first to arrive has a speed, not all stand still, and they need not be looked at.
            if not (rates.item(first) < 0 and abs(velocity.item(first)) > 1e3 * STILL):
                if self.face.stands_still(velocity):
                    return self._finish(event)
                if not rates.item(first) < 0:
                    return _stuck(self.times[-1], event)
            if event == limit:
                break
            arrived = self._advance(velocity, rates, first)
        return Outcome(
            Ending.BUDGET,
            self.times[-1],
            f"budget of {limit:,} events spent at slow time {self.times[-1]:.6g}: raise max_events",
        )

    def _advance(self, velocity: np.ndarray, rates: np.ndarray, first: int) -> list[int]:
        """Goes to where the first component comes to zero, and says which others do."""
        duration = -self.places[-1].item(first) / velocity.item(first)
        place = _axpy(velocity, self.places[-1].copy(), a=duration)
        for k in self.face.edge:
            if velocity.item(k) != 0.0:
                place[k] = duration * velocity.item(k)
        place[first], arrived = np.inf, [first]
        distances = np.abs(place)
        if distances.item(distances.argmin()) <= TOGETHER * self.scale:
            others = np.flatnonzero((distances <= TOGETHER * self.scale) & (rates < 0))
            place[others] = np.inf
            arrived = sorted([first, *others.tolist()])
            if len(arrived) > 1:
                self._correct(place)
        self.face.edge = [k for k in self.face.edge if place.item(k) == np.inf]
        self.times.append(self.times[-1] + duration)
        self.places.append(place)
        return arrived

    def _settle(self, arrived: list[int]) -> bool:
        """What has come to zero rests there or goes on, one after the other; else all at once, from scratch."""
        try:
            for i in arrived:
                self.face.settle(i, 20 * len(self.places[0]))
        except Stuck:
            try:
                self.face.restart(_point(self.places[-1]))
            except Stuck:
                return False
        return True

    def _correct(self, place: np.ndarray) -> None:
        """Makes a corner fit without a change of signs, after components of a tie were rounded to zero.

        The change is the smallest *relative* one; a component just off zero must not change its side.
        """
        support = np.flatnonzero(place < np.inf)
        rows, entries = self.face.basis[support], place[support]
        change = _least_squares((rows * entries[:, None]).T, self.values - entries @ rows)
        if np.abs(change).max(initial=0.0) < 0.5:
            place[support] *= 1 + change

    def _misfit(self, point: np.ndarray) -> float:
        return float(np.linalg.norm(point @ self.face.basis - self.values))

    def _finish(self, events: int) -> Outcome:
        """The last point solved once more on its support, with and without what rounding has left there."""
        last = _point(self.places[-1])
        for threshold in (1e-8, 0.0):
            support = np.flatnonzero(np.abs(last) > threshold * self.scale)
            polished = np.zeros_like(last)
            polished[support] = _least_squares(self.face.basis[support].T, self.values)
            near = np.abs(polished - last).max() <= 1e-8 * self.scale
            if near and self._misfit(polished) <= max(self._misfit(last), 1e-14 * self.scale):
                self.places[-1] = np.where(polished == 0, np.inf, polished)
                break
        sentence = f"the minimum of |a|_1 at slow time {self.times[-1]:.6g}, after {events:,} events"
        return Outcome(Ending.FINISHED, self.times[-1], sentence)


def _point(place: np.ndarray) -> np.ndarray:
    return np.where(place == np.inf, 0.0, place)


def _least_squares(matrix: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The smallest solution, by a QR decomposition with pivoting: a third of the time of one by singular values."""
    return lstsq(matrix, values, lapack_driver="gelsy", check_finite=False)[0]  # type: ignore[index]


def _stuck(slow_time: float, event: int) -> Outcome:
    return Outcome(
        Ending.STOPPED,
        slow_time,
        f"stopped at slow time {slow_time:.6g}, event {event:,}: components at zero keep trading places there; "
        "add a little noise to the targets or the start",
    )


def _certify(walk: _Walk, values: np.ndarray, *, ended: bool) -> tuple[float, np.ndarray]:
    """The relative duality gap at the last point, and the feasible dual vector `Xᵀν` that proves it."""
    face, point = walk.face, _point(walk.places[-1])
    support = np.flatnonzero(point)
    norm = float(np.abs(point).sum())
    if norm == 0:
        return 0.0, np.zeros_like(point)
    best = _gap(face, face.fit, norm, values)
    if best[0] > SHARP:
        # At a degenerate end many dual vectors will do, and the face's own is ill-conditioned: two others are tried.
        rows = face.moving, support
        multipliers = [_least_squares(face.basis[of], face.signs[of]) for of in rows]
        best = min(best, *(_gap(face, face.basis @ nu, norm, values) for nu in multipliers), key=lambda pair: pair[0])
    if best[0] > OPTIMAL and ended:
        best = min(best, _gap(face, face.basis @ _dual_program(face.basis, values), norm, values), key=lambda p: p[0])
    return best


def _dual_program(basis: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The ν that maximises `νᵀ values` with `|V ν|_inf <= 1`, by a linear program: one end in a hundred needs it."""
    borders = np.vstack([basis, -basis])
    goal = -values / np.abs(values).max()
    from scipy.optimize import linprog  # a quarter of a second to load, and rarely asked

    found = linprog(goal, A_ub=borders, b_ub=np.ones(len(borders)), bounds=(None, None), method="highs").x
    return np.zeros(len(values)) if found is None else found


def _gap(face: Face, fit: np.ndarray, norm: float, values: np.ndarray) -> tuple[float, np.ndarray]:
    dual = fit / max(1.0, float(np.abs(fit).max()))
    return abs(norm - float((dual @ face.basis) @ values)) / norm, dual


def _judge(outcome: Outcome, gap: float) -> Outcome:
    """An end is an end only with its certificate."""
    if outcome.ending is not Ending.FINISHED or gap <= OPTIMAL:
        return outcome
    return Outcome(
        Ending.STOPPED,
        outcome.step,
        f"stopped at slow time {outcome.step:.6g} without a certificate (relative duality gap {gap:.1e}): the data are "
        "too ill-conditioned for the path; scale the columns of the design",
    )
