"""Losses of one output against one target, each with its logarithm in a form that neither overflows nor underflows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.errors import check_choice

Pointwise = Callable[[Any, Any], jax.Array]  # of arrays, JAX's or NumPy's


@dataclass(frozen=True)
class Loss:
    """`ℓ(f, y)` a sample: `value`, `log_value = log ℓ` and `slope = ∂ℓ/∂f`; means over samples are methods.

    Below a loss of 1e-308 only `log_loss` is left: at a margin of 1e4 it is -1e4, where the loss itself is 0.

    >>> round(float(LOSSES["logistic"].log_loss(jnp.array([1e4, 2e4]), jnp.array([1.0, 1.0]))), 6)
    -10000.693147
    """

    name: str
    value: Pointwise
    log_value: Pointwise
    slope: Pointwise

    def mean(self, outputs: jax.Array, targets: jax.Array) -> jax.Array:
        """`Σ ℓ(f_i, y_i) / n`."""
        return jnp.mean(self.value(outputs, targets))

    def log_loss(self, outputs: jax.Array, targets: jax.Array) -> jax.Array:
        """`log Σ ℓ(f_i, y_i) / n`, summed in logarithms."""
        values = self.log_value(outputs, targets)
        return jax.nn.logsumexp(values) - np.log(values.size)


def log_softplus(x: jax.Array) -> jax.Array:
    """`log log(1 + e^x)`, which is `x` far to the left and `log x` far to the right.

    >>> [round(float(log_softplus(jnp.array(x))), 6) for x in (-1e4, 0.0, 1e4)]
    [-10000.0, -0.366513, 9.21034]
    """
    # Each branch sees only arguments that are safe for it, lest its gradient be NaN. Not minimum and maximum: their
    # derivative at a tie is 1/2, and every output of a network that starts at zero is one.
    left, right = jnp.where(x < 0, x, 0.0), jnp.where(x < 0, 0.0, x)
    z = jnp.exp(left)
    # log1p(z)/z = 1 - z/2 + z²/3 - …: below 1e-5 two terms are exact to 1e-11 of what is added to x.
    small = z < 1e-5
    ratio = jnp.where(small, 1 - z / 2 + z * z / 3, jnp.log1p(jnp.where(small, 1.0, z)) / jnp.where(small, 1.0, z))
    return jnp.where(x < 0, left + jnp.log(ratio), jnp.log(jnp.logaddexp(right, 0.0)))


def _margin(outputs: jax.Array, labels: jax.Array) -> jax.Array:
    """`z_y - log Σ_{j≠y} e^{z_j}`: cross-entropy is the logistic loss of this margin."""
    own = jnp.take_along_axis(outputs, labels[..., None], axis=-1)[..., 0]
    classes = jnp.arange(outputs.shape[-1])
    others = jnp.where(classes == labels[..., None], -jnp.inf, outputs)
    return own - jax.nn.logsumexp(others, axis=-1)


def _cross_entropy_slope(outputs: jax.Array, labels: jax.Array) -> jax.Array:
    """The softmax, and at the label minus the sum of the others: 1 - p_y would cancel once the loss is small."""
    own = jnp.arange(outputs.shape[-1]) == labels[..., None]
    others = jnp.where(own, 0.0, jax.nn.softmax(outputs, axis=-1))
    return jnp.where(own, -jnp.sum(others, axis=-1, keepdims=True), others)


# Labels are ±1 for the logistic and the exponential loss, whole numbers from 0 for cross-entropy.
squared = Loss(
    "squared",
    lambda f, y: (f - y) ** 2,
    lambda f, y: 2 * jnp.log(jnp.abs(f - y)),
    lambda f, y: 2 * (f - y),
)
logistic = Loss(
    "logistic",
    lambda f, y: jnp.logaddexp(0.0, -y * f),
    lambda f, y: log_softplus(-y * f),
    lambda f, y: -y * jax.nn.sigmoid(-y * f),
)
exponential = Loss(
    "exponential",
    lambda f, y: jnp.exp(-y * f),
    lambda f, y: -y * f,
    lambda f, y: -y * jnp.exp(-y * f),
)
cross_entropy = Loss(
    "cross_entropy",
    lambda f, y: jax.nn.softplus(-_margin(f, y)),
    lambda f, y: log_softplus(-_margin(f, y)),
    _cross_entropy_slope,
)

LOSSES: dict[str, Loss] = {loss.name: loss for loss in (squared, logistic, exponential, cross_entropy)}
MARGIN_LOSSES = ("logistic", "exponential")


def loss_of_margin(name: str) -> Loss:
    """A loss of the margin `y f` of a classifier with labels ±1: "logistic" or "exponential".

    >>> loss_of_margin("logistic").name
    'logistic'
    """
    return LOSSES[check_choice("loss", name, MARGIN_LOSSES)]
