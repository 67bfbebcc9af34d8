"""A two-layer ReLU network that fits a few samples of a piecewise linear function of one variable."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.arrays import to_jax
from latebloom.core.seeds import generator
from latebloom.errors import InputError
from latebloom.problems.base import AbstractLeastSquares, relative_norm

DOMAIN = 2.0  # samples are uniform in [-2, 2]
GRID = np.linspace(-DOMAIN, DOMAIN, 201)  # where the test error is measured
# A sum of three ReLUs, rows u, v, b; kinks at -1, 0.2 and 1.2. The paper draws its own and does not print it.
TEACHER = ((1.0, -1.5, 2.0), (1.0, 1.0, 1.0), (1.0, -0.2, -1.2))


class ReluRegression(AbstractLeastSquares):
    """`f(x) = Σ_j u_j max(v_j x + b_j, 0)` fitted to `samples` values of a teacher of the same form.

    Loss `Σ (f(x_i) - y_i)² / 2n`, x_i uniform in [-2, 2], no noise. Parameters have shape (3, `width`), rows u, v and
    b, entries N(0, `init_variance`). The test error is `|f - f*| / |f*|` on a grid of 201 points of [-2, 2], the train
    error the same on the samples. The derivative of ReLU at 0 is taken as 0.

    - `teacher`: an array of shape (3, units), rows u, v and b.

    >>> import latebloom as lb
    >>> problem = ReluRegression(width=20, samples=5)
    >>> problem.init().shape, float(problem.test_error(problem.teacher))
    ((3, 20), 0.0)
    >>> problem.predict(problem.teacher, [-2.0, 0.2, 2.0]).round(6).tolist()
    [0.0, 1.2, 1.9]

    Source: "A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation",
    Section 5, Figure 3.
    """

    width: int = fields.count(default=100, static=True, note="hidden units")
    samples: int = fields.count(default=10, static=True, note="n")
    _: KW_ONLY
    init_variance: float = fields.number(default=4.0, least=0, note="of the entries at the start")
    teacher: jax.Array | Any = fields.array(default=TEACHER, ndim=2, note="rows u, v and b, a column a unit")
    seed: int = fields.seed(default=0, note="draws samples and start")
    points: jax.Array = fields.derived()
    values: jax.Array = fields.derived()
    start: jax.Array = fields.derived()

    def derive(self):
        if len(self.teacher) != 3:
            raise InputError(
                f"teacher has shape {self.teacher.shape}: give three rows, u, v and b, with a column a unit"
            )
        points = to_jax(np.sort(generator(self.seed, "samples").uniform(-DOMAIN, DOMAIN, size=self.samples)))
        start = np.sqrt(self.init_variance) * generator(self.seed, "init").normal(size=(3, self.width))
        return {"points": points, "values": network(self.teacher, points), "start": start}

    def init(self) -> jax.Array:
        return self.start

    def predict(self, params: jax.Array, points: Any) -> jax.Array:
        """What the network says at some points."""
        return network(params, points)

    def residuals(self, params: jax.Array) -> jax.Array:
        return (network(params, self.points) - self.values) / np.sqrt(self.samples)

    def gradient(self, params: jax.Array) -> jax.Array:
        u, v, b = params
        before = self.points[:, None] * v + b
        active = before > 0
        reach, on = jnp.where(active, before, 0.0), active.astype(before.dtype)
        gap = (reach @ u - self.values) / self.samples
        return jnp.stack([gap @ reach, ((gap * self.points) @ on) * u, (gap @ on) * u])

    @property
    def label_scale(self) -> float:
        return self.samples**-0.5

    def train_error(self, params: jax.Array) -> jax.Array:
        return relative_norm(network(params, self.points) - self.values, self.values)

    def test_error(self, params: jax.Array) -> jax.Array:
        truth = network(self.teacher, GRID)
        return relative_norm(network(params, GRID) - truth, truth)

    def sharpness(self, params: jax.Array) -> float:
        """The largest eigenvalue of the Hessian of the loss; gradient steps above two over it are unstable."""
        flat = jnp.ravel(params)
        hessian = jax.hessian(lambda w: self.loss(w.reshape(3, -1)))(flat)
        return float(np.linalg.eigvalsh(np.asarray(hessian))[-1])

    @property
    def degree(self) -> int:
        return 2


def network(params: Any, points: Any) -> jax.Array:
    """`Σ_j u_j max(v_j x + b_j, 0)` at every point x."""
    u, v, b = params
    return jnp.maximum(jnp.asarray(points)[:, None] * v + b, 0.0) @ u
