"""Probes of the measured vector `a`: its components and its norm on and off the support of the truth."""

from __future__ import annotations

import jax.numpy as jnp

from latebloom.errors import CapabilityError
from latebloom.probes.base import AbstractProbe
from latebloom.problems import AbstractLinear, AbstractProblem


class Components(AbstractProbe):
    """Every component of `a` (Figures 3 and 25); of a matrix, its entries row by row."""

    def check(self, problem, penalty):
        require_vector(problem, "Components")

    def measure(self, problem, penalty, params):
        return problem.end_to_end(params).ravel()


class VectorL1(AbstractProbe):
    """`|a|_1` of the measured vector, which differs from the parameters' norm at depth 2 and more."""

    def check(self, problem, penalty):
        require_vector(problem, "VectorL1")

    def measure(self, problem, penalty, params):
        return jnp.sum(jnp.abs(problem.end_to_end(params)))


class SupportNorm(AbstractProbe):
    """`u = |a_I|_2` on the support `I` of the truth (Figure 24)."""

    def check(self, problem, penalty):
        require_vector(problem, "SupportNorm")

    def measure(self, problem, penalty, params):
        return jnp.linalg.norm(jnp.where(problem.truth != 0, problem.end_to_end(params), 0.0).ravel())


class OffSupportNorm(AbstractProbe):
    """`v = |a_{I^c}|_2` off the support `I` of the truth (Figure 24)."""

    def check(self, problem, penalty):
        require_vector(problem, "OffSupportNorm")

    def measure(self, problem, penalty, params):
        return jnp.linalg.norm(jnp.where(problem.truth == 0, problem.end_to_end(params), 0.0).ravel())


def require_vector(problem: AbstractProblem, who: str) -> AbstractLinear:
    """The problem, if it measures a vector."""
    if not isinstance(problem, AbstractLinear):
        raise CapabilityError(
            f"{who} needs a problem that measures a vector (SparseRecovery, LinearRegression); "
            f"{type(problem).__name__} has none: leave the probe out"
        )
    return problem
