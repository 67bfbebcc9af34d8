"""A two-layer ReLU network on sums of one-hot vectors that learns modular addition by least squares."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.record import DERIVED
from latebloom.core.seeds import check_seed, generator
from latebloom.core.threads import one_core
from latebloom.errors import check_choice, check_count, check_number
from latebloom.problems.classifier import AbstractLabelled
from latebloom.problems.data.modular import ModularTable
from latebloom.problems.last_layer import FIRST, SECOND, AbstractLinearInSecond

STARTS = ("interpolating", "zero")


class ModularNet(AbstractLinearInSecond, AbstractLabelled):
    """`f(a, b) = max(E_a + E_b, 0) W`, fitted to the unit vector of `a + b` modulo `modulus` on unordered pairs.

    `F = (weight / 2) |max(X E, 0) W - Y|²` with rows `X_i = e_a + e_b` and `Y_i = e_c`. Parameters are `first`, the
    embedding E (modulus, width), and `second`, the weights W (width, modulus). `train_error` is the relative residual
    `|H W - Y| / |Y|`, `test_error` the share of test pairs whose largest output is not at `a + b`: exactly 0 once all
    are right. The derivative of ReLU at 0 is taken as 0.

    - `train_share`: of the `modulus (modulus + 1) / 2` pairs, rounded to a whole pair.
    - `init_std`: the standard deviation of the entries of E at the start; None for `modulus^-1/2`.
    - `second`: how W starts: "interpolating" is the least-squares fit of least norm to the training pairs, "zero" is 0.
    - `weight`: of the squares in the loss, over 2: the paper's sum of squares is 2.
    - `seed` draws the split, `init_seed` the start (None for `seed`): runs can share the data.

    >>> problem = ModularNet(modulus=7, width=24)
    >>> params = problem.init()
    >>> params["first"].shape, float(problem.train_error(params)) < 1e-12, int(problem.correct(params, "train"))
    ((7, 24), True, 20)

    Source: "The Geometry of Grokking", Sections 7.1 to 7.4, Equation 13.
    """

    modulus: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    train_share: float
    init_std: float
    second: str = eqx.field(static=True)
    weight: float
    seed: int
    init_seed: int
    pairs: tuple[jax.Array, jax.Array] = eqx.field(metadata=DERIVED)
    inputs: jax.Array = eqx.field(metadata=DERIVED)
    targets: jax.Array = eqx.field(metadata=DERIVED)
    test_inputs: jax.Array = eqx.field(metadata=DERIVED)
    train_labels: jax.Array = eqx.field(metadata=DERIVED)
    test_labels: jax.Array = eqx.field(metadata=DERIVED)
    start: dict[str, jax.Array] = eqx.field(metadata=DERIVED)

    def __init__(
        self,
        modulus: int = 37,
        width: int = 512,
        *,
        train_share: float = 0.7,
        init_std: float | None = None,
        second: str = "interpolating",
        weight: float = 2.0,
        seed: int = 0,
        init_seed: int | None = None,
    ):
        self.modulus = check_count("modulus", modulus, least=2)
        self.width = check_count("width", width)
        self.init_std = self.modulus**-0.5 if init_std is None else check_number("init_std", init_std, least=0)
        self.second = check_choice("start of the second layer", second, STARTS)
        self.weight = check_number("weight", weight, above=0)
        self.seed = check_seed(seed)
        self.init_seed = self.seed if init_seed is None else check_seed(init_seed)
        table = ModularTable(self.modulus, ordered=False, train_share=train_share, seed=self.seed)
        self.train_share = float(train_share)
        counts, results = table.counts(), table.results
        columns = table.pairs[table.train].astype(np.int32).T
        self.pairs = (jnp.asarray(columns[0][:, None]), jnp.asarray(columns[1][:, None]))
        self.inputs, self.test_inputs = jnp.asarray(counts[table.train]), jnp.asarray(counts[table.test])
        self.train_labels, self.test_labels = jnp.asarray(results[table.train]), jnp.asarray(results[table.test])
        self.targets = jnp.asarray(table.targets()[table.train])
        draw = generator(self.init_seed, "init").normal(size=(self.modulus, self.width))
        first = self.init_std * draw
        self.start = {FIRST: jnp.asarray(first), SECOND: jnp.asarray(self._second(first))}

    def _second(self, first: np.ndarray) -> np.ndarray:
        if self.second == "zero":
            return np.zeros((self.width, self.modulus))
        hidden = np.maximum(np.asarray(self.inputs) @ first, 0.0)
        with one_core():
            return np.linalg.lstsq(hidden, np.asarray(self.targets), rcond=None)[0]

    def init(self) -> dict[str, jax.Array]:
        return self.start

    def features(self, first: Any) -> jax.Array:
        # `X E` to the last bit, but two rows of E are looked up where a product goes through all of them.
        return jax.nn.relu(_rows(first, self.pairs[0]) + _rows(first, self.pairs[1]))

    def gradient(self, params: Any) -> dict[str, jax.Array]:
        before = self.inputs @ params[FIRST]
        hidden = jax.nn.relu(before)
        gap = self.weight * (hidden @ params[SECOND] - self.targets)
        back = jnp.where(before > 0, gap @ params[SECOND].T, 0.0)
        return {FIRST: self.inputs.T @ back, SECOND: hidden.T @ gap}

    def scores(self, params: Any, part: str) -> jax.Array:
        inputs = self.inputs if part == "train" else self.test_inputs
        return jax.nn.relu(inputs @ params[FIRST]) @ params[SECOND]

    def labels(self, part: str) -> jax.Array:
        return self.train_labels if part == "train" else self.test_labels

    def test_error(self, params: Any) -> jax.Array:
        return self.wrong(params, "test")

    @property
    def degree(self) -> int:
        return 2


def _rows(table: jax.Array, index: jax.Array) -> jax.Array:
    """The rows of a table at `index` (rows, 1), which is used as it is.

    `table[index]` would first prepare the index, which a compiler takes out of loops copy by copy: see `gram.py`.
    """
    numbers = jax.lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    sizes = (1, table.shape[1])
    return jax.lax.gather(table, index, numbers, sizes, mode=jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS)
