"""The dual form of a diagonal network's flow: d pairs of parameters are decided by n numbers, a point each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latebloom.problems.losses import loss_of_margin
from latebloom.problems.networks.diagonal_classifier import DiagonalClassifier

BLOCK = 8192  # columns of X at a time in the Jacobian, which then needs no second copy of X


@dataclass(frozen=True, eq=False)
class DualForm:
    """The exact reduction of `u' = -∂F/∂u - λu`, `v' = -∂F/∂v - λv` from `u = v = α` to n variables q.

    Put `u = e^{-λt} p`. Then `p' = -L e^{-λ(L-2)t} p^{L-1} ∂F/∂w`, and `∂F/∂w = Xᵀ ∂F/∂f` is in the row space of X for
    all times. So with `q' = -e^{-λ(L-2)t} ∂F/∂f` and `s = Xᵀq`

        L = 2:  u = α e^{-λt + 2s},  v = α e^{-λt - 2s},
        L ≠ 2:  u = e^{-λt} (α^{2-L} - L(L-2) s)^{-1/(L-2)},  v with -s for s,

    and `w = u^L - v^L`. For L = 2 powers are added in exponents: `w = ±e^{2(log α - λt) + 4|s|} (1 - e^{-8|s|})`
    overflows only where w does, and keeps its digits where s is small.

    >>> import latebloom as lb
    >>> data = lb.problems.LabelledPoints([[1.0, 0.0], [0.0, 2.0]], [1, -1])
    >>> form = DualForm(lb.problems.DiagonalClassifier(data, init_scale=2.0), weight_decay=0.1)
    >>> form.weights(np.zeros((1, 2)), np.zeros(1)).tolist(), form.velocity(0.0, np.zeros(2)).tolist()
    ([[0.0, 0.0]], [0.25, -0.25])
    """

    problem: DiagonalClassifier
    weight_decay: float

    @property
    def inputs(self) -> np.ndarray:
        return np.asarray(self.problem.data.inputs)

    @property
    def labels(self) -> np.ndarray:
        return np.asarray(self.problem.data.labels)

    def layers(self, duals: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """u and v, a row for each time."""
        spread, decay = duals @ self.inputs, self.weight_decay * np.asarray(times)[:, None]
        degree, scale = self.problem.depth, self.problem.init_scale
        if degree == 2:
            return np.exp(np.log(scale) - decay + 2 * spread), np.exp(np.log(scale) - decay - 2 * spread)
        power = degree - 2
        middle, shift = scale**-power, degree * power * spread
        return np.exp(-decay) * (middle - shift) ** (-1 / power), np.exp(-decay) * (middle + shift) ** (-1 / power)

    def weights(self, duals: np.ndarray, times: np.ndarray) -> np.ndarray:
        """The effective weights w, a row for each time."""
        if self.problem.depth != 2:
            u, v = self.layers(duals, times)
            return u**self.problem.depth - v**self.problem.depth
        spread = 4 * (duals @ self.inputs)
        start = 2 * (np.log(self.problem.init_scale) - self.weight_decay * np.asarray(times)[:, None])
        return np.sign(spread) * np.exp(start + np.abs(spread)) * -np.expm1(-2 * np.abs(spread))

    def velocity(self, time: float, dual: np.ndarray) -> np.ndarray:
        """`q' = -e^{-λ(L-2)t} ∂F/∂f`."""
        outputs = self.inputs @ self.weights(dual[None], np.array([time]))[0]
        return -self._speed(time) * self.slopes(outputs)

    def slopes(self, outputs: np.ndarray) -> np.ndarray:
        """`∂F/∂f_i` at these outputs."""
        return np.asarray(loss_of_margin(self.problem.loss_kind).slope(outputs, self.labels)) / len(self.labels)

    def jacobian(self, time: float, dual: np.ndarray) -> np.ndarray:
        """`∂q'/∂q = -L² Λ X diag(u^{2L-2} + v^{2L-2}) Xᵀ` with Λ the second derivatives of the loss.

        In single precision: it steers Newton's method in the solver and does not enter the answer.
        """
        (u,), (v,) = self.layers(dual[None], np.array([time]))
        degree = self.problem.depth
        spread = u ** (2 * degree - 2) + v ** (2 * degree - 2)
        product = np.zeros((len(dual), len(dual)), np.float32)
        for start in range(0, len(spread), BLOCK):
            part = self.inputs[:, start : start + BLOCK].astype(np.float32)
            product += (part * spread[start : start + BLOCK].astype(np.float32)) @ part.T
        outputs = self.inputs @ (u**degree - v**degree)
        share = np.abs(len(dual) * self.slopes(outputs))  # |ℓ'|, of which ℓ'' is a function for both losses
        curvature = share * (1 - share) if self.problem.loss_kind == "logistic" else share
        return -(degree**2) * (curvature / len(dual))[:, None] * product

    def first_rate(self) -> float:
        """`2 L² α^{2L-2} max|x_i|² / n`: above the rates at which the outputs move at the start, for rows far apart."""
        degree, longest = self.problem.depth, float((self.inputs**2).sum(axis=1).max())
        return 2 * degree**2 * self.problem.init_scale ** (2 * degree - 2) * longest / len(self.labels)

    def _speed(self, time: float) -> float:
        return float(np.exp(-self.weight_decay * (self.problem.depth - 2) * time))
