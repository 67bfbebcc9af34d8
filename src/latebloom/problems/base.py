"""What a problem is: data, model, training loss and test measure, in one frozen record.

Capabilities are explicit. A *least-squares* problem gives residuals, a *linear* one
its design matrix and targets, a *homogeneous* one its degree, one *with outputs* what
its model says on the training set, one *with a log-loss* the logarithm of its loss; whoever needs one of them asks
with `require_least_squares`, `require_linear`, `require_outputs` or `require_log_loss` and gets it or a sentence.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.arrays import Params
from latebloom.core.record import Record
from latebloom.errors import CapabilityError, InputError


class AbstractProblem(Record):
    """Data, model, training loss `F`, and the measures that say memorised and generalised."""

    @abstractmethod
    def init(self) -> Params:
        """The parameters training starts from."""

    @abstractmethod
    def loss(self, params: Params) -> jax.Array:
        """The training loss `F`, as the paper's experiment has it."""

    @abstractmethod
    def train_error(self, params: Params) -> jax.Array:
        """The measure that decides memorisation."""

    @abstractmethod
    def test_error(self, params: Params) -> jax.Array:
        """The measure that decides generalisation; NaN where the problem has no truth to compare with."""

    def gradient(self, params: Params) -> Params:
        """The gradient of `loss`."""
        return jax.grad(self.loss)(params)

    def outputs(self, params: Params) -> jax.Array:
        """The model's outputs on the training set, as one vector; a constant added to them plays no part."""
        raise CapabilityError(f"{type(self).__name__} gives no outputs on its training set: see has_outputs")

    @property
    def has_outputs(self) -> bool:
        """Whether `outputs` is there: the tangent kernel needs it."""
        return False

    def log_loss(self, params: Params) -> jax.Array:
        """The logarithm of `loss`, computed as such: finite and exact where the loss is below every float."""
        raise CapabilityError(f"{type(self).__name__} gives no logarithm of its loss: see has_log_loss")

    @property
    def has_log_loss(self) -> bool:
        """Whether `log_loss` is there: descent on the logarithm of the loss needs it."""
        return False

    @property
    def degree(self) -> int | None:
        """The degree of homogeneity of the model in its parameters, if it has one."""
        return None

    @property
    def trivial(self) -> tuple[float, str] | None:
        """The train error of a model that has learned nothing, and what that is; None if only the start tells."""
        return None

    @property
    def has_test(self) -> bool:
        """Whether there is a truth or a test set to compare with."""
        return True

    @property
    def linear(self) -> bool:
        """Whether the residuals are `design @ params - targets`."""
        return False


class AbstractLeastSquares(AbstractProblem):
    """A problem whose loss is half the sum of squared residuals: `F(w) = |r(w)|² / 2`."""

    @abstractmethod
    def residuals(self, params: Params) -> jax.Array:
        """The residual vector `r`."""

    def loss(self, params: Params) -> jax.Array:
        return 0.5 * jnp.sum(self.residuals(params) ** 2)

    def outputs(self, params: Params) -> jax.Array:
        return self.residuals(params)

    @property
    def has_outputs(self) -> bool:
        return True

    def live_residuals(self) -> np.ndarray | None:
        """The positions of the residuals that are not zero whatever the parameters; None for all of them."""
        return None

    @property
    def label_scale(self) -> float:
        """What a change of a label by one is in the residuals: `√weight` if these are `√weight (f_i - y_i)`."""
        return 1.0


class AbstractLinear(AbstractLeastSquares):
    """Least squares on an array `a` that is measured linearly: `F(a) = |X a - y|² / 2`.

    `train_error` is `|X a - y| / |y|`, `test_error` is `|a - a*| / |a*|` (absolute where `y` or `a*` is zero), with
    `a = end_to_end(params)`; the problem is linear if `a` are the parameters themselves. `a` is a vector, or a matrix
    whose entries the design measures row by row (`a.ravel()`).
    """

    design: jax.Array = fields.abstract()
    targets: jax.Array = fields.abstract()
    truth: jax.Array | Any = fields.abstract()

    def parameters(self) -> dict[str, Any]:
        given = super().parameters()
        unknown = "truth" in given and not np.isfinite(np.asarray(self.truth)).all()
        return given | {"truth": None} if unknown else given

    def end_to_end(self, params: Params) -> jax.Array:
        """The array that the design matrix measures."""
        return params

    def residuals(self, params: Params) -> jax.Array:
        return self.design @ self.end_to_end(params).ravel() - self.targets

    def train_error(self, params: Params) -> jax.Array:
        return relative_norm(self.residuals(params), self.targets)

    def test_error(self, params: Params) -> jax.Array:
        return relative_norm(self.end_to_end(params) - self.truth, self.truth)

    def gradient(self, params: Params) -> Params:
        return (AbstractLinear.residuals(self, params) @ self.design).reshape(params.shape)

    def prepare_projection(self) -> Any:
        """What `project` needs beside the problem, computed once: the pseudo-inverse, by an SVD."""
        return jnp.linalg.pinv(self.design).T

    def project(self, array: jax.Array, prepared: Any) -> jax.Array:
        """The point of `{a : X a = y}` that is closest to `array`."""
        return array - ((self.design @ array.ravel() - self.targets) @ prepared).reshape(array.shape)

    def sharpness(self) -> float:
        """`σ_max(XᵀX)`, the largest curvature of the loss in `a`; gradient steps above `2/σ_max` diverge."""
        design = np.asarray(self.design)
        small = design @ design.T if len(design) <= design.shape[1] else design.T @ design
        return float(np.linalg.eigvalsh(small)[-1])

    @property
    def degree(self) -> int:
        return 1

    @property
    def linear(self) -> bool:
        return True


def relative_norm(gap: jax.Array, reference: jax.Array) -> jax.Array:
    """`|gap| / |reference|`, or `|gap|` if the reference is zero."""
    size = jnp.linalg.norm(reference.ravel())
    return jnp.linalg.norm(gap.ravel()) / jnp.where(size == 0, 1.0, size)


def require_least_squares(problem: AbstractProblem, who: str) -> AbstractLeastSquares:
    """The problem, if it gives residuals."""
    if not isinstance(problem, AbstractLeastSquares):
        raise CapabilityError(
            f"{who} needs a least-squares problem (one with residuals); {type(problem).__name__} has none: "
            "write it as LeastSquares(residuals, init)"
        )
    return problem


def require_linear(problem: AbstractProblem, who: str) -> AbstractLinear:
    """The problem, if it is linear in its parameters."""
    if not (isinstance(problem, AbstractLinear) and problem.linear):
        raise CapabilityError(
            f"{who} needs a problem that is linear in its parameters; {problem!r} is not: "
            "use depth=1, or LinearRegression"
        )
    return problem


def require_outputs(problem: AbstractProblem, who: str) -> AbstractProblem:
    """The problem, if it gives its model's outputs on the training set."""
    if not problem.has_outputs:
        raise CapabilityError(
            f"{who} needs a problem that gives its outputs on the training set; {type(problem).__name__} does not: "
            "write it as LeastSquares(residuals, init)"
        )
    return problem


def require_log_loss(problem: AbstractProblem, who: str) -> AbstractProblem:
    """The problem, if it gives the logarithm of its loss."""
    if not problem.has_log_loss:
        raise CapabilityError(
            f"{who} needs a problem that gives the logarithm of its loss; {type(problem).__name__} does not: "
            "use a classifier (DiagonalClassifier, ModularClassifier), or GradientDescent"
        )
    return problem


def known_truth(problem: AbstractLinear, who: str) -> np.ndarray:
    """The truth `a*` of a problem, if it has one.

    >>> from latebloom.problems import LinearRegression
    >>> known_truth(LinearRegression([[1.0, 0.0]], [1.0], truth=[1.0, 3.0]), "this")
    array([1., 3.])
    """
    truth = np.asarray(problem.truth)
    if not np.isfinite(truth).all():
        raise InputError(
            f"{who} compares with the truth and the problem has none: give one, "
            "e.g. LinearRegression(design, targets, truth=vector)"
        )
    return truth
