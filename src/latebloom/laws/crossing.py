"""Where a probability crosses 1/2 along an axis: what is known of it from runs that did or did not, as a posterior.

The model is logistic, `P(x) = 1 / (1 + exp(-(x - c) / w))`, on an axis whose ends are 0 and 1; c is the crossing and
the sign of w says whether the probability rises. The prior is weak: c is anywhere from half an axis below to half an
axis above, |w| from a step to the whole axis, both signs alike. So runs that separate perfectly have a finite answer,
most of the gap between the last that did not and the first that did. The posterior is a sum over a grid and not a
sample: it needs no seed, and it is the same each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

REACH = 0.5  # of the axis, beyond each end: a crossing out there is told from one inside
LEVEL = 0.95
# Of the spacing: a step. With 0.25 its crossing, which may be anywhere in a gap, was covered 32 times in 60.
SHARPEST = 1e-4
WIDEST = 1.0  # of the axis: a wider one is not told from a constant
# The prior of log |w| is flat below the spacing and grows as |w|^TILT above it. A search stops where its interval is
# narrow, so also where w is believed too small: on 200 planted curves 185 intervals covered with a prior that was flat
# throughout, 190 with this tilt, 192 with TILT = 1, which takes 7 % more runs.
TILT = 0.5
COARSE, COARSE_SCALES = 2, 12  # parts of a gap between two places that were tried: they find where the mass is
# Where it is, closer in two rounds, crossings and scales: in the end some ten per standard deviation.
ROUNDS = ((24, 8), (81, 12))
DROP = 12.0  # of the logarithm, below which there is no mass: e^-12 = 6e-6
SLIGHT = 1e-4  # share of the mass below which a direction is left out


@dataclass(frozen=True, eq=False)
class Crossing:
    """What is known of a crossing: weights on a grid of crossings and signed scales, of sum 1.

    >>> places = np.linspace(0, 1, 11)
    >>> known = crossing(places, tried=np.full(11, 20), crossed=np.where(places > 0.55, 20, 0))
    >>> round(known.middle, 2), [round(end, 2) for end in known.interval()], round(known.rises, 6)
    (0.55, [0.5, 0.6], 1.0)
    """

    centres: np.ndarray
    scales: np.ndarray
    weights: np.ndarray

    @cached_property
    def _shares(self) -> np.ndarray:
        points, places = np.unique(self.centres, return_inverse=True)
        mass = np.bincount(places, self.weights)
        return np.stack([points, np.cumsum(mass) - mass / 2])

    def quantile(self, share: float) -> float:
        """The crossing below which this share of the posterior lies; each point stands for the middle of its cell."""
        points, shares = self._shares
        return float(np.interp(share, shares, points))

    @property
    def middle(self) -> float:
        """The median."""
        return self.quantile(0.5)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The crossing lies in here with this probability, and with the same one below and above it."""
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    @property
    def width(self) -> float:
        """How long the interval is."""
        low, high = self.interval()
        return high - low

    def inside(self, low: float = 0.0, high: float = 1.0) -> float:
        """The probability that the crossing is between two places, by default on the axis at all."""
        return float(self.weights[(self.centres >= low) & (self.centres <= high)].sum())

    @property
    def rises(self) -> float:
        """The probability that more and more cross towards the axis' end."""
        return min(float(self.weights[self.scales > 0].sum()), 1.0)

    @property
    def scale(self) -> float:
        """The scale w, signed: its geometric mean in the likelier direction."""
        side = 1.0 if self.rises >= 0.5 else -1.0
        here = self.scales * side > 0
        return side * float(np.exp(np.average(np.log(np.abs(self.scales[here])), weights=self.weights[here])))

    def chances(self, places: np.ndarray) -> np.ndarray:
        """P at these places for every point of the grid: a row per place."""
        return _logistic((np.asarray(places, float)[:, None] - self.centres) / self.scales)

    def band(self, places: np.ndarray, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The probability at these places: its mean, and the interval that it lies in."""
        chances = self.chances(places)
        order = np.argsort(chances, axis=1)
        shares = np.cumsum(self.weights[order], axis=1)
        ranked = np.take_along_axis(chances, order, axis=1)
        low, high = (
            ranked[np.arange(len(ranked)), np.argmax(shares >= share, axis=1)]
            for share in ((1 - level) / 2, (1 + level) / 2 - 1e-12)
        )
        return chances @ self.weights, low, high


def crossing(places: np.ndarray, *, tried: np.ndarray, crossed: np.ndarray, spacing: float | None = None) -> Crossing:
    """The posterior from how many runs were tried at each place of an axis from 0 to 1, and how many crossed.

    Counts need not be whole: what is expected of a grid are counts, too. `spacing` is the smallest gap of the axis, by
    default that of the places.
    """
    places, tried, crossed = (np.asarray(each, float) for each in (places, tried, crossed))
    spacing = float(np.diff(np.sort(places)).min()) if spacing is None else spacing
    seen = tried > 0
    counts = places[seen], tried[seen], crossed[seen], spacing
    sharpest = np.log(SHARPEST * min(spacing, WIDEST)), np.log(WIDEST)
    nodes = _nodes(counts[0])
    sheets = []
    for sign in (1.0, -1.0):
        scales = np.linspace(*sharpest, COARSE_SCALES)
        sheets.append((sign, scales, _log_posterior(counts, nodes, sign * np.exp(scales))))
    best = max(float(values.max()) for _, _, values in sheets)
    fine = [_refined(counts, nodes, sheet, best) for sheet in sheets if sheet[2].max() > best - DROP]
    top = max(float(values.max()) for _, _, values, _ in fine)
    masses = [np.exp(values - top) * cell for _, _, values, cell in fine]
    total = sum(float(mass.sum()) for mass in masses)
    kept = [(one, mass / total) for one, mass in zip(fine, masses, strict=True) if mass.sum() > SLIGHT * total]
    share = sum(float(mass.sum()) for _, mass in kept)
    return Crossing(
        np.concatenate([np.tile(one[0], len(one[1])) for one, _ in kept]),
        np.concatenate([np.repeat(one[1], len(one[0])) for one, _ in kept]),
        np.concatenate([mass.ravel() for _, mass in kept]) / share,
    )


def _refined(counts, nodes: np.ndarray, sheet: tuple[float, np.ndarray, np.ndarray], best: float):
    """Crossings, signed scales, log posterior and size of a cell on a fine grid where a coarse one has its mass."""
    sign, scales, values = sheet
    signed, cell = np.empty(0), 0.0
    ends = (nodes[0], nodes[-1]), (scales[0], scales[-1])
    for many, some in ROUNDS:
        rows, columns = np.nonzero(values > best - DROP)
        ends = _box(nodes, columns, ends[0]), _box(scales, rows, ends[1])
        nodes, scales = _middles(*ends[0], many), _middles(*ends[1], some)
        signed, cell = sign * np.exp(scales), float(np.ptp(ends[0]) / many * np.ptp(ends[1]) / some)
        values = _log_posterior(counts, nodes, signed)
        best = float(values.max())
    return nodes, signed, values, cell


def _box(points: np.ndarray, chosen: np.ndarray, ends: tuple[float, float]) -> tuple[float, float]:
    """From the neighbour before the first of the points chosen to that after the last, or to the ends."""
    first, last = chosen.min(), chosen.max()
    low = ends[0] if first == 0 else points[first - 1]
    high = ends[1] if last == len(points) - 1 else points[last + 1]
    return float(low), float(high)


def _middles(low: float, high: float, count: int) -> np.ndarray:
    """The middles of so many cells from one end to the other."""
    return low + (high - low) / count * (np.arange(count) + 0.5)


def _nodes(places: np.ndarray) -> np.ndarray:
    """Where the coarse grid looks: between neighbours that were tried nothing is hidden from half of their gap."""
    ends = np.unique(np.concatenate([places, [-REACH, 0.0, 1.0, 1.0 + REACH]]))
    gaps = np.maximum(COARSE, np.ceil(np.diff(ends) / (REACH / 10))).astype(int)
    starts = np.repeat(ends[:-1], gaps)
    turns = np.arange(len(starts)) - np.repeat(np.cumsum(gaps) - gaps, gaps)
    return np.append(starts + turns * np.repeat(np.diff(ends) / gaps, gaps), ends[-1])


def _log_posterior(counts, centres: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Of every scale (a row) and every crossing (a column)."""
    places, tried, crossed, spacing = counts
    z = (places - centres[:, None]) / scales[:, None, None]
    np.abs(z, out=z)
    size = np.log1p(np.exp(-z))
    size += z / 2
    # log P = z/2 - (|z|/2 + log(1 + e^-|z|)), log(1 - P) the same with -z/2: the odd part needs no array.
    odd = crossed - tried / 2
    prior = TILT * np.log(np.maximum(np.abs(scales), spacing))
    return (places @ odd - centres * odd.sum()) / scales[:, None] - size @ tried + prior[:, None]


def _logistic(z: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, small) / (1.0 + small)
