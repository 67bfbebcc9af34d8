"""Where a run is with respect to the zero-loss set: how far, at which angle it is pushed, how close to least norm."""

from __future__ import annotations

from latebloom.core.precision import require_double
from latebloom.probes.base import AbstractProbe
from latebloom.problems import require_least_squares
from latebloom.zero_loss.set import distance_to_zero_loss, kkt_residual, tangent_cosine


class _OfTheZeroLossSet(AbstractProbe):
    """A number that needs residuals and their Jacobian."""

    def check(self, problem, penalty):
        require_least_squares(problem, type(self).__name__)
        require_double(problem, type(self).__name__)


class DistanceToZeroLoss(_OfTheZeroLossSet):
    """`|w - retraction(w)|`, the distance to the zero-loss set to second order; NaN far from any.

    >>> import jax.numpy as jnp, latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0])
    >>> round(float(DistanceToZeroLoss().measure(problem, None, jnp.zeros(2))), 6)
    1.414214

    Source: "The Geometry of Grokking", Theorem 4.9.
    """

    def measure(self, problem, penalty, params):
        return distance_to_zero_loss(problem, params)


class TangentCosine(_OfTheZeroLossSet):
    """`|P ∇F| / |∇F|`, the cosine between the loss gradient and the zero-loss set's tangent space at the nearest point.

    >>> import jax.numpy as jnp, latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0])
    >>> round(float(TangentCosine().measure(problem, None, jnp.array([1.0, 5.0]))), 9)
    0.0

    Source: "The Geometry of Grokking", Theorem 4.13.
    """

    def measure(self, problem, penalty, params):
        return tangent_cosine(problem, params)


class KKTResidual(_OfTheZeroLossSet):
    """`|P w| / |w|`, 0 at a KKT point of least norm on the zero-loss set: column `kkt_residual`.

    >>> import jax.numpy as jnp, latebloom as lb
    >>> problem = lb.problems.LinearRegression([[1.0, 1.0]], [2.0])
    >>> [round(float(KKTResidual().measure(problem, None, jnp.array(w))), 6) for w in ([2.0, 0.0], [1.0, 1.0])]
    [0.707107, 0.0]

    Source: "A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation",
    Propositions 3 and 4.
    """

    @classmethod
    def name(cls) -> str:
        return "kkt_residual"

    def measure(self, problem, penalty, params):
        return kkt_residual(problem, params)
