"""A two-layer ReLU network on sums of one-hot vectors that learns modular addition by least squares."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.seeds import generator
from latebloom.core.threads import one_core
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

    modulus: int = fields.count(default=37, least=2, static=True, note="p")
    width: int = fields.count(default=512, static=True, note="hidden units")
    _: KW_ONLY
    train_share: float = fields.number(default=0.7, above=0, below=1, note="the share of pairs to train on")
    init_std: float | Any = fields.number(
        default=None, least=0, note="σ, of the entries of E at the start; None for p^-½"
    )
    second: str = fields.choice(
        STARTS, default="interpolating", static=True, what="start of the second layer", note="how W starts"
    )
    weight: float = fields.number(default=2.0, above=0, note="of the squares in the loss, over 2")
    seed: int = fields.seed(default=0, note="draws the split")
    init_seed: int | Any = fields.seed(default=None, follows="seed", note="draws the start; None for seed")
    pairs: tuple[jax.Array, jax.Array] = fields.derived()
    inputs: jax.Array = fields.derived()
    targets: jax.Array = fields.derived()
    test_inputs: jax.Array = fields.derived()
    train_labels: jax.Array = fields.derived()
    test_labels: jax.Array = fields.derived()
    start: dict[str, jax.Array] = fields.derived()

    def derive(self):
        table = ModularTable(self.modulus, ordered=False, train_share=self.train_share, seed=self.seed)
        counts, results = table.counts(), table.results
        columns = table.pairs[table.train].astype(np.int32).T
        inputs, targets = counts[table.train], table.targets()[table.train]
        init_std = self.modulus**-0.5 if self.init_std is None else self.init_std
        first = init_std * generator(self.init_seed, "init").normal(size=(self.modulus, self.width))
        return {
            "init_std": init_std,
            "pairs": (columns[0][:, None], columns[1][:, None]),
            "inputs": inputs,
            "targets": targets,
            "test_inputs": counts[table.test],
            "train_labels": results[table.train],
            "test_labels": results[table.test],
            "start": {FIRST: first, SECOND: self._second(first, inputs, targets)},
        }

    def _second(self, first: np.ndarray, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        if self.second == "zero":
            return np.zeros((self.width, self.modulus))
        hidden = np.maximum(inputs @ first, 0.0)
        with one_core():
            return np.linalg.lstsq(hidden, targets, rcond=None)[0]

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
