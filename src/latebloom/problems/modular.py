"""Modular arithmetic as data: all pairs of residues, their results, and a split into train and test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from latebloom.errors import InputError, check_choice, check_count, check_number
from latebloom.seeds import check_seed, generator

# Each takes the columns of the pairs and the modulus. Only commutative ones make sense for unordered pairs.
OPERATIONS: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    "addition": lambda a, b, modulus: (a + b) % modulus
}


@dataclass(frozen=True)
class ModularTable:
    """The table of an operation modulo `modulus`, a row a pair: `pairs` (rows, 2), `results` (rows,), and a split.

    `train` and `test` are the rows of each part, in the order of the draw.

    - `ordered`: whether (a, b) and (b, a) are two rows (`modulus²` of them) or one (`modulus (modulus + 1) / 2`).
    - `train_share`: the share of the rows to train on, rounded to a whole row.

    >>> table = ModularTable(5, ordered=False, train_share=0.6, seed=0)
    >>> len(table.pairs), len(table.train), len(table.test)
    (15, 9, 6)
    >>> table.pairs[6].tolist(), int(table.results[6]), table.counts()[6].tolist()
    ([1, 2], 3, [0.0, 1.0, 1.0, 0.0, 0.0])

    Source: "The Geometry of Grokking", Section 7.1.
    """

    modulus: int
    operation: str = "addition"
    ordered: bool = True
    train_share: float = 0.7
    seed: int = 0
    pairs: np.ndarray = field(init=False, repr=False, compare=False)
    results: np.ndarray = field(init=False, repr=False, compare=False)
    train: np.ndarray = field(init=False, repr=False, compare=False)
    test: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        object.__setattr__(self, "modulus", check_count("modulus", self.modulus, least=2))
        check_choice("operation", self.operation, OPERATIONS)
        check_number("train_share", self.train_share, above=0, below=1)
        object.__setattr__(self, "seed", check_seed(self.seed))
        first, second = np.divmod(np.arange(self.modulus**2), self.modulus)
        kept = slice(None) if self.ordered else first <= second
        pairs = np.column_stack([first, second])[kept]
        count = round(self.train_share * len(pairs))
        if not 0 < count < len(pairs):
            raise InputError(
                f"train_share={self.train_share:g} of {len(pairs)} pairs is {count} rows: leave at least one row to "
                "train on and one to test on"
            )
        order = generator(self.seed, "split").permutation(len(pairs))
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "results", OPERATIONS[self.operation](pairs[:, 0], pairs[:, 1], self.modulus))
        object.__setattr__(self, "train", order[:count])
        object.__setattr__(self, "test", order[count:])

    def counts(self) -> np.ndarray:
        """A row a pair: `e_a + e_b`, which says how often each residue occurs and forgets the order."""
        return np.eye(self.modulus)[self.pairs].sum(axis=1)

    def targets(self) -> np.ndarray:
        """A row a pair: the unit vector of its result."""
        return np.eye(self.modulus)[self.results]
