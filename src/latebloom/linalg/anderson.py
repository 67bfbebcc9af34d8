"""Anderson acceleration of a fixed-point iteration `z -> z + g(z)`."""

from __future__ import annotations

from collections import deque

import numpy as np

RIDGE = 1e-8  # of the trace of the normal equations


class Anderson:
    """Combines the last points so that the steps, were they linear in the point, would cancel.

    The combination may go astray: who calls keeps the last good point, and calls `forget` before going back to it.

    >>> import numpy as np
    >>> slow, accelerate = np.diag([0.9, 0.5]), Anderson(memory=2)
    >>> point = np.ones(2)
    >>> for _ in range(3):
    ...     point = accelerate(point, slow @ point - point)
    >>> bool(np.linalg.norm(point) < 1e-4)  # without: 0.74
    True

    Source: Walker and Ni, "Anderson Acceleration for Fixed-Point Iterations" (2011); Zhang, O'Donoghue and
    Boyd, "Globally Convergent Type-I Anderson Acceleration for Nonsmooth Fixed-Point Iterations" (2020).
    """

    def __init__(self, memory: int):
        self._steps: deque[np.ndarray] = deque(maxlen=memory)
        self._points: deque[np.ndarray] = deque(maxlen=memory)
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def forget(self) -> None:
        """Starts afresh."""
        self._steps.clear()
        self._points.clear()
        self._last = None

    def __call__(self, point: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The next point, given this one and its plain step."""
        if self._last is not None:
            self._points.append((point - self._last[0]).ravel())
            self._steps.append((step - self._last[1]).ravel())
        self._last = (point, step)
        if not self._steps:
            return point + step
        steps = np.array(self._steps)
        normal = steps @ steps.T
        normal += RIDGE * np.trace(normal) * np.eye(len(normal)) + np.finfo(float).tiny * np.eye(len(normal))
        weights = np.linalg.solve(normal, steps @ step.ravel())
        return point + step - (weights @ (np.array(self._points) + steps)).reshape(point.shape)
