"""Gradient flow with weight decay on a linear problem, at any time in one evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np

from latebloom.errors import InputError, check_number
from latebloom.linalg.spectrum import Spectrum
from latebloom.problems.base import require_linear


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
