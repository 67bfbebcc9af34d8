"""Probes of a classifier: its normalised margin, its direction, and how far it is from a KKT point of max margin."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.errors import CapabilityError, InputError
from latebloom.probes.base import AbstractProbe, total_norm
from latebloom.problems.base import AbstractProblem
from latebloom.problems.networks.margins import margin_constraints, require_degree


class NormalisedMargin(AbstractProbe):
    """`min_i y_i ⟨w, x_i⟩ / |w|_p` of the effective weight w, for p = `order` 1 or 2: column `margin_l<p>`.

    >>> from latebloom.problems import DiagonalClassifier, LabelledPoints
    >>> problem = DiagonalClassifier(LabelledPoints([[3.0, 4.0]], [1]))
    >>> float(NormalisedMargin(1).measure(problem, None, jnp.array([[1.0, 1.0], [0.0, 0.0]])))
    3.5
    """

    tried_on = "'diagonal_classifier[sparse_signs[dimension=500,samples=40]]'"
    order: int = fields.count(default=2, most=2, static=True, note="p of the norm")

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

    example = "direction_cosine[truth,(1 0)]"
    tried_on = "'diagonal_classifier[labelled_points[((1 0) (-1 1)),(1 -1)]]'"
    label: str = fields.text(static=True, note="what the column is called after")
    vector: jax.Array | Any = fields.array(ndim=1, note="the effective weight to compare with")

    def derive(self):
        if not jnp.any(self.vector != 0):
            raise InputError("vector is zero and has no direction: give the solution of an oracle that solved")
        return {}

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


class HomogeneousMargin(AbstractProbe):
    """`min_i m_i(θ) / |θ|^L`, the smallest margin of a homogeneous classifier over the norm of all parameters.

    The margins are `y_i f(x_i)`, or `f_y - f_j` over all wrong classes j; L is the degree. Descent without weight
    decay makes it grow, to that of a KKT point of the max-margin problem (R1).

    >>> from latebloom.problems import DiagonalClassifier, LabelledPoints
    >>> problem = DiagonalClassifier(LabelledPoints([[3.0, 4.0]], [1]))
    >>> [float(HomogeneousMargin().measure(problem, None, s * jnp.array([[0.0, 1.0], [0.0, 0.0]]))) for s in (1, 7)]
    [4.0, 4.0]

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", (R1) and Appendix B.1.
    """

    tried_on = "'diagonal_classifier[sparse_signs[dimension=500,samples=40]]'"

    def check(self, problem, penalty):
        require_degree(problem, "HomogeneousMargin")
        margin_constraints(problem, "HomogeneousMargin")

    def measure(self, problem, penalty, params):
        size = total_norm(params)
        # The margins at θ/|θ|, not m(θ)/|θ|^L: late in a run |θ|^L is beyond all floats.
        unit = jax.tree.map(lambda leaf: leaf / jnp.where(size > 0, size, 1.0), params)
        return jnp.min(margin_constraints(problem, "HomogeneousMargin")(unit))


class KKTAngle(AbstractProbe):
    """`1 - cos(θ, -∇F)`: zero if the parameters are a non-negative combination of the gradients of the margins.

    At a KKT point of `min |θ|²` with all margins at least one (R1), θ is such a combination; the loss gives the
    multipliers, by its logarithm where the problem has one, so that they are there when the loss is below all floats.
    The best multipliers can only be better: see `theory.margin_kkt`. Needs a problem with a degree.

    >>> from latebloom.problems import DiagonalClassifier, LabelledPoints
    >>> problem = DiagonalClassifier(LabelledPoints([[3.0, 0.0]], [1]))
    >>> float(KKTAngle().measure(problem, None, jnp.array([[0.5, 0.0], [0.0, 0.0]])))
    0.0

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", (R1), Theorem 3.5.
    """

    tried_on = "'diagonal_classifier[sparse_signs[dimension=500,samples=40]]'"

    @classmethod
    def name(cls) -> str:
        return "kkt_angle"

    def check(self, problem, penalty):
        require_degree(problem, "KKTAngle")

    def measure(self, problem, penalty, params):
        gradient = jax.grad(problem.log_loss)(params) if problem.has_log_loss else problem.gradient(params)
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
