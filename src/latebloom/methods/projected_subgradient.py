"""Projected subgradient descent on the set of interpolators."""

from __future__ import annotations

from latebloom.core import fields
from latebloom.errors import CapabilityError
from latebloom.methods.base import AbstractMethod
from latebloom.problems import require_linear


class ProjectedSubgradient(AbstractMethod):
    """`a ← Π(a - learning_rate · H(a))` with Π the projection on `{a : X a = y}` (linear problems).

    `Π(a) = a - X⁺(X a - y)`: one step memorises, everything after it is the penalty's work.
    The pseudo-inverse is computed once and carried as the method's state; where single entries are
    observed there is nothing to invert.

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Appendices D.1 and D.2.
    """

    example = "projected_subgradient[0.01]"
    learning_rate: float = fields.number(above=0, note="η, the size of a step")

    def check(self, problem, penalty):
        require_linear(problem, "ProjectedSubgradient")
        if penalty is None:
            raise CapabilityError("ProjectedSubgradient descends on the penalty alone and has none: pass penalty=L1(…)")

    def init(self, problem, penalty, params):
        return problem.prepare_projection()

    def step(self, problem, penalty, params, state):
        moved = params - self.learning_rate * penalty.subgradient(params)
        return problem.project(moved, state), state
