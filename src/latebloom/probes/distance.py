"""Distance to where theory says a phase ends."""

from __future__ import annotations

from typing import Any

import jax

from latebloom.core import fields
from latebloom.errors import InputError
from latebloom.probes.base import AbstractProbe
from latebloom.probes.vector import require_vector
from latebloom.problems.base import relative_norm


class DistanceTo(AbstractProbe):
    """`|a - point|_2 / |point|_2` for the measured array `a`: column `distance_to_<label>`."""

    example = "distance_to[truth,(1 1)]"
    tried_on = "'linear_regression[((1 1)),(2),truth=(1 1)]'"
    label: str = fields.text(static=True, note="what the column is called after")
    point: jax.Array | Any = fields.array(note="where theory says the phase ends, of the measured array's shape")

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
