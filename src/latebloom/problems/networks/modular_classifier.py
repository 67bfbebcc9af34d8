"""A two-layer ReLU network on pairs of one-hot vectors that learns modular arithmetic by cross-entropy."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.arrays import to_jax
from latebloom.core.seeds import generator
from latebloom.errors import InputError, LatebloomWarning
from latebloom.problems.classifier import PARTS, AbstractRowClassifier
from latebloom.problems.data.modular import OPERATIONS, ModularTable
from latebloom.problems.last_layer import FIRST, SECOND

BIAS = "bias"
SECONDS = ("he", "zero")
PRECISIONS = ("float64", "float32")
ROOM = 1e-6  # of the largest float for the squared norm of the start: products with it must be finite as well


class ModularClassifier(AbstractRowClassifier):
    """`f(a, b) = max(U_a + V_b + c, 0) W`, scores of the results of an operation modulo `modulus`; mean cross-entropy.

    The paper's `W_2 ReLU(W_1 x + b_1)` on the concatenation x of two one-hot vectors, with a first bias and no second,
    so that it is homogeneous of degree 2. Parameters: `first` (2 modulus, width), U above V; `bias` (width,) c; and
    `second` (width, modulus) W. The loss is `F = Σ_i log Σ_j e^{f_j - f_y} / n`. Errors are shares of wrong rows,
    exactly 0 once the largest score of every row is at its label. The derivative of ReLU at 0 is taken as 0.

    - `operation`, `ordered`, `train_share`, `seed`: the table and its split, see `ModularTable`.
    - `init_scale`: α, which multiplies the whole start of He et al.: U and V of variance 1/modulus (2 over 2 modulus
      inputs), W of variance 2/width, c zero.
    - `second`: how W starts, "he" as above, or "zero", so that the outputs start at 0 for any α.
    - `precision`: "float32" halves the time of a gradient, and is enough for a flow with tolerances above 1e-3.
    - `init_seed` draws the start (None for `seed`): runs can share the data.

    >>> problem = ModularClassifier(modulus=7, width=24, train_share=0.6)
    >>> params = problem.init()
    >>> {name: leaf.shape for name, leaf in params.items()}
    {'first': (14, 24), 'bias': (24,), 'second': (24, 7)}
    >>> zero = ModularClassifier(modulus=7, width=24, train_share=0.6, second="zero")
    >>> round(float(jnp.exp(zero.loss(zero.init()))), 12)  # all seven answers are as likely
    7.0

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Section 2, Equation 1.
    """

    modulus: int = fields.count(default=97, least=2, static=True, note="p")
    width: int = fields.count(default=1024, static=True, note="hidden units")
    _: KW_ONLY
    operation: str = fields.choice(OPERATIONS, default="addition", static=True, note="what is learned")
    ordered: bool = fields.flag(default=True, static=True, note="whether (a, b) and (b, a) are two rows")
    train_share: float = fields.number(default=0.4, above=0, below=1, note="the share of pairs to train on")
    init_scale: float = fields.number(default=1.0, above=0, note="α, what the start is multiplied by")
    second: str = fields.choice(
        SECONDS, default="he", static=True, what="start of the second layer", note="how W starts"
    )
    precision: str = fields.choice(PRECISIONS, default="float64", static=True, note="of all arithmetic")
    seed: int = fields.seed(default=0, note="draws the split")
    init_seed: int | Any = fields.seed(default=None, follows="seed", note="draws the start; None for seed")
    operands: dict[str, jax.Array] = fields.derived()
    results: dict[str, jax.Array] = fields.derived()
    start: dict[str, jax.Array] = fields.derived()

    def derive(self):
        table = ModularTable(
            self.modulus, self.operation, ordered=self.ordered, train_share=self.train_share, seed=self.seed
        )
        warn_unseen(table)
        # In the order of the table: rows with the same a are neighbours, and gathering them is quicker.
        rows = {"train": np.sort(table.train), "test": np.sort(table.test)}
        return {
            "operands": {part: table.pairs[rows[part]].astype(np.int32) for part in PARTS},
            "results": {part: table.results[rows[part]].astype(np.int32) for part in PARTS},
            "start": self._start(),
        }

    def _start(self) -> dict[str, jax.Array]:
        random = generator(self.init_seed, "init")
        first = random.normal(size=(2 * self.modulus, self.width)) / np.sqrt(self.modulus)
        second = random.normal(size=(self.width, self.modulus)) * np.sqrt(2 / self.width)
        if self.second == "zero":
            second = np.zeros_like(second)
        norm = float(np.hypot(np.linalg.norm(first), np.linalg.norm(second)))
        limits = np.finfo(self.precision)
        least, most = np.sqrt(float(limits.tiny) / ROOM) / norm, np.sqrt(float(limits.max) * ROOM) / norm
        if not least <= self.init_scale <= most:
            other = "" if self.precision == "float64" else ', or precision="float64"'
            raise InputError(
                f"init_scale={self.init_scale:g} is not allowed: the squared norm of the start would be no "
                f"{self.precision}; use one between {least:.0e} and {most:.0e}{other}"
            )
        parts = {FIRST: first, BIAS: np.zeros(self.width), SECOND: second}
        return {name: to_jax(np.asarray(self.init_scale * leaf, self.precision)) for name, leaf in parts.items()}

    def init(self) -> dict[str, jax.Array]:
        return self.start

    def hidden(self, params: Any, pairs: jax.Array) -> jax.Array:
        """`max(U_a + V_b + c, 0)`, a row a pair: rows are gathered, one-hot vectors never made."""
        return jax.nn.relu(params[FIRST][pairs[:, 0]] + params[FIRST][self.modulus + pairs[:, 1]] + params[BIAS])

    def forward(self, params: Any, inputs: jax.Array) -> jax.Array:
        return self.hidden(params, inputs) @ params[SECOND]

    def inputs(self, part: str) -> jax.Array:
        return self.operands[part]

    def labels(self, part: str) -> jax.Array:
        return self.results[part]

    def outputs(self, params: Any) -> jax.Array:
        return self.scores(params, "train").ravel()

    def margins(self, params: Any) -> jax.Array:
        """`f_y - max_{j≠y} f_j` on the training pairs: a pair is right if it is positive."""
        scores, labels = self.scores(params, "train"), self.results["train"][:, None]
        others = jnp.where(jnp.arange(self.modulus) == labels, -jnp.inf, scores)
        return jnp.take_along_axis(scores, labels, axis=1)[:, 0] - jnp.max(others, axis=1)

    def log_loss(self, params: Any) -> jax.Array:
        """The logarithm of the loss, also where the loss is below every float."""
        return self.per_sample.log_loss(self.scores(params, "train"), self.results["train"])

    @property
    def has_log_loss(self) -> bool:
        return True

    def gradient_at(self, params: Any, inputs: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
        hidden = self.hidden(params, inputs)
        slopes = self.slopes(hidden @ params[SECOND], labels)
        back = jnp.where(hidden > 0, slopes @ params[SECOND].T, 0)
        # Two sums, not one after the other into one array: that took 6 % longer a gradient.
        none = jnp.zeros((self.modulus, self.width), back.dtype)
        left, right = none.at[inputs[:, 0]].add(back), none.at[inputs[:, 1]].add(back)
        # As `hidden.T @ slopes` this product takes twice the time: both operands would be read against their order, and
        # without the barrier the compiler makes that of it.
        second = jax.lax.optimization_barrier(slopes.T @ hidden).T
        # Every pair has one first operand, so that the sum over those is the sum over pairs.
        return {FIRST: jnp.concatenate([left, right]), BIAS: jnp.sum(left, axis=0), SECOND: second}

    @property
    def has_outputs(self) -> bool:
        return True

    @property
    def degree(self) -> int:
        return 2


def warn_unseen(table: ModularTable) -> None:
    """Names the operands of the test pairs that no training pair has, as `ModularTable` does the results."""
    columns: dict[str, np.ndarray] = {}
    if table.ordered:  # where (a, b) and (b, a) are one row, the last residue is a first operand only once
        columns |= {"first operand": table.pairs[:, 0], "second operand": table.pairs[:, 1]}
    missing = []
    for what, values in columns.items():
        unseen = np.setdiff1d(values, values[table.train])
        if len(unseen):
            missing.append(f"{what} {', '.join(map(str, unseen[:5]))}{', …' * (len(unseen) > 5)}")
    if missing:
        warnings.warn(
            f"no training pair has {' or '.join(missing)}: test pairs that have cannot be learnt; raise train_share "
            "or use another seed",
            LatebloomWarning,
            stacklevel=6,
        )
