"""A diagonal linear network that classifies."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.record import Record
from latebloom.errors import InputError
from latebloom.problems.base import AbstractProblem
from latebloom.problems.data.labelled_points import AbstractPoints
from latebloom.problems.losses import MARGIN_LOSSES, loss_of_margin


class DiagonalClassifier(AbstractProblem):
    """The network `⟨u^L - v^L, x⟩` of `depth` (and degree) L on labelled points, started at `u = v = init_scale = α`.

    Parameters have shape (2, d), rows u and v; they stay positive along the flow. Loss: the mean over the points of
    "logistic" `log(1 + e^{-yf})` or "exponential" `e^{-yf}`. Errors are shares of points; an output of zero is wrong.
    The paper gives the initial norm, which is `α √(2d)`. `dual_flow` integrates the flow in n variables.

    >>> import latebloom as lb
    >>> data = lb.problems.SparseSigns(dimension=40, samples=10, test_samples=100)
    >>> problem = DiagonalClassifier(data, init_scale=0.5)
    >>> problem.init().shape, round(float(problem.loss(problem.init())), 6)  # log 2: all outputs are zero
    ((2, 40), 0.693147)

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Eq. 4, Section 3.2.3.
    """

    example = "diagonal_classifier[sparse_signs[dimension=500,samples=40],init_scale=0.3]"
    data: AbstractPoints = fields.own(
        lambda _, value: check_points(value), kind="record", base=AbstractPoints, note="the points and their labels"
    )
    _: KW_ONLY
    init_scale: float = fields.number(default=1.0, above=0, note="α, every entry of u and v at the start")
    depth: int = fields.count(default=2, most=20, static=True, note="L")
    loss_kind: str = fields.choice(MARGIN_LOSSES, default="logistic", static=True, what="loss", note="of the margin")

    def derive(self):
        check_start_scale(self.init_scale, self.depth)
        return {}

    def init(self) -> jax.Array:
        return jnp.full((2, self.data.inputs.shape[1]), self.init_scale, dtype=float)

    def end_to_end(self, params: jax.Array) -> jax.Array:
        """The effective weight `w = u^L - v^L`."""
        return params[0] ** self.depth - params[1] ** self.depth

    def outputs(self, params: jax.Array) -> jax.Array:
        """`f(x_i)` on the training points."""
        return self.data.inputs @ self.end_to_end(params)

    def margins(self, params: jax.Array) -> jax.Array:
        """`y_i f(x_i)` on the training points."""
        return self.data.labels * self.outputs(params)

    def loss(self, params: jax.Array) -> jax.Array:
        return loss_of_margin(self.loss_kind).mean(self.outputs(params), self.data.labels)

    def log_loss(self, params: jax.Array) -> jax.Array:
        """The logarithm of the loss, also where the loss is below every float."""
        return loss_of_margin(self.loss_kind).log_loss(self.outputs(params), self.data.labels)

    @property
    def has_log_loss(self) -> bool:
        return True

    def gradient(self, params: jax.Array) -> jax.Array:
        u, v = params
        slopes = loss_of_margin(self.loss_kind).slope(self.outputs(params), self.data.labels) / len(self.data.labels)
        power = self.depth - 1
        return self.depth * jnp.stack([u**power, -(v**power)]) * (slopes @ self.data.inputs)

    def train_error(self, params: jax.Array) -> jax.Array:
        return jnp.mean(self.margins(params) <= 0)

    def test_error(self, params: jax.Array) -> jax.Array:
        return self.data.test_error(self.end_to_end(params))

    @property
    def has_test(self) -> bool:
        return self.data.has_test

    @property
    def degree(self) -> int:
        return self.depth


def check_points(data: Any) -> AbstractPoints:
    """Labelled points; anything else is refused."""
    if not isinstance(data, AbstractPoints):
        kind = type(data).__name__ if not isinstance(data, Record) else repr(data)
        raise InputError(
            f"data must be labelled points, not {kind}: use SparseSigns(...), GaussianGap(...) or "
            "LabelledPoints(inputs, labels)"
        )
    return data


def check_start_scale(init_scale: float, depth: int) -> None:
    """Refuses an initial scale whose powers `α^L` or `α^{2-L}` are no floats."""
    exponent = depth * np.log10(init_scale)
    if abs(exponent) > 150:  # α^L times a product over d coordinates and n points stays finite
        bound = 10.0 ** (150 / depth)
        raise InputError(
            f"init_scale={init_scale:g} is not allowed: at depth {depth} its power has {abs(exponent):.0f} digits; "
            f"use one between {1 / bound:.0e} and {bound:.0e}"
        )
