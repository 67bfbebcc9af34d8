"""Single or double precision: float64, unless a problem's own parameters are float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.arrays import to_jax
from latebloom.errors import CapabilityError

if TYPE_CHECKING:
    from latebloom.problems import AbstractProblem

T = TypeVar("T")


def precision(problem: AbstractProblem) -> str:
    """The type of the problem's parameters, which is that of all arithmetic on them.

    >>> import latebloom as lb
    >>> precision(lb.problems.SparseRecovery())
    'float64'
    """
    # Not `problem.init` itself: methods are looked up by comparing their objects, which traced ones cannot be.
    return str(jnp.result_type(*jax.tree.leaves(jax.eval_shape(lambda: problem.init()))))  # noqa: PLW0108


def require_double(problem: AbstractProblem, who: str) -> None:
    """Refuses single precision, in which the rank of a Jacobian cannot be told."""
    if precision(problem) != "float64":
        raise CapabilityError(
            f"{who} needs double precision, and this {type(problem).__name__} has parameters in {precision(problem)}: "
            "give it precision='float64'"
        )


def in_precision(tree: T, kind: str) -> T:
    """Every number of a record that enters the arithmetic of a problem as an array of the problem's precision `kind`.

    A strength or a learning rate in double precision would turn single precision into double.

    >>> import latebloom as lb
    >>> in_precision(lb.L2(1e-3), "float32").strength.dtype
    dtype('float32')
    """

    def cast(leaf):
        array = np.asarray(leaf)
        return to_jax(array.astype(kind) if jnp.issubdtype(array.dtype, jnp.floating) else array)

    return jax.tree.map(cast, tree)
