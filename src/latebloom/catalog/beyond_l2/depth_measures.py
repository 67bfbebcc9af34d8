"""How a deep run falls: its plateaus, its delay, and how abrupt it is."""

from __future__ import annotations

import numpy as np

from latebloom.catalog.measures import over


def plateaus(run, least=0.02, length=1.25):
    """The recovery errors, above a tenth, near which (`least`) it stays while time grows by `length`."""
    steps, errors, found = run["step"][1:], run["test_error"][1:], []
    for first, step in enumerate(steps):
        last = np.searchsorted(steps, length * step)
        stays = last < len(steps) and np.ptp(errors[first : last + 1]) <= least and errors[first] >= 0.1
        if stays and (not found or found[-1] - errors[first] > 2 * least):
            found.append(float(errors[first]))
    return found


def delay(run, height):
    """When the recovery error falls to a height, over when the training error does."""
    return over(*(run.first(run[column] <= height) for column in ("test_error", "train_error")))


def abruptness(run):
    """How much time, over the time that has passed, the first fall of the error from 0.97 to 0.85 takes."""
    begin, end = (run.first(run["test_error"] <= height) for height in (0.97, 0.85))
    return np.inf if not (begin and end) else end / begin - 1
