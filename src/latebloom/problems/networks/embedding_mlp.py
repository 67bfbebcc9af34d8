"""A network with one hidden layer on embeddings of two residues, which learns modular arithmetic."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import isqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core import fields
from latebloom.core.seeds import generator
from latebloom.errors import InputError
from latebloom.problems.classifier import AbstractRowClassifier
from latebloom.problems.data.modular import OPERATIONS, ModularTable

COMBINATIONS = ("hadamard", "sum", "concatenation", "matrix-product")
PRECISIONS = ("float32", "float64")
EMBEDDING, SECOND_EMBEDDING, HIDDEN, OUTPUT = "embedding", "second_embedding", "hidden", "output"
HIDDEN_BIAS, OUTPUT_BIAS = "hidden_bias", "output_bias"


class EmbeddingMLP(AbstractRowClassifier):
    """`z(a, b) = W2 max(W1 (E_a ∘ E_b) + b1, 0) + b2`, a score a residue, trained on `a + b` modulo `modulus`.

    The loss is the mean of the cross-entropy over the training pairs; `train_error` and `test_error` are shares of
    wrong answers, exactly 0 once there is none. Parameters are `embedding` (modulus, dimension), `second_embedding`
    (the same, if there are two), `hidden` (width, inputs), `hidden_bias`, `output` (modulus, width) and `output_bias`.
    A matrix of n rows starts as N(0, 1/n) times `init_scale`, biases at 0. Pairs are ordered: (a, b) and (b, a) are
    two rows, and with *one* embedding and a commutative combination the network cannot tell them apart, so that a test
    pair whose mirror is in the training set is known already; `unmirrored` says which test pairs are not.

    - `combination`: what `∘` is: "hadamard" (entry by entry), "sum", "concatenation", or "matrix-product" (an
      embedding of m² numbers is a matrix m x m, row by row).
    - `embeddings`: 1 for both places, or 2.
    - `precision`: "float32", that of the paper's runs, or "float64".
    - `seed` draws the split, `init_seed` the start (None for `seed`): runs can share the data.

    >>> problem = EmbeddingMLP(modulus=7, dimension=4, width=8, combination="matrix-product")
    >>> params = problem.init()
    >>> {name: part.shape for name, part in params.items() if part.ndim == 2}
    {'embedding': (7, 4), 'hidden': (8, 4), 'output': (7, 8)}
    >>> problem.rows, problem.scores(params, "test").shape, str(problem.loss(params).dtype)
    (20, (29, 7), 'float32')

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Section 2.1 and Appendix H.3.
    """

    modulus: int = fields.count(default=97, least=2, static=True, note="p")
    dimension: int = fields.count(default=64, static=True, kw_only=True, note="numbers in an embedding")
    width: int = fields.count(default=64, static=True, note="hidden units")
    _: KW_ONLY
    combination: str = fields.choice(COMBINATIONS, default="hadamard", static=True, note="∘, of two embeddings")
    embeddings: int = fields.count(default=1, most=2, static=True, note="1 for both places, or 2")
    biases: bool = fields.flag(default=True, static=True, note="whether both layers have one")
    operation: str = fields.choice(OPERATIONS, default="addition", static=True, note="what is learned")
    train_share: float = fields.number(default=0.4, above=0, below=1, note="the share of pairs to train on")
    init_scale: float = fields.number(default=1.0, least=0, note="what the start is multiplied by")
    precision: str = fields.choice(PRECISIONS, default="float32", static=True, note="of all arithmetic")
    seed: int = fields.seed(default=0, note="draws the split")
    init_seed: int | Any = fields.seed(default=None, follows="seed", note="draws the start; None for seed")
    pairs: jax.Array = fields.derived()
    test_pairs: jax.Array = fields.derived()
    train_labels: jax.Array = fields.derived()
    test_labels: jax.Array = fields.derived()
    unmirrored: jax.Array = fields.derived()
    start: dict[str, jax.Array] = fields.derived()

    def derive(self):
        _check_dimension(self.dimension, self.combination)
        table = ModularTable(self.modulus, self.operation, train_share=self.train_share, seed=self.seed)
        return {
            "pairs": table.pairs[table.train].astype(np.int32),
            "test_pairs": table.pairs[table.test].astype(np.int32),
            "train_labels": table.results[table.train].astype(np.int32),
            "test_labels": table.results[table.test].astype(np.int32),
            "unmirrored": without_mirror(table),
            "start": self._start(),
        }

    def _start(self) -> dict[str, np.ndarray]:
        inputs = self.dimension * (2 if self.combination == "concatenation" else 1)
        shapes: dict[str, tuple[int, ...]] = {EMBEDDING: (self.modulus, self.dimension)}
        if self.embeddings == 2:
            shapes[SECOND_EMBEDDING] = (self.modulus, self.dimension)
        shapes |= {HIDDEN: (self.width, inputs), OUTPUT: (self.modulus, self.width)}
        start = {
            name: generator(self.init_seed, name).normal(size=shape) * self.init_scale / np.sqrt(shape[0])
            for name, shape in shapes.items()
        }
        if self.biases:
            start |= {HIDDEN_BIAS: np.zeros(self.width), OUTPUT_BIAS: np.zeros(self.modulus)}
        return {name: np.asarray(values, self.precision) for name, values in start.items()}

    def init(self) -> dict[str, jax.Array]:
        return self.start

    @property
    def weights(self) -> tuple[str, ...]:
        """The names of the parts that are matrices: what a penalty on the weights, but not the biases, is put on."""
        return tuple(name for name, part in self.start.items() if part.ndim == 2)

    def forward(self, params: Any, inputs: jax.Array) -> jax.Array:
        # A gather: a product with one-hot rows would cost modulus times as much.
        first = params[EMBEDDING][inputs[:, 0]]
        second = params[SECOND_EMBEDDING if self.embeddings == 2 else EMBEDDING][inputs[:, 1]]
        before = combine(first, second, self.combination) @ params[HIDDEN].T
        hidden = jax.nn.relu(before + params[HIDDEN_BIAS] if self.biases else before)
        scores = hidden @ params[OUTPUT].T
        return scores + params[OUTPUT_BIAS] if self.biases else scores

    def inputs(self, part: str) -> jax.Array:
        return self.pairs if part == "train" else self.test_pairs

    def labels(self, part: str) -> jax.Array:
        return self.train_labels if part == "train" else self.test_labels

    @property
    def degree(self) -> int | None:
        """4 for a product of embeddings, 3 for a sum or a concatenation; with biases there is none."""
        if self.biases:
            return None
        return 4 if self.combination in ("hadamard", "matrix-product") else 3


def combine(first: jax.Array, second: jax.Array, combination: str) -> jax.Array:
    """What the hidden layer sees of two embeddings, a row a pair.

    >>> rows = jnp.array([[1.0, 2.0, 3.0, 4.0]])
    >>> combine(rows, rows, "matrix-product").tolist()
    [[7.0, 10.0, 15.0, 22.0]]
    """
    if combination == "hadamard":
        return first * second
    if combination == "sum":
        return first + second
    if combination == "concatenation":
        return jnp.concatenate([first, second], axis=1)
    size = isqrt(first.shape[1])
    left, right = first.reshape(-1, size, size), second.reshape(-1, size, size)
    # Sums of size outer products, written out: a batch of small matrix products is several times slower.
    product = sum(left[:, :, k, None] * right[:, k, None, :] for k in range(size))
    return jnp.asarray(product).reshape(first.shape)


def without_mirror(table: ModularTable) -> np.ndarray:
    """Which test pairs (a, b) have their mirror (b, a) outside of the training set, too.

    >>> table = ModularTable(3, train_share=0.5, seed=3)
    >>> table.pairs[table.test].tolist(), without_mirror(table).tolist()
    ([[2, 2], [1, 2], [0, 2], [0, 0], [1, 0]], [True, False, False, True, False])
    """
    code = lambda pairs: pairs @ np.array([table.modulus, 1])  # noqa: E731
    return ~np.isin(code(table.pairs[table.test][:, ::-1]), code(table.pairs[table.train]))


def _check_dimension(dimension: int, combination: str) -> None:
    if combination == "matrix-product" and isqrt(dimension) ** 2 != dimension:
        side = max(round(dimension**0.5), 1)
        raise InputError(
            f"dimension={dimension} is not allowed with the matrix product: it must be a square, e.g. {side**2} "
            f"for matrices {side}x{side}"
        )
