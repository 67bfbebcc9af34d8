"""How far off a law's parameters may be, with seeds as the draws: fits that leave a seed out, or that draw seeds anew.

The default leaves each seed out in turn and takes Student's t with as many degrees of freedom as seeds less one. Of
intervals at 95 % so many cover the exponent (`tests/laws/coverage.py`: 5 seeds of 36 runs with 40 % censored where
nothing else is said, 100 or 200 draws):

                             jackknife, t   sandwich, normal   curvature, normal
    as it stands                       94                 86                  96
    nothing censored                   93                 82                  92
    70 % censored                      92                 82                  94
    seeds a factor of e apart          95                 81                  91
    exponents differ by 0.1            94                 91                  64
    3 seeds                            94                 80                  95
    records a third apart              95                 83                  94

The sandwich is what packages give for clusters, and is too sure of so few; the curvature of the likelihood does not
know that exponents differ. Percentiles of a bootstrap that draws whole seeds cover 85 % where the jackknife covers 98 %
(54 draws of 5 seeds of 9 runs): it is there by name, for many seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from latebloom.core.seeds import generator
from latebloom.laws.likelihood import FLOOR, Brackets, Likelihood
from latebloom.laws.maximum import Maximum, NoMaximumError, maximise
from latebloom.laws.shapes import Power

MOST_GROUPS = 30  # refits of a jackknife: with more seeds some are left out together
NEAR = 1e-6  # of a refit's log likelihood: a thousandth of a standard error
METHODS = ("jackknife", "bootstrap")
_UNTOLD = 1e-6  # of the spread of regressors that is 1 among all runs: from less nothing is told


@dataclass(frozen=True)
class Resampled:
    """The parameters (log A, exponents) of refits, a row each, and what makes an interval of them."""

    centre: np.ndarray
    rows: np.ndarray
    method: str
    confidence: float
    groups: int  # those left out in turn, but for those without any t2, which tell next to nothing of an exponent
    least: np.ndarray  # covariance below which no interval goes: what the clock of the runs can tell

    def interval(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the interval of `weights @ parameters`; several rows of weights give several."""
        from scipy import stats

        weights = np.atleast_2d(weights)
        finite = np.isfinite(self.rows).all(axis=1)
        centre, found = weights @ self.centre, self.rows[finite] @ weights.T
        smallest = np.sqrt(np.einsum("ij,jk,ik->i", weights, self.least, weights))
        smallest = smallest * stats.norm.ppf(0.5 + self.confidence / 2)
        if self.method == "bootstrap" and len(found):
            tails = 50 * (1 - self.confidence)
            low, high = np.percentile(found, [tails, 100 - tails], axis=0)
            return np.minimum(low, centre - smallest), np.maximum(high, centre + smallest)
        groups = self.groups
        if not finite.all() or groups < 2:
            return np.full(len(centre), -np.inf), np.full(len(centre), np.inf)
        error = np.sqrt((groups - 1) / groups * ((found - centre) ** 2).sum(axis=0))
        half = np.maximum(stats.t.ppf(0.5 + self.confidence / 2, groups - 1) * error, smallest)
        return centre - half, centre + half


def resample(
    data: Brackets, shape: Power, best: Maximum, *, effects: bool, confidence: float, method: str, draws: int, seed: int
) -> Resampled:
    """The power law fitted again and again, from where the fit to all runs ended."""
    weightings = _left_out(len(data.starts)) if method == "jackknife" else _drawn(len(data.starts), draws, seed)
    rows = [_again(data, shape, best, weights, effects=effects) for weights in weightings]
    least = _resolution(data, shape, best)
    told = data.per_seed(np.isfinite(data.high).astype(int)) > 0
    groups = len(set(_groups(len(told))[told]))
    return Resampled(shape.natural(best.parameters[: shape.count]), np.array(rows), method, confidence, groups, least)


def _again(data: Brackets, shape: Power, best: Maximum, weights: np.ndarray, *, effects: bool) -> np.ndarray:
    """The parameters where seeds count so often; infinitely far off where the runs that are left tell no law."""
    kept = (weights[data.owner] > 0) & np.isfinite(data.high)
    design = shape.mean(best.parameters[: shape.count], data.logs[kept])[1]
    if len(design) < shape.count or np.linalg.matrix_rank(design, tol=_UNTOLD) < shape.count:
        return np.full(shape.count, np.inf)
    try:
        found = maximise(Likelihood(data, shape, effects=effects, weights=weights), [best.parameters], NEAR)
    except NoMaximumError:
        return np.full(shape.count, np.inf)
    return shape.natural(found.parameters[: shape.count])


def _left_out(seeds: int) -> Iterator[np.ndarray]:
    """Weights that leave out each seed, or each of `MOST_GROUPS` groups of them, in turn."""
    groups = _groups(seeds)
    for group in range(groups.max() + 1):
        yield (groups != group).astype(float)


def _groups(seeds: int) -> np.ndarray:
    return np.arange(seeds) % min(seeds, MOST_GROUPS)


def _drawn(seeds: int, draws: int, seed: int) -> Iterator[np.ndarray]:
    """Weights that count how often each seed is drawn, with replacement."""
    random = generator(seed, "bootstrap of seeds")
    for _ in range(draws):
        yield np.bincount(random.integers(0, seeds, seeds), minlength=seeds).astype(float)


def _resolution(data: Brackets, shape: Power, best: Maximum) -> np.ndarray:
    """The covariance that the clock alone leaves, where the errors are below what it can tell; else none.

    Runs that all fit a law to the width of their brackets give the same law whichever is left out, and no error. What
    rounding does to one of them it does to all that are the same: they count once.
    """
    if np.exp(best.parameters[shape.count]) > np.median(data.floor):
        return np.zeros((shape.count, shape.count))
    told = np.isfinite(data.low) & np.isfinite(data.high)
    rows = np.unique(np.round(np.column_stack([data.low, data.high, data.logs])[told], 9), axis=0)
    errors = np.hypot((rows[:, 1] - rows[:, 0]) / np.sqrt(12), FLOOR)
    design = shape.mean(best.parameters[: shape.count], rows[:, 2:])[1] / errors[:, None]
    back = shape.to_natural()
    return back @ np.linalg.pinv(design.T @ design) @ back.T
