"""The most likely parameters: Newton's method with exact derivatives, its steps turned uphill and kept short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from latebloom.errors import LatebloomError
from latebloom.laws.likelihood import Brackets, Likelihood
from latebloom.laws.shapes import Power

DONE = 1e-8  # what another step would add to the log likelihood
CLOSE = 1e-3  # what may be left after so many steps: a thousandth of what tells two laws apart
NOISE = 1e-9  # relative to the log likelihood, of its rounding and quadrature
FARTHEST = 2.0  # of one parameter, which all are logarithms or of order one
MOST_STEPS = 200


class NoMaximumError(LatebloomError):
    """A likelihood whose maximum was not found."""


@dataclass(frozen=True)
class Maximum:
    """Where the likelihood is largest: its log, the parameters there, and minus its second derivatives."""

    log: float
    parameters: np.ndarray
    curvature: np.ndarray


def maximise(likelihood: Likelihood, starts: Sequence[np.ndarray], done: float = DONE) -> Maximum:
    """The best of what is found from each start."""
    found = [one for start in starts if (one := _from(likelihood, np.asarray(start, float), done)) is not None]
    if not found:
        raise NoMaximumError("the likelihood of this law has no maximum that could be found: look at the data first")
    return max(found, key=lambda one: one.log)


def start_of(data: Brackets, shape: Power, *, effects: bool) -> np.ndarray:
    """Least squares through the brackets, those censored taken at their ends, with errors as large as what is left."""
    low, high = (
        np.where(np.isfinite(end), end, other) for end, other in ((data.low, data.high), (data.high, data.low))
    )
    middle, design = (low + high) / 2, shape.mean(np.zeros(shape.count), data.logs)[1]
    law = np.linalg.lstsq(design, middle, rcond=None)[0]
    left = np.log(max(float(np.std(middle - design @ law)), 1e-3))
    return np.array([*law, left, *([left] if effects else [])])


def _from(likelihood: Likelihood, start: np.ndarray, done: float) -> Maximum | None:
    """Newton's method with a damping that grows where a step does not help; None where the start says nothing."""
    here, (log, slope, bend) = start, likelihood(start)
    damping, gain = 1e-6, np.inf
    if not np.isfinite(log):
        return None
    for _ in range(MOST_STEPS):
        step, gain = _step(slope, bend, damping)
        if gain < done:
            return Maximum(log, here, -bend)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            tried = likelihood(here + step)
        usable = np.isfinite(tried[0]) and np.isfinite(tried[1]).all() and np.isfinite(tried[2]).all()
        if usable and tried[0] > log:
            here, (log, slope, bend) = here + step, tried
            damping = max(damping / 10, 1e-9)
        elif gain < NOISE * (1 + abs(log)) or damping > 1e8:  # no step adds anything that can be told
            return Maximum(log, here, -bend)
        else:
            damping *= 10
    return Maximum(log, here, -bend) if gain < CLOSE else None


def _step(slope: np.ndarray, bend: np.ndarray, damping: float) -> tuple[np.ndarray, float]:
    """A step uphill, and what it promises: in units of each parameter's own curvature, none of it negative."""
    unit = 1 / np.sqrt(np.abs(np.diag(bend)) + 1e-8)
    values, vectors = np.linalg.eigh(unit[:, None] * -bend * unit)
    along = vectors.T @ (unit * slope)
    step = unit * (vectors @ (along / (np.maximum(np.abs(values), 1e-6) + damping)))
    step *= min(1.0, FARTHEST / max(float(np.abs(step).max()), 1e-300))
    return step, float(slope @ step)
