"""Single or double precision: float64, unless a problem's own parameters are float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.arrays import to_jax
from latebloom.errors import CapabilityError

if TYPE_CHECKING:
    from latebloom.problems import AbstractProblem

T = TypeVar("T")
_KNOWN: dict[Any, str] = {}  # by structure and types: a trace takes a millisecond
MOST_KNOWN = 256


def precision(problem: AbstractProblem) -> str:
    """The type of the problem's parameters, which is that of all arithmetic on them.

    >>> import latebloom as lb
    >>> precision(lb.problems.SparseRecovery())
    'float64'
    """
    leaves, tree = jax.tree.flatten(problem)
    shape = tree, tuple((np.shape(leaf), jnp.result_type(leaf)) for leaf in leaves)
    if shape not in _KNOWN:
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        # Not `problem.init` itself: methods are looked up by comparing their objects, which traced ones cannot be.
        _KNOWN[shape] = str(jnp.result_type(*jax.tree.leaves(jax.eval_shape(lambda: problem.init()))))  # noqa: PLW0108
    return _KNOWN[shape]


def require_double(problem: AbstractProblem, who: str) -> None:
    """Refuses single precision, in which the rank of a Jacobian cannot be told."""
    if precision(problem) != "float64":
        raise CapabilityError(
            f"{who} needs double precision, and this {type(problem).__name__} has parameters in {precision(problem)}: "
            "give it precision='float64'"
        )


def in_precision(tree: T, kind: str, *, on_host: bool = False) -> T:
    """Every number of a record that enters the arithmetic of a problem as an array of the problem's precision `kind`.

    A strength or a learning rate in double precision would turn single precision into double. `on_host` they stay
    arrays of NumPy, for whoever puts many together.

    >>> import latebloom as lb
    >>> in_precision(lb.L2(1e-3), "float32").strength.dtype
    dtype('float32')
    """

    def cast(leaf):
        array = np.asarray(leaf)
        array = array.astype(kind) if jnp.issubdtype(array.dtype, jnp.floating) else array
        return array if on_host else to_jax(array)

    return jax.tree.map(cast, tree)
