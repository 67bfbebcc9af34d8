"""Probes of the function that a network computes: its values on a grid, and its kinks."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.errors import CapabilityError
from latebloom.probes.base import AbstractProbe
from latebloom.problems.base import AbstractProblem
from latebloom.problems.networks.relu_net import DOMAIN, ReluRegression
from latebloom.problems.networks.teacher_student import TeacherStudent


class FunctionValues(AbstractProbe):
    """The network's output at some `points`, a vector a record.

    >>> from latebloom.problems.networks.relu_net import ReluRegression
    >>> problem = ReluRegression()
    >>> FunctionValues([-1.0, 0.2]).measure(problem, None, problem.teacher).round(6).tolist()
    [0.0, 1.2]

    Source: "A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation",
    Figures 3 and 4.
    """

    example = "function_values[(-1 0 1)]"
    tried_on = "relu_regression"
    points: jax.Array | Any = fields.array(ndim=1, note="where the function is looked at")

    def check(self, problem, penalty):
        if not callable(getattr(problem, "predict", None)):
            raise CapabilityError(
                f"FunctionValues needs a problem that predicts at points (DiagonalNet, ReluRegression); "
                f"{type(problem).__name__} does not: leave the probe out"
            )
        if isinstance(problem, TeacherStudent):
            raise CapabilityError(
                f"FunctionValues is about functions of one variable and TeacherStudent's have {problem.dimension}: "
                "leave it out, and use problem.predict(run.params, inputs)"
            )

    def measure(self, problem, penalty, params):
        return problem.predict(params, self.points)


class Kinks(AbstractProbe):
    """How many kinks a two-layer ReLU network of one variable has inside the domain of its samples.

    A unit bends the function at `-b/v` by `u|v|`. Bends closer together than `resolution` to the next are one kink,
    and a kink counts if its slope changes by more than `tolerance`.

    >>> from latebloom.problems.networks.relu_net import ReluRegression
    >>> problem = ReluRegression()
    >>> int(Kinks().measure(problem, None, problem.teacher))
    3

    Source: "A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation",
    Section 5, Figure 3.
    """

    tried_on = "relu_regression"
    _: KW_ONLY
    tolerance: float = fields.number(default=0.05, least=0, note="the change of slope above which a kink counts")
    resolution: float = fields.number(default=0.02, least=0, note="the distance up to which bends are one kink")

    def check(self, problem: AbstractProblem, penalty):
        if not isinstance(problem, ReluRegression):
            raise CapabilityError(
                f"Kinks needs a ReLU network of one variable (ReluRegression); {type(problem).__name__} is none: "
                "leave the probe out"
            )

    def measure(self, problem, penalty, params):
        _, bends = kinks(params, self.resolution)
        return jnp.sum(jnp.abs(bends) > self.tolerance).astype(float)


def kinks(params: Any, resolution: Any) -> tuple[jax.Array, jax.Array]:
    """Where the function bends inside the domain, and by how much; zero where there are fewer kinks than units."""
    u, v, b = jnp.asarray(params)
    places = jnp.where(v == 0, jnp.inf, -b / jnp.where(v == 0, 1.0, v))
    inside = jnp.abs(places) < DOMAIN
    order = jnp.argsort(jnp.where(inside, places, jnp.inf))
    bends, places = jnp.where(inside, u * jnp.abs(v), 0.0)[order], jnp.where(inside, places, DOMAIN)[order]
    group = jnp.concatenate([jnp.zeros(1, int), jnp.cumsum(jnp.diff(places) > resolution)])
    sizes = jax.ops.segment_sum(jnp.abs(bends), group, len(u))
    centres = jax.ops.segment_sum(jnp.abs(bends) * places, group, len(u)) / jnp.where(sizes > 0, sizes, 1.0)
    return centres, jax.ops.segment_sum(bends, group, len(u))
