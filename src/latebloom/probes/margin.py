"""Probes of a classifier: its normalised margin, its direction, and how far it is from a KKT point of max margin."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from latebloom.errors import CapabilityError, InputError, check_count
from latebloom.probes.base import AbstractProbe, total_norm
from latebloom.problems.base import AbstractProblem, check_array


class NormalisedMargin(AbstractProbe):
    """`min_i y_i ⟨w, x_i⟩ / |w|_p` of the effective weight w, for p = `order` 1 or 2: column `margin_l<p>`.

    >>> from latebloom.problems import DiagonalClassifier, LabelledPoints
    >>> problem = DiagonalClassifier(LabelledPoints([[3.0, 4.0]], [1]))
    >>> float(NormalisedMargin(1).measure(problem, None, jnp.array([[1.0, 1.0], [0.0, 0.0]])))
    3.5
    """

    order: int = eqx.field(static=True)

    def __init__(self, order: int = 2):
        self.order = check_count("order", order, most=2)

    @property
    def column(self) -> str:
        return f"margin_l{self.order}"

    def check(self, problem, penalty):
        require_margins(problem, "NormalisedMargin")

    def measure(self, problem, penalty, params):
        size = jnp.linalg.norm(problem.end_to_end(params), ord=self.order)
        return jnp.min(problem.margins(params)) / jnp.where(size > 0, size, 1.0)


class DirectionCosine(AbstractProbe):
    """`⟨w, w0⟩ / |w| |w0|` of the effective weight with a given one: column `cosine_with_<label>`; zero where w is.

    >>> from latebloom.problems import DiagonalClassifier, LabelledPoints
    >>> problem = DiagonalClassifier(LabelledPoints([[3.0, 4.0]], [1]))
    >>> float(DirectionCosine("oracle", [0.6, 0.8]).measure(problem, None, jnp.array([[2.0, 0.0], [0.0, 0.0]])))
    0.6
    """

    label: str = eqx.field(static=True)
    vector: jax.Array

    def __init__(self, label: str, vector: Any):
        self.label = label
        self.vector = jnp.asarray(check_array("vector", vector, ndim=1))
        if not jnp.any(self.vector != 0):
            raise InputError("vector is zero and has no direction: give the solution of an oracle that solved")

    @property
    def column(self) -> str:
        return f"cosine_with_{self.label}"

    def check(self, problem, penalty):
        size = require_margins(problem, "DirectionCosine").data.inputs.shape[1]
        if len(self.vector) != size:
            raise InputError(f"vector has {len(self.vector)} entries and the inputs {size}: give that many")

    def measure(self, problem, penalty, params):
        weight = problem.end_to_end(params)
        size = jnp.linalg.norm(weight)
        return weight @ self.vector / (jnp.where(size > 0, size, 1.0) * jnp.linalg.norm(self.vector))


class KktAngle(AbstractProbe):
    """`1 - cos(θ, -∇F)`: zero if the parameters are a non-negative combination of the gradients of the margins.

    At a KKT point of `min |θ|²` with all margins at least one (R1), θ is such a combination; the loss gives the
    multipliers. Needs a problem with a degree. Any problem's loss will do whose slopes are multipliers.

    >>> from latebloom.problems import DiagonalClassifier, LabelledPoints
    >>> problem = DiagonalClassifier(LabelledPoints([[3.0, 0.0]], [1]))
    >>> float(KktAngle().measure(problem, None, jnp.array([[0.5, 0.0], [0.0, 0.0]])))
    0.0

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", (R1), Theorem 3.5.
    """

    def check(self, problem, penalty):
        if problem.degree is None:
            raise CapabilityError(
                f"KktAngle needs a homogeneous problem (one with a degree); {type(problem).__name__} has none: "
                "leave the probe out"
            )

    def measure(self, problem, penalty, params):
        gradient = problem.gradient(params)
        pairs = zip(jax.tree.leaves(params), jax.tree.leaves(gradient), strict=True)
        inner = sum(jnp.sum(a * g) for a, g in pairs)
        sizes = total_norm(params) * total_norm(gradient)
        return 1 + inner / jnp.where(sizes > 0, sizes, 1.0)


def require_margins(problem: AbstractProblem, who: str) -> Any:
    """The problem, if it classifies by a linear function of the inputs."""
    if not (hasattr(problem, "margins") and hasattr(problem, "end_to_end")):
        raise CapabilityError(
            f"{who} needs a linear classifier (DiagonalClassifier); {type(problem).__name__} is none: "
            "leave the probe out"
        )
    return problem
