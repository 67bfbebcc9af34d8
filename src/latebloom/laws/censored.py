"""What one run says of a law: the log probability that log t2 lies in its bracket, and its derivatives.

With normal errors of scale s about the law's value m, a bracket (low, high] of log t2 has the probability
Φ(b) - Φ(a), a = (low - m)/s, b = (high - m)/s. A run that ended before its t2 has b = ∞, one that generalised before
its first record a = -∞, and what is known exactly (low = high) has the density.

All derivatives follow from M_k = (a^k φ(a) - b^k φ(b)) / (Φ(b) - Φ(a)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NARROW = 1e-3  # brackets of fewer standard deviations: the difference of Φ keeps 13 digits above, the series 8 below
_HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)


@dataclass(frozen=True)
class Told:
    """The log probability of each observation and its derivatives in the law's value m and in ψ = log s."""

    log: np.ndarray
    m: np.ndarray
    psi: np.ndarray
    mm: np.ndarray  # between -1/s² and 0
    mpsi: np.ndarray
    psipsi: np.ndarray


def told(low: np.ndarray, high: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> Told:
    """Of brackets of log t2, what they say of a law with these values and normal errors of this scale."""
    with np.errstate(over="ignore", invalid="ignore"):
        a, b = (low - mean) / scale, (high - mean) / scale
        width = np.broadcast_to((high - low) / scale, a.shape)
    narrow = width <= NARROW
    parts = np.empty((6, *a.shape))
    if narrow.any():
        exact = np.broadcast_to(scale, a.shape)[narrow]
        parts[:, narrow] = _narrow((a[narrow] + b[narrow]) / 2, width[narrow], exact)
    if not narrow.all():
        wide = ~narrow
        parts[:, wide] = _wide(a[wide], b[wide])
    return Told(parts[0], parts[1] / scale, parts[2], parts[3] / scale**2, parts[4] / scale, parts[5])


def _wide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of brackets with probability Φ(b) - Φ(a): both ends are first brought into the lower tail, where Φ has digits."""
    from scipy.special import log_ndtr

    turned = (a > 0) | np.isinf(b)
    log = log_ndtr(np.where(turned, -a, b))
    if (closed := np.isfinite(a) & np.isfinite(b)).any():
        smaller = log_ndtr(np.where(turned, -b, a)[closed])
        log[closed] += np.log1p(-np.exp(np.minimum(smaller - log[closed], -1e-300)))
    m0 = m1 = m2 = m3 = np.zeros(a.shape)
    for end, sign in ((a, 1.0), (b, -1.0)):
        if (finite := np.isfinite(end)).any():
            place = np.where(finite, end, 0.0)  # the density is 0 at infinity
            at = np.where(finite, sign * np.exp(np.minimum(-(place**2) / 2 - _HALF_LOG_TAU - log, 700)), 0.0)
            m0, m1, m2, m3 = m0 + at, m1 + place * at, m2 + place**2 * at, m3 + place**3 * at
    bend = np.clip(m1 - m0**2, -1, 0)  # log-concave; far out rounding says otherwise
    return np.array([log, m0, m1, bend, m2 - m0 * m1 - m0, m3 - m1 - m1**2])


def _narrow(middle: np.ndarray, width: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Of narrow brackets: density at the middle times width times sinh(x)/x, x = middle·width/2, the tail's tilt.

    Relative error width²/24. Where low = high there is no width, and the density of log t2 itself is meant.
    """
    x = np.abs(middle) * width / 2
    tilt, lean, turn = x**2 / 6 - x**4 / 180, x / 3 - x**3 / 45, 1 / 3 - x**2 / 15  # to 1e-10 up to 0.01
    if (steep := x > 1e-2).any():
        y = x[steep]
        tilt[steep] = y + np.log1p(-np.exp(-2 * y)) - np.log(2 * y)
        lean[steep], turn[steep] = 1 / np.tanh(y) - 1 / y, 1 / y**2 - 1 / np.sinh(np.minimum(y, 300)) ** 2
    size, side = np.where(width > 0, width, 1 / scale), np.sign(middle) * width / 2
    log = -(middle**2) / 2 - _HALF_LOG_TAU + np.log(size) + tilt
    bend, both = turn * (width / 2) ** 2 - 1, -2 * middle + 2 * side * (lean + x * turn)
    slope, moment = middle - side * lean, middle**2 - 1 - 2 * x * lean
    return np.array([log, slope, moment, bend, both, -2 * middle**2 + 4 * x * lean + 4 * x**2 * turn])
