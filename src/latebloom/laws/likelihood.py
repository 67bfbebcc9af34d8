"""The likelihood of a law, given brackets of log t2: normal errors, and an effect that the runs of a seed share.

A run is log t2 = law + (effect of its seed) + error; effects are normal with standard deviation τ, errors with σ. A
seed is a draw of the data, and shifts all its runs alike: without the effect a grid of 5 seeds that lie a factor of e
apart, 40 % of it censored, has an exponent with an error of 0.033 instead of 0.0026 (tests/laws/coverage.py).

The effect is integrated out on `NODES` Gauss-Hermite nodes about the most probable effect, at its own width: exact
where nothing is censored. What is inside the integral is log-concave, so that Newton's method finds that effect from
anywhere. Of a seed that never got there it is steep on one side and as wide as all seeds on the other: half the nodes
are Gauss-Legendre's on each side, at the width of that side.

No error is smaller than a run's clock can tell: σ² has a fifth of the bracket's width, squared, added, and `FLOOR`².
Without it a deterministic law inside all brackets has likelihood 1 at σ = 0 for every parameter that stays inside
them, and there is no maximum to go to; with it the maximum is in the middle of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from latebloom.laws.censored import Told, told
from latebloom.laws.shapes import AbstractShape

NODES = 12
REACH = 5.0  # widths to which a side is integrated, of a seed that never got there
FLOOR = 1e-5  # of t2, relative: no law of runs holds to more, and at 1e-7 rounding hides the maximum
SHARE = 0.2  # of a bracket's width; see the module's text
CENTRED = 1e-4  # widths that the nodes' middle may be off: at 12 nodes no digit depends on it
_NEWTON = 60
_HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)


@dataclass(frozen=True)
class Brackets:
    """Of every run log t2's bracket, the logarithms of its regressors, and the number of its seed, in rising order."""

    low: np.ndarray
    high: np.ndarray
    logs: np.ndarray
    seeds: np.ndarray

    @cached_property
    def starts(self) -> np.ndarray:
        """Where each seed's runs begin."""
        return np.flatnonzero(np.r_[True, np.diff(self.seeds) > 0])

    @cached_property
    def owner(self) -> np.ndarray:
        """Which seed, counted from 0, each run belongs to."""
        return np.searchsorted(self.seeds[self.starts], self.seeds)

    @cached_property
    def floor(self) -> np.ndarray:
        """The least error of each run."""
        with np.errstate(invalid="ignore"):
            width = self.high - self.low
        return np.hypot(SHARE * np.where(np.isfinite(width), width, 0.0), FLOOR)

    def per_seed(self, values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, self.starts, axis=0)

    def but(self, keep: np.ndarray) -> Brackets:
        """Of these runs only some."""
        return Brackets(self.low[keep], self.high[keep], self.logs[keep], self.seeds[keep])


class Likelihood:
    """Log likelihood, gradient and curvature in (the law's parameters, log σ, and with `effects` log τ).

    `weights` are how often each seed counts: 0 leaves it out. Second derivatives of the law itself are left out, which
    the power law has none of.
    """

    def __init__(self, data: Brackets, shape: AbstractShape, *, effects: bool, weights: np.ndarray | None = None):
        self.data, self.shape, self.effects = data, shape, effects
        self.weights = np.ones(len(data.starts)) if weights is None else np.asarray(weights, float)
        self._never = data.per_seed(np.isfinite(data.high).astype(int)) == 0
        self._effect = np.zeros(len(data.starts))  # where the last search for it ended

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The log likelihood, its gradient and its second derivatives."""
        log, scores, curvatures = self.per_seed(parameters)
        weights = self.weights
        return float(weights @ log), weights @ scores, np.tensordot(weights, curvatures, 1)

    def per_seed(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same of every seed's runs.

        With effects v they are the means of the runs' own over v (for the curvature with the variance of the scores
        added), given what the runs say of v.
        """
        count = self.shape.count
        mean, design = self.shape.mean(parameters[:count], self.data.logs)
        sigma = np.exp(parameters[count])
        scale = np.hypot(sigma, self.data.floor)
        if not self.effects:
            log, scores, curvatures = self._given(mean, design, scale, sigma, np.zeros((len(self.weights), 1)), 0.0)
            return log[:, 0], scores[:, 0, :-1], curvatures[:, 0, :-1, :-1]
        tau = float(np.exp(parameters[count + 1]))
        effect, heights = self._nodes(*self._most_probable(mean, scale, tau))
        log, scores, curvatures = self._given(mean, design, scale, sigma, effect, tau)
        log = log - effect**2 / 2 + heights
        most = log.max(axis=1, keepdims=True)
        share = np.exp(log - most)
        total = share.sum(axis=1, keepdims=True)
        share /= total
        score = np.einsum("gq,gqj->gj", share, scores)
        off = scores - score[:, None, :]
        spread = np.einsum("gq,gqj,gqk->gjk", share, off, off)
        bend = np.einsum("gq,gqjk->gjk", share, curvatures) + spread
        # At the steep side of a seed that never got there the two nearly cancel, and nodes are few: with what is left
        # Newton's method takes ten times as many steps as with minus the square of the score.
        bend[self._never] = -score[self._never, :, None] * score[self._never, None, :]
        return (most + np.log(total))[:, 0], score, bend

    def _nodes(self, middle: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Effects in units of τ, a row per seed, and the logarithms of their weights under the normal density."""
        points, heights = _hermite()
        nodes, logs = middle[:, None] + width[:, None] * points, heights + np.log(width)[:, None]
        if (never := self._never).any():
            reach, heights = _legendre()
            tail = np.sqrt(middle**2 + 1) - middle  # where the normal density has fallen by exp(-1/2)
            sides = ((width[never, None], -reach), (np.maximum(width, tail)[never, None], reach))
            nodes[never] = middle[never, None] + np.hstack([side * points for side, points in sides])
            logs[never] = np.hstack([np.log(side) + heights for side, _ in sides])
        return nodes, logs

    def seed_effects(self, parameters: np.ndarray) -> np.ndarray:
        """How much each seed shifts log t2, at most probable."""
        self.per_seed(parameters)
        return self._effect

    def _given(
        self, mean: np.ndarray, design: np.ndarray, scale: np.ndarray, sigma: float, effect: np.ndarray, tau: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of every seed's runs, given its effect (seed, node): log, (…, parameter), (…, parameter, parameter)."""
        per_seed, said = self.data.per_seed, self._said(mean, scale, tau * effect)
        inner = ((sigma / scale) ** 2)[:, None]  # of a change of log s what is one of log σ
        log_sigma = said.psi * inner
        mixed = said.mpsi * inner
        twice = said.psipsi * inner**2 + 2 * inner * (1 - inner) * said.psi
        last = design.shape[1]
        # What moves the law's value: its parameters, and log τ, which moves it by the effect. Between them log σ.
        moves = np.empty((*said.m.shape, last + 2))
        moves[..., :last], moves[..., last] = design[:, None, :], 0.0
        moves[..., last + 1] = tau * effect[self.data.owner]
        scores = said.m[..., None] * moves
        scores[..., last] = log_sigma
        curvatures = said.mm[..., None, None] * moves[..., :, None] * moves[..., None, :]
        crossed = mixed[..., None] * moves
        curvatures[..., last, :] = curvatures[..., :, last] = crossed
        curvatures[..., last, last] = twice
        curvatures[..., last + 1, last + 1] += scores[..., last + 1]
        return per_seed(said.log), per_seed(scores), per_seed(curvatures)

    def _said(self, mean: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> Told:
        """What each run says where its seed shifts it by so much: a column per shift."""
        low, high = self.data.low[:, None], self.data.high[:, None]
        return told(low, high, mean[:, None] + shift[self.data.owner], scale[:, None])

    def _most_probable(self, mean: np.ndarray, scale: np.ndarray, tau: float) -> tuple[np.ndarray, np.ndarray]:
        """The most probable effect of each seed, in units of τ, and the width of what is about it."""
        best = self._effect / tau
        value, curvature = np.full(len(best), -np.inf), np.ones_like(best)
        slope, step = np.zeros_like(best), np.zeros_like(best)
        for _ in range(_NEWTON):
            tried = best + step
            said = self._said(mean, scale, tau * tried[:, None])
            reached = self.data.per_seed(said.log[:, 0]) - tried**2 / 2
            better = reached >= value - 1e-12 * np.abs(value)
            best, value = np.where(better, tried, best), np.where(better, reached, value)
            slope = np.where(better, tau * self.data.per_seed(said.m[:, 0]) - tried, slope)
            curvature = np.where(better, 1 - tau**2 * self.data.per_seed(said.mm[:, 0]), curvature)
            step = np.where(better, slope / curvature, step / 4)
            if np.all(np.abs(step) * np.sqrt(curvature) < CENTRED):
                break
        self._effect = tau * best
        return best, 1 / np.sqrt(curvature)


@cache
def _hermite() -> tuple[np.ndarray, np.ndarray]:
    """Nodes about a peak of unit width, and the logarithms of their weights."""
    points, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return points, np.log(weights) + points**2 / 2 - _HALF_LOG_TAU


@cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    """Nodes on one side of a peak, from 0 to `REACH`, and the logarithms of their weights."""
    points, weights = np.polynomial.legendre.leggauss(NODES // 2)
    return (points + 1) * REACH / 2, np.log(weights * REACH / 2) - _HALF_LOG_TAU
