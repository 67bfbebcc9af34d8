"""Descent and flow with weight decay on a linear problem: in closed form, and what they can never reach."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from latebloom.errors import InputError, check_number
from latebloom.linalg.spectrum import Spectrum
from latebloom.problems.base import known_truth, require_linear


class L2Iteration:
    """The iteration `a ← a - α (Xᵀ(X a - y) + β a)` from the problem's start, solved in closed form.

    With `X = U diag(σ) Vᵀ`, mode k moves as `c_k(t) = ĉ_k + (1 - α(σ_k² + β))^t (c_k(0) - ĉ_k)` with
    `ĉ_k = σ_k (Uᵀy)_k / (σ_k² + β)`, and the part of the start in the kernel of X as `(1 - αβ)^t`.
    Step 0 is the start. A learning rate past stability is allowed: the iterates then grow, as they would.
    A matrix is given as its entries row by row.

    >>> from latebloom.problems import LinearRegression
    >>> problem = LinearRegression([[1.0, 1.0]], [2.0], init=[10.0, -10.0])
    >>> iteration = L2Iteration(problem, learning_rate=0.1, weight_decay=1e-3)
    >>> iteration.at([0, 100, 10_000_000]).round(3)
    array([[ 10.   , -10.   ],
           [ 10.9  ,  -8.901],
           [  1.   ,   1.   ]])

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem 3.6 and Eq. 113.
    """

    def __init__(self, problem: Any, learning_rate: float, weight_decay: float):
        problem = require_linear(problem, "L2Iteration")
        self.learning_rate = check_number("learning_rate", learning_rate, above=0)
        self.weight_decay = check_number("weight_decay", weight_decay, least=0)
        self._targets = np.asarray(problem.targets)
        self._truth = np.asarray(problem.truth).ravel()
        self._spectrum = Spectrum.of(np.asarray(problem.design))
        start, spectrum = np.asarray(problem.init()).ravel(), self._spectrum
        self._measures = spectrum.left.T @ self._targets
        self._end = spectrum.sigma * self._measures / (spectrum.sigma**2 + self.weight_decay)
        self._begin = spectrum.right.T @ start
        self._null = spectrum.null_part(start) if spectrum.has_kernel else np.zeros_like(start)

    def __repr__(self) -> str:
        return f"L2Iteration(learning_rate={self.learning_rate:g}, weight_decay={self.weight_decay:g})"

    def at(self, steps: Any) -> np.ndarray:
        """The iterate after `steps` steps, or one row for each of an array of steps."""
        steps = _check_steps(steps)
        modes = self._end + self._row_powers(steps) * (self._begin - self._end)
        return modes @ self._spectrum.right.T + self._null_powers(steps) * self._null

    @cached_property
    def limit(self) -> np.ndarray:
        """Where it ends: the ridge solution; without weight decay, the least-squares solution closest to the start."""
        end = self._spectrum.right @ self._end
        return end if self.weight_decay > 0 else end + self._null

    @property
    def rate(self) -> float:
        """`ρ_2 = |I - α(XᵀX + βI)|`: the larger of the row space's contraction and, if N < n, `|1 - αβ|`.

        For N < n it is `1 - αβ` as soon as the row space contracts faster, which is what makes the end late.
        """
        row = self._spectrum.contraction(self.learning_rate, self.weight_decay)
        null = abs(1 - self.learning_rate * self.weight_decay) if self._spectrum.has_kernel else 0.0
        return max(row, null)

    def distance_bound(self, steps: Any) -> np.ndarray:
        """The upper bound `ρ_2^t |a_0 - â|` on the distance `|a_t - â|` to the ridge solution after t steps.

        The paper counts its start as step 1 and writes `ρ_2^(t-1) |a_1 - â|` (Theorem 3.6, Lemma C.52); here the start
        is step 0.

        >>> from latebloom.problems import LinearRegression
        >>> problem = LinearRegression([[1.0, 0.0]], [1.01], init=[1.0, 2.0])
        >>> L2Iteration(problem, 0.5, 0.01).distance_bound([0, 200]).round(4)
        array([2.    , 0.7339])
        """
        check_number("weight_decay", self.weight_decay, above=0)
        steps = np.asarray(steps, dtype=np.float64)
        return self.rate**steps * np.linalg.norm(self.at(0) - self.limit)

    def train_error(self, steps: Any) -> np.ndarray:
        """`|X a - y| / |y|`, without cancellation: the modes' residuals are formed from their distance to the limit."""
        steps = _check_steps(steps)
        sigma = self._spectrum.sigma
        bias = -self.weight_decay / (sigma**2 + self.weight_decay) * self._measures
        modes = sigma * self._row_powers(steps) * (self._begin - self._end) + bias
        outside = np.linalg.norm(self._targets - self._spectrum.left @ self._measures)
        return np.hypot(np.linalg.norm(modes, axis=-1), outside) / np.linalg.norm(self._targets)

    def test_error(self, steps: Any) -> np.ndarray:
        """`|a - a*| / |a*|`; NaN for a problem without a truth."""
        return np.linalg.norm(self.at(steps) - self._truth, axis=-1) / np.linalg.norm(self._truth)

    def norm(self, steps: Any) -> np.ndarray:
        """`|a|_2`."""
        return np.linalg.norm(self.at(steps), axis=-1)

    @property
    def drop_step(self) -> float:
        """When the late drop comes: the step at which the start's kernel part has shrunk to the size of the limit.

        `|P_ker a_0| (1 - αβ)^t = |â|`, that is `t = log(|P_ker a_0| / |â|) / (-log(1 - αβ))`, about
        `log(|P_ker a_0| / |â|) / (αβ)`. Zero if the kernel part starts smaller (no late drop), infinite
        without weight decay.
        """
        start, end = np.linalg.norm(self._null), np.linalg.norm(self._spectrum.right @ self._end)
        if start <= end:
            return 0.0
        decay = self.learning_rate * self.weight_decay
        if decay == 0 or end == 0 or decay >= 2:
            return math.inf
        slope = -_log_abs(np.array(decay))
        return float(np.log(start / end) / slope) if np.isfinite(slope) else 1.0

    def _row_powers(self, steps: np.ndarray) -> np.ndarray:
        return _power(self.learning_rate * (self._spectrum.sigma**2 + self.weight_decay), steps)

    def _null_powers(self, steps: np.ndarray) -> np.ndarray:
        return _power(np.array([self.learning_rate * self.weight_decay]), steps)


class L2Flow:
    """The flow `w' = -c Xᵀ(X w - y) - λ w` from the problem's start, solved in closed form.

    `factor` is c: 1 for `F = |X w - y|² / 2`, 2 for `F = |X w - y|²`. With `X = U diag(σ) Vᵀ`, the part in the row
    space moves as `z_k(t) = ẑ_k + exp(-(c σ_k² + λ) t) (z_k(0) - ẑ_k)` with `ẑ_k = c σ_k (Uᵀy)_k / (c σ_k² + λ)`, and
    the part in the kernel of X as `exp(-λ t)`.

    >>> from latebloom.problems import LinearRegression
    >>> problem = LinearRegression([[1.0, 1.0]], [2.0], init=[-1.0, 1.0])
    >>> L2Flow(problem, weight_decay=1e-3, factor=2.0).at([0.0, 10.0, 1e5]).round(3)
    array([[-1.  ,  1.  ],
           [ 0.01,  1.99],
           [ 1.  ,  1.  ]])

    Source: "A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation",
    Eqs. 23 and 24, which print the rates of c = 1 for the F of c = 2.
    """

    def __init__(self, problem: Any, weight_decay: float, *, factor: float = 1.0):
        problem = require_linear(problem, "L2Flow")
        self.weight_decay = check_number("weight_decay", weight_decay, least=0)
        self.factor = check_number("factor", factor, above=0)
        self.spectrum = Spectrum.of(np.asarray(problem.design))
        start, measures = np.asarray(problem.init()).ravel(), self.spectrum.left.T @ np.asarray(problem.targets)
        self.rates = self.factor * self.spectrum.sigma**2 + self.weight_decay
        self._end = self.factor * self.spectrum.sigma * measures / self.rates
        self._begin = self.spectrum.right.T @ start
        self._null = self.spectrum.null_part(start) if self.spectrum.has_kernel else np.zeros_like(start)

    def __repr__(self) -> str:
        return f"L2Flow(weight_decay={self.weight_decay:g}, factor={self.factor:g})"

    def at(self, times: Any) -> np.ndarray:
        """The point at a time, or one row for each of an array of times."""
        times = np.asarray(times, dtype=float)
        if not np.isfinite(times).all() or (times < 0).any():
            raise InputError(f"times={times!r} is not allowed: times must be finite, 0 or more, e.g. [0, 1.5, 1e3]")
        modes = self._end + np.exp(-times[..., None] * self.rates) * (self._begin - self._end)
        return modes @ self.spectrum.right.T + np.exp(-self.weight_decay * times[..., None]) * self._null

    @property
    def limit(self) -> np.ndarray:
        """Where it ends: the ridge solution; without weight decay, the least-squares solution closest to the start."""
        end = self.spectrum.right @ self._end
        return end if self.weight_decay > 0 else end + self._null


def ridge_error_floor(problem: Any) -> float:
    """The lower bound `|P_ker a*|` on `|â - a*|` for the ridge solution â of any weight decay.

    `â` lies in the row space of X, so no part of the truth in the kernel is ever found. It is
    attained in the limit of no noise and no weight decay. The absolute distance; divide by `|a*|` for `test_error`.

    >>> from latebloom.problems import LinearRegression
    >>> ridge_error_floor(LinearRegression([[1.0, 0.0]], [1.0], truth=[1.0, 3.0]))
    3.0

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem 3.6, second half.
    """
    problem = require_linear(problem, "ridge_error_floor")
    truth = known_truth(problem, "ridge_error_floor")
    return float(np.linalg.norm(Spectrum.of(np.asarray(problem.design)).null_part(truth.ravel())))


def _check_steps(steps: Any) -> np.ndarray:
    array = np.asarray(steps, dtype=np.float64)
    if not np.isfinite(array).all() or (array < 0).any() or (array != np.floor(array)).any():
        raise InputError(f"steps={steps!r} is not allowed: steps must be whole numbers, 0 or more, e.g. [0, 10, 1000]")
    return array


def _log_abs(x: np.ndarray) -> np.ndarray:
    """`log|1 - x|`, accurate for x near 0 and near 2, where t multiplies its error."""
    with np.errstate(divide="ignore"):
        return np.where(x < 1, np.log1p(-np.minimum(x, 1.0)), np.log1p(np.maximum(x, 1.0) - 2))


def _power(x: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """`(1 - x)^steps`, of shape `steps.shape + x.shape`, for whole steps of any size."""
    steps = steps[..., None]
    sign = np.where((x > 1) & (steps % 2 == 1), -1.0, 1.0)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        size = np.exp(steps * _log_abs(x))
    return np.where(steps == 0, 1.0, sign * size)
