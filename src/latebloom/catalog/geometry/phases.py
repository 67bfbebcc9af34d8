"""The unregularised flow of the toy models in the plane, in closed form: where memorisation lands."""

from __future__ import annotations

from typing import Any

import numpy as np

SLOPE = 0.1  # of the leaky ReLU below zero
FAR_SIDE = 2 / (1 + SLOPE**2)  # the line w1/10 + w2 = 2 comes closest to the origin at FAR_SIDE · (1/10, 1)


def fast_path(kind: str, start: Any) -> np.ndarray:
    """The path of the flow without weight decay from `start` to the zero-loss set; its last row is the limit map.

    - curved, singular (`w1 w2 = y`): along the hyperbola of constant `w1² - w2²`;
    - leaky_sum: straight along (1, 1);
    - leaky_units: straight in each quadrant, along the slopes of its units.

    >>> fast_path("curved", [0.0, 1.5])[-1].round(4).tolist()
    [0.6166, 1.6218]
    >>> fast_path("leaky_units", [-1.0, 0.0]).round(4).tolist()
    [[-1.0, 0.0], [-0.7921, 2.0792]]
    """
    start = np.asarray(start, dtype=float)
    if kind == "leaky_sum":
        return np.array([start, start + (2 - start.sum()) / 2])
    return _leaky_units(start) if kind == "leaky_units" else _product(start, 1.0 if kind == "curved" else 0.0)


def _product(start: np.ndarray, target: float) -> np.ndarray:
    gap = start[0] ** 2 - start[1] ** 2
    large, small = (0, 1) if gap >= 0 else (1, 0)
    size = np.sqrt((abs(gap) + np.hypot(gap, 2 * target)) / 2)
    sign = np.sign(start[large])  # the larger weight never passes zero, and the smaller one follows it
    last = target / (sign * size) if size else 0.0
    path = np.empty((101, 2))
    path[:, small] = np.linspace(start[small], last, 101)
    path[:, large] = sign * np.sqrt(abs(gap) + path[:, small] ** 2)
    return path


def _leaky_units(start: np.ndarray) -> np.ndarray:
    points = [start]
    for _ in range(3):  # the path leaves a quadrant at most twice
        here = points[-1]
        output = np.where(here > 0, here, SLOPE * here).sum()
        up = 1.0 if output < 2 else -1.0
        inside = (here > 0) | ((here == 0) & (up > 0))
        speed = up * np.where(inside, 1.0, SLOPE)
        arrival = abs(2 - output) / (speed @ speed)
        with np.errstate(divide="ignore", invalid="ignore"):
            exits = np.where(here * speed < 0, -here / speed, np.inf)
        if arrival <= exits.min():
            return np.array([*points, here + arrival * speed])
        after = here + exits.min() * speed
        after[np.argmin(exits)] = 0.0
        points.append(after)
    return np.array(points)


def kink_time(landing: Any) -> float:
    """The slow time 2λt at which the slide from `landing`, on an outer branch of leaky_units, passes the kink.

    On `w1/10 + w2 = 2` the slow flow is `w' = -Pw`: straight towards the point of that line closest to the origin,
    which lies beyond the kink. It is therefore passed after a finite time, `log(1 + |w1| / (0.1 · 2/1.01))`.

    >>> round(kink_time([-1.0, 2.1]), 4)
    1.8001
    """
    return float(np.log1p(-min(landing) / (SLOPE * FAR_SIDE)))
