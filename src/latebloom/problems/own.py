"""Any JAX function as a problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.arrays import Params, to_jax
from latebloom.errors import InputError
from latebloom.problems.base import AbstractLeastSquares

PRECISIONS = ("float64", "float32")


def check_function(what: str, value: Any) -> Any:
    """A function of the parameters."""
    if not callable(value):
        raise InputError(f"{what} must be a function of the parameters, not {type(value).__name__}")
    return value


def check_start(what: str, value: Any) -> Params:
    """Parameters to start from: arrays, real and finite."""
    if not jax.tree.leaves(value):
        raise InputError(f"{what} has no arrays: give the parameters training starts from")
    for path, leaf in jax.tree_util.tree_leaves_with_path(value):
        if jnp.iscomplexobj(leaf):
            raise InputError(f"{what} has complex entries: write real and imaginary parts as two arrays")
        if not np.isfinite(np.asarray(leaf, dtype=float)).all():
            where = jax.tree_util.keystr(path) or what
            raise InputError(f"{what} has NaN or infinite entries at {where}: start from finite parameters")
    return value


TRACED = (
    "is traced by JAX: use jax.numpy (jnp) instead of NumPy, float() and .item(), and jnp.where(condition, a, b) "
    "instead of `if`"
)


def try_function(what: str, function: Any, start: Params) -> np.ndarray:
    """What a function of the user's gives at the start, called twice and traced once: it must be pure JAX."""
    try:
        value, again = jnp.asarray(function(start)), jnp.asarray(function(start))
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{what}(init) raises {type(error).__name__} ({reason}): try it by itself on init") from None
    try:
        jax.eval_shape(lambda params: jnp.asarray(function(params)), start)  # compiles nothing
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
        raise InputError(f"{what}(params) {TRACED} ({type(error).__name__})") from None
    # The same operations on the same numbers; 1e-6 is far below what a draw changes.
    if value.shape != again.shape or not np.allclose(value, again, rtol=1e-6, equal_nan=True):
        raise InputError(
            f"{what}(init) differs from call to call: it must depend on the parameters alone; draw random numbers, and "
            "change what it reads, before the problem is made"
        )
    return np.asarray(value)


def _check_test(value: np.ndarray) -> None:
    if value.ndim != 0:
        raise InputError(f"test(init) must be one number, not of shape {value.shape}: average over the test set")
    if jnp.iscomplexobj(value) or np.isnan(value):
        raise InputError(f"test(init) is {value}: it must be a real number that falls when the model generalises")


class LeastSquares(AbstractLeastSquares):
    """Half the sum of squares of `residuals(params)`, starting from `init`, judged by `test(params)`.

    `train_error` is `|r(w)| / |r(w0)|`, relative to the start (absolute if that is zero); `test` is any scalar
    function that falls when the model generalises. Functions are compared by identity:
    reuse the same function object, and nothing is compiled twice. In a store functions are known by what they compute
    (their traced program and its constants), or by a `name`: give another name to other functions. With
    `precision="float32"` the parameters and all arithmetic on them are in single precision: twice as fast for large
    networks, and enough for tolerances above 1e-3.

    >>> import jax.numpy as jnp, latebloom as lb
    >>> mine = lb.problems.LeastSquares(lambda w: jnp.array([w.sum() - 2.0]), jnp.array([-1.0, 1.0]),
    ...                                 test=lambda w: jnp.abs(w - 1.0).max())
    >>> float(mine.loss(mine.init()))
    2.0
    """

    example = "lb.problems.LeastSquares(lambda w: jnp.array([w.sum() - 2.0]), jnp.array([-1.0, 1.0]))"
    function: Callable[[Params], jax.Array] = fields.own(
        check_function, kind="function", alias="residuals", static=True, note="r, a vector, from the parameters"
    )
    start: Params = fields.own(check_start, alias="init", note="the parameters training starts from")
    test: Callable[[Params], jax.Array] | None = fields.own(
        check_function,
        kind="function",
        default=None,
        static=True,
        note="a number that falls when the model generalises",
    )
    _: KW_ONLY
    label: str = fields.text(default="user", static=True, note="what it is called")
    known_as: str | None = fields.text(
        default=None, alias="name", static=True, note="stands for the functions in the store; change it with them"
    )
    precision: str = fields.choice(PRECISIONS, default="float64", static=True, note="of the parameters")
    start_norm: jax.Array = fields.derived()

    def derive(self):
        start = jax.tree.map(lambda leaf: to_jax(np.asarray(leaf, dtype=self.precision)), self.start)
        first = try_function("residuals", self.function, start)
        if first.ndim != 1 or first.size == 0:
            raise InputError(f"residuals(init) has shape {first.shape}: return a non-empty vector, e.g. with .ravel()")
        if not np.isfinite(first).all():
            raise InputError("residuals(init) has NaN or infinite entries: check the data and the initial parameters")
        if not jnp.issubdtype(first.dtype, jnp.floating):
            raise InputError(f"residuals(init) are of dtype {first.dtype}: they must be real numbers, not rounded")
        if self.test is not None:
            _check_test(try_function("test", self.test, start))
        return {"start": start, "start_norm": jnp.linalg.norm(first)}

    def init(self) -> Params:
        return self.start

    def identity(self) -> dict[str, Any]:
        """Functions by their number in this process, or by the name that stands for them."""
        given = self.parameters()
        hidden = {"name"} if self.known_as is None else {"residuals", "test"}
        hidden |= {"precision"} if self.precision == "float64" else set()
        return {key: value for key, value in given.items() if key not in hidden}

    @property
    def has_test(self) -> bool:
        return self.test is not None

    def residuals(self, params: Params) -> jax.Array:
        return self.function(params)

    def train_error(self, params: Params) -> jax.Array:
        return jnp.linalg.norm(self.residuals(params)) / jnp.where(self.start_norm == 0, 1.0, self.start_norm)

    def test_error(self, params: Params) -> jax.Array:
        return jnp.asarray(jnp.nan if self.test is None else self.test(params), dtype=float)
