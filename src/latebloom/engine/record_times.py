"""When records are made: log-spaced, so that a run of a million steps has a few hundred of them."""

from __future__ import annotations

import numpy as np

PER_DECADE = 60  # at least 50 whole steps in every decade from 10 on, all of them below


def log_spaced(steps: int, per_decade: int = PER_DECADE) -> np.ndarray:
    """Step 0, the first steps one by one, then `per_decade` a decade, and the last step.

    >>> log_spaced(100)[:5].tolist(), log_spaced(100)[-1].item()
    ([0, 1, 2, 3, 4], 100)
    """
    if steps == 0:
        return np.zeros(1, dtype=np.int64)
    exponents = np.arange(0, np.log10(steps) * per_decade + 1) / per_decade
    # Rounding up keeps the density: no gap is wider than a factor 10^(1/per_decade) plus one step.
    marks = np.ceil(10.0**exponents - 1e-9).astype(np.int64)
    return np.unique(np.concatenate([[0], marks[marks < steps], [steps]]))


def before_end(end: float, decades: int, per_decade: int) -> np.ndarray:
    """The times of a flow: log-spaced over so many decades before its end.

    >>> before_end(10.0, 2, 1).round(9).tolist()
    [0.1, 1.0, 10.0]
    """
    return end * np.geomspace(10.0**-decades, 1.0, decades * per_decade + 1)
