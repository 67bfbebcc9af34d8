"""A path in slow time: corners joined by straight lines, where it ends, and when it passes a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.engine.outcome import Ending, Outcome
from latebloom.errors import InputError, check_number


@dataclass(frozen=True, eq=False)
class SlowPath:
    """What a slow flow did: slow times `s = αβt`, the points at them, and the norm that falls along the way.

    - `slow_times`, `points`, `norms`: one row for every corner; between corners the path is straight.
    - `gap`: relative duality gap at the last point; zero proves that it has the smallest norm among those that fit.
    - `certificate`: what `gap` measures. `dual`: the array in the row space of X that proves it.
    - `infeasibility`: the largest `|X a - y| / |y|` along the way.
    - `exact`: whether the corners are events of the flow itself, or steps of a scheme with an error of its own.

    >>> from latebloom.engine.outcome import Ending, Outcome
    >>> path = SlowPath(
    ...     np.array([0.0, 1.0]), np.array([[1.0, 1.0], [2.0, 0.0]]), np.array([2.0, 2.0]), np.array([1.0, 1.0]), 0.0,
    ...     "by hand", 0.0, Outcome(Ending.FINISHED, 1.0, "by hand"), True, 0.0)
    >>> path.at(0.25), round(path.crossing([2.0, 0.0], 0.1), 9)
    (array([1.25, 0.75]), 0.858578644)
    """

    slow_times: np.ndarray
    points: np.ndarray
    norms: np.ndarray
    dual: np.ndarray
    gap: float
    certificate: str
    infeasibility: float
    outcome: Outcome
    exact: bool
    seconds: float

    def __repr__(self) -> str:
        return f"SlowPath({self.events} pieces to slow time {self.end_time:.6g}: {self.outcome.sentence})"

    @property
    def events(self) -> int:
        """The number of straight pieces."""
        return len(self.slow_times) - 1

    @property
    def end(self) -> np.ndarray:
        """The last point."""
        return self.points[-1]

    @property
    def end_time(self) -> float:
        """The slow time of the last point; if `converged`, the flow stands still from there on."""
        return float(self.slow_times[-1])

    @property
    def converged(self) -> bool:
        """Whether the last point is certified to have the smallest norm."""
        return self.outcome.ending is Ending.FINISHED

    def at(self, slow_time: Any) -> np.ndarray:
        """The point at a slow time, or one for each of an array of them."""
        times = np.asarray(slow_time, dtype=np.float64)
        if not (times >= 0).all():  # also if one is NaN
            raise InputError(f"slow_time={slow_time!r} is not allowed: slow times must be numbers, 0 or more")
        if not self.converged and (times > self.end_time).any():
            raise InputError(f"slow_time={times.max():g} is past the end of the path: {self.outcome.sentence}")
        times = np.minimum(times, self.end_time)
        piece = np.clip(np.searchsorted(self.slow_times, times, side="right") - 1, 0, max(self.events - 1, 0))
        after = np.minimum(piece + 1, self.events)
        length = self.slow_times[after] - self.slow_times[piece]
        share = np.where(length > 0, (times - self.slow_times[piece]) / np.where(length > 0, length, 1.0), 0.0)
        share = share.reshape(share.shape + (1,) * (self.points.ndim - 1))
        return (1 - share) * self.points[piece] + share * self.points[after]

    def errors(self, truth: Any) -> np.ndarray:
        """`|a - a*| / |a*|` at the corners (absolute if `a*` is zero)."""
        truth = self._check_truth(truth)
        return np.linalg.norm(self._flat() - truth, axis=1) / (np.linalg.norm(truth) or 1.0)

    def crossing(self, truth: Any, threshold: float) -> float | None:
        """The first slow time at which `|a - a*| <= threshold |a*|`, solved on its straight piece; None if never."""
        truth = self._check_truth(truth)
        radius = check_number("threshold", threshold, above=0) * (float(np.linalg.norm(truth)) or 1.0)
        away = self._flat() - truth
        distances = np.linalg.norm(away, axis=1)
        if distances[0] <= radius:
            return 0.0
        # |e + uD|² = radius² has its smaller root in [0, 1] on the first piece that passes the threshold.
        start, move = away[:-1], np.diff(away, axis=0)
        a, b = np.sum(move**2, axis=1), np.sum(start * move, axis=1)
        c = distances[:-1] ** 2 - radius**2
        with np.errstate(divide="ignore", invalid="ignore"):
            share = c / (-b + np.sqrt(b**2 - a * c))  # NaN where the line misses the ball
        hits = np.flatnonzero((b < 0) & (share >= 0) & (share <= 1 + 1e-12))
        if not len(hits):
            return None
        first = hits[0]
        length = self.slow_times[first + 1] - self.slow_times[first]
        return float(self.slow_times[first] + min(share[first], 1.0) * length)

    def _flat(self) -> np.ndarray:
        return self.points.reshape(len(self.points), -1)

    def _check_truth(self, truth: Any) -> np.ndarray:
        array = np.asarray(truth, dtype=np.float64)
        if array.shape != self.points.shape[1:] or not np.isfinite(array).all():
            raise InputError(
                f"truth has shape {array.shape}: give finite numbers of shape {self.points.shape[1:]}, "
                "e.g. problem.truth of a planted problem"
            )
        return array.ravel()
