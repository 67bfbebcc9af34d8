"""Models in two or three parameters whose zero-loss sets can be drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.arrays import Params
from latebloom.errors import InputError, check_number
from latebloom.problems.base import AbstractLeastSquares, relative_norm

SLOPE = 0.1  # of the leaky ReLU below zero


@dataclass(frozen=True)
class Toy:
    """One kind: its model on the one sample, the target, the start, the points of least norm among zero loss."""

    model: Callable[[jax.Array], jax.Array]
    target: float
    start: tuple[float, ...]
    least_norm: tuple[tuple[float, ...], ...]
    degree: int
    zero_loss: Callable[[float], list[np.ndarray]]


def leaky_relu(x: jax.Array) -> jax.Array:
    """`x` above zero, `x/10` below."""
    return jnp.where(x > 0, x, SLOPE * x)


def _hyperbola(reach: float) -> list[np.ndarray]:
    first = np.geomspace(1 / reach, reach, 201)
    branch = np.column_stack([first, 1 / first])
    return [branch, -branch] if reach >= 1 else []


def _cross(reach: float) -> list[np.ndarray]:
    ends, zeros = np.array([-reach, 0.0, reach]), np.zeros(3)
    return [np.column_stack([ends, zeros]), np.column_stack([zeros, ends])]


def _line(reach: float) -> list[np.ndarray]:
    first = np.array([2 - reach, reach])
    return [np.column_stack([first, 2 - first])] if reach >= 1 else []


def _kinked(reach: float) -> list[np.ndarray]:
    """Slope -1 between the kinks at (0, 2) and (2, 0), slopes -1/10 and -10 outside."""
    if reach < 2:
        return _line(reach)
    out = min(reach, (reach - 2) / SLOPE)
    return [np.array([[-out, 2 + SLOPE * out], [0.0, 2.0], [2.0, 0.0], [2 + SLOPE * out, -out]])]


KINDS = {
    "plane": Toy(jnp.sum, 3.0, (-1.0, 1.0, 2.0), ((1.0, 1.0, 1.0),), 1, lambda reach: []),
    "curved": Toy(jnp.prod, 1.0, (0.3, 2.5), ((1.0, 1.0), (-1.0, -1.0)), 2, _hyperbola),
    "singular": Toy(jnp.prod, 0.0, (1.2, 2.2), ((0.0, 0.0),), 2, _cross),
    "leaky_sum": Toy(lambda w: leaky_relu(jnp.sum(w)), 2.0, (-1.0, 1.5), ((1.0, 1.0),), 1, _line),
    "leaky_units": Toy(lambda w: jnp.sum(leaky_relu(w)), 2.0, (-1.0, 1.0), ((1.0, 1.0),), 1, _kinked),
}


class ToyModel(AbstractLeastSquares):
    """One sample, two or three weights: `F(w) = (f(w) - y)²`, zero on a set that one can look at.

    | kind | model on its sample | target | zero-loss set | least norm |
    |---|---|---|---|---|
    | plane | `w1 + w2 + w3` | 3 | a plane | (1, 1, 1) |
    | curved | `w1 w2` | 1 | two branches of a hyperbola | (1, 1), (-1, -1) |
    | singular | `w1 w2` | 0 | both axes, crossing at the origin | (0, 0) |
    | leaky_sum | `φ(w1 + w2)` | 2 | a line; the loss has a kink at `w1 + w2 = 0` | (1, 1) |
    | leaky_units | `φ(w1) + φ(w2)` | 2 | a line with kinks at (0, 2) and (2, 0) | (1, 1) |

    φ is the leaky ReLU, `x` above zero and `x/10` below. The paper's loss is the square without a half and its λ
    multiplies `|w|²`: the residual is therefore `√2 (f(w) - y)`, and its λ is our `weight_decay = 2λ`.
    `train_error` is `|f(w) - y| / |y|`, `test_error` the distance to the nearest point of least norm over
    that norm; both are absolute where the denominator is zero.

    >>> toy = ToyModel("curved", init=[0.5, 3.0])
    >>> round(float(toy.loss(toy.init())), 12), float(toy.test_error(toy.least_norm[0]))
    (0.25, 0.0)

    Source: "The Geometry of Grokking", Section 3 and Figures 2 and 3, which name the models and print no data for
    Figure 3: `w1 w2` of one sample is the least two-layer linear network; for "a single-layer network with leaky ReLU"
    both readings are given.
    """

    start: jax.Array | Any = fields.array(
        default=None, alias="init", ndim=1, kw_only=True, note="where training starts; None for the figure's"
    )
    # A number, and a leaf: all kinds share one compiled program.
    code: jax.Array | Any = fields.choice(
        KINDS, default="curved", alias="kind", what="kind of toy model", note="which of the models"
    )
    target: jax.Array = fields.derived()
    least_norm: jax.Array = fields.derived()

    def derive(self):
        kind: Any = self.code
        toy = KINDS[kind]
        start = np.asarray(toy.start if self.start is None else self.start)
        if len(start) != len(toy.start):
            raise InputError(
                f"init has {len(start)} entries and the {kind} model {len(toy.start)} weights: give one a weight, "
                f"e.g. {list(toy.start)}"
            )
        code, target = jnp.asarray(list(KINDS).index(kind)), jnp.asarray(toy.target)
        return {"start": start, "code": code, "target": target, "least_norm": np.asarray(toy.least_norm)}

    @property
    def kind(self) -> str:
        """Which of the models it is."""
        return list(KINDS)[int(self.code)]

    def init(self) -> jax.Array:
        return self.start

    def identity(self) -> dict[str, Any]:
        return self.parameters()

    def parameters(self) -> dict[str, Any]:
        return {"kind": self.kind, "init": self.start}

    def end_to_end(self, params: Params) -> jax.Array:
        """The model's output on its sample, as a vector of one entry."""
        return jax.lax.switch(self.code, [toy.model for toy in KINDS.values()], params)[None]

    def residuals(self, params: Params) -> jax.Array:
        return jnp.sqrt(2.0) * (self.end_to_end(params) - self.target)

    def train_error(self, params: Params) -> jax.Array:
        return relative_norm(self.end_to_end(params) - self.target, self.target[None])

    def test_error(self, params: Params) -> jax.Array:
        distances = jnp.linalg.norm(params - self.least_norm, axis=1)
        size = jnp.linalg.norm(self.least_norm[0])
        return jnp.min(distances) / jnp.where(size == 0, 1.0, size)

    @property
    def degree(self) -> int:
        return KINDS[self.kind].degree

    def zero_loss_lines(self, reach: float) -> list[np.ndarray]:
        """The zero-loss set within `|w_i| ≤ reach`, as polylines of shape (points, 2); none for the plane.

        >>> [line.tolist() for line in ToyModel("leaky_sum").zero_loss_lines(3.0)]
        [[[-1.0, 3.0], [3.0, -1.0]]]
        """
        return KINDS[self.kind].zero_loss(check_number("reach", reach, above=0))
