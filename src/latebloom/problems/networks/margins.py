"""The margins of a classifier as constraints: what a max-margin problem asks to be at least one."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from latebloom.core.arrays import Params
from latebloom.errors import CapabilityError
from latebloom.problems.base import AbstractProblem
from latebloom.problems.classifier import AbstractLabelled
from latebloom.problems.networks.diagonal_classifier import DiagonalClassifier


def margin_constraints(problem: AbstractProblem, who: str) -> Callable[[Params], jax.Array]:
    """All margins on the training set as one vector function of the parameters.

    With labels ±1 there is one a row, `y_i f(x_i)`; with several classes one a row and wrong class, `f_y - f_j`, row
    by row. The training set is right if and only if all are positive.

    >>> import latebloom as lb
    >>> problem = lb.problems.ModularClassifier(modulus=5, width=4, train_share=0.8)
    >>> margin_constraints(problem, "this")(problem.init()).shape  # 20 rows, 4 wrong classes
    (80,)
    """
    if isinstance(problem, AbstractLabelled) and problem.labelled:
        return lambda params: problem.class_margins(params).ravel()
    if isinstance(problem, DiagonalClassifier):
        return lambda params: jnp.ravel(problem.margins(params))
    raise CapabilityError(
        f"{who} needs a classifier (DiagonalClassifier, ModularClassifier); {type(problem).__name__} is none: "
        "for a regression use kernel_regime or the probe KKTResidual"
    )


def require_degree(problem: AbstractProblem, who: str) -> int:
    """The degree of a homogeneous problem."""
    if problem.degree is None:
        raise CapabilityError(
            f"{who} needs a homogeneous problem (one with a degree); {type(problem).__name__} has none: "
            "leave the probe out"
        )
    return problem.degree
