"""Any JAX function as a problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.arrays import Params
from latebloom.core.record import DERIVED
from latebloom.errors import InputError, check_choice
from latebloom.problems.base import AbstractLeastSquares


class LeastSquares(AbstractLeastSquares):
    """Half the sum of squares of `residuals(params)`, starting from `init`, judged by `test(params)`.

    `train_error` is `|r(w)| / |r(w0)|`, relative to the start (absolute if that is zero); `test` is any scalar
    function that falls when the model generalises. Functions are compared by identity:
    reuse the same function object, and nothing is compiled twice. With `precision="float32"` the parameters and all
    arithmetic on them are in single precision: twice as fast for large networks, and enough for tolerances above 1e-3.

    >>> import jax.numpy as jnp, latebloom as lb
    >>> mine = lb.problems.LeastSquares(lambda w: jnp.array([w.sum() - 2.0]), jnp.array([-1.0, 1.0]),
    ...                                 test=lambda w: jnp.abs(w - 1.0).max())
    >>> float(mine.loss(mine.init()))
    2.0
    """

    function: Callable[[Params], jax.Array] = eqx.field(static=True)
    start: Params
    test: Callable[[Params], jax.Array] | None = eqx.field(static=True)
    label: str = eqx.field(static=True)
    precision: str = eqx.field(static=True)
    start_norm: jax.Array = eqx.field(metadata=DERIVED)

    def __init__(
        self,
        residuals: Callable[[Params], jax.Array],
        init: Params,
        test: Callable[[Params], jax.Array] | None = None,
        *,
        label: str = "user",
        precision: str = "float64",
    ):
        for what, function in (("residuals", residuals), ("test", test)):
            if function is not None and not callable(function):
                raise InputError(f"{what} must be a function of the parameters, not {type(function).__name__}")
        self.function, self.test, self.label = residuals, test, label
        if any(jnp.iscomplexobj(leaf) for leaf in jax.tree.leaves(init)):
            raise InputError("init has complex entries: write real and imaginary parts as two arrays")
        self.precision = check_choice("precision", precision, ("float64", "float32"))
        self.start = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=self.precision), init)
        if not jax.tree.leaves(self.start):
            raise InputError("init has no arrays: give the parameters training starts from")
        for path, leaf in jax.tree_util.tree_leaves_with_path(self.start):
            if not np.isfinite(np.asarray(leaf)).all():
                where = jax.tree_util.keystr(path) or "init"
                raise InputError(f"init has NaN or infinite entries at {where}: start from finite parameters")
        first = np.asarray(residuals(self.start))
        if first.ndim != 1 or first.size == 0:
            raise InputError(f"residuals(init) has shape {first.shape}: return a non-empty vector, e.g. with .ravel()")
        if not np.isfinite(first).all():
            raise InputError("residuals(init) has NaN or infinite entries: check the data and the initial parameters")
        if test is not None and np.asarray(test(self.start)).ndim != 0:
            raise InputError("test(init) must be one number: average over the test set")
        self.start_norm = jnp.linalg.norm(first)

    def init(self) -> Params:
        return self.start

    def identity(self) -> dict[str, Any]:
        return self.parameters()

    def parameters(self) -> dict[str, Any]:
        return {"residuals": self.function, "init": self.start, "test": self.test, "label": self.label} | (
            {} if self.precision == "float64" else {"precision": self.precision}
        )

    @property
    def has_test(self) -> bool:
        return self.test is not None

    def residuals(self, params: Params) -> jax.Array:
        return self.function(params)

    def train_error(self, params: Params) -> jax.Array:
        return jnp.linalg.norm(self.residuals(params)) / jnp.where(self.start_norm == 0, 1.0, self.start_norm)

    def test_error(self, params: Params) -> jax.Array:
        return jnp.asarray(jnp.nan if self.test is None else self.test(params), dtype=float)
