"""Distance to where theory says a phase ends."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from latebloom.core.arrays import check_array
from latebloom.errors import InputError
from latebloom.probes.base import AbstractProbe
from latebloom.probes.vector import require_vector
from latebloom.problems.base import relative_norm


class DistanceTo(AbstractProbe):
    """`|a - point|_2 / |point|_2` for the measured array `a`: column `distance_to_<label>`."""

    label: str = eqx.field(static=True)
    point: jax.Array

    def __init__(self, label: str, point: Any):
        self.label = label
        self.point = jnp.asarray(check_array("point", point))

    @property
    def column(self):
        return f"distance_to_{self.label}"

    def check(self, problem, penalty):
        truth = require_vector(problem, "DistanceTo").truth
        if self.point.shape != truth.shape:
            raise InputError(
                f"point has shape {self.point.shape} and the measured array {truth.shape}: give that shape"
            )

    def measure(self, problem, penalty, params):
        return relative_norm(problem.end_to_end(params) - self.point, self.point)
