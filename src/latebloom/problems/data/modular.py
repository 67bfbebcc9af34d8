"""Modular arithmetic as data: all pairs of residues, their results, and a split into train and test."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from latebloom.core import fields
from latebloom.core.seeds import generator
from latebloom.errors import InputError, LatebloomWarning

Columns = Callable[[np.ndarray, np.ndarray, int], np.ndarray]  # of the columns of the pairs and the modulus
SHOWN = 10  # classes that a warning names one by one


@dataclass(frozen=True)
class Operation:
    """`formula`, read modulo p, and what it asks for.

    - `compute`: results from the columns a and b of the pairs and the modulus.
    - `commutative`: whether (a, b) and (b, a) have one result, so that unordered pairs make sense.
    - `divides`: whether it divides by b, so that the modulus must be prime; `skips_zero`: whether b = 0 has no row.
    """

    formula: str
    compute: Columns
    commutative: bool = False
    divides: bool = False
    skips_zero: bool = False


def _quotient(a: np.ndarray, b: np.ndarray, modulus: int) -> np.ndarray:
    """`a b⁻¹`, with 0 where b is 0."""
    inverses = np.array([0] + [pow(value, -1, modulus) for value in range(1, modulus)])
    return a * inverses[b] % modulus


# Power et al. (2022), "Grokking: generalization beyond overfitting on small algorithmic datasets", Appendix A.1.1,
# without the permutation group, and the product.
OPERATIONS: dict[str, Operation] = {
    "addition": Operation("x + y", lambda a, b, p: (a + b) % p, commutative=True),
    "subtraction": Operation("x - y", lambda a, b, p: (a - b) % p),
    "multiplication": Operation("x y", lambda a, b, p: a * b % p, commutative=True),
    "division": Operation("x / y", _quotient, divides=True, skips_zero=True),
    "divide_or_subtract": Operation(
        "x / y if y is odd, else x - y",
        lambda a, b, p: np.where(b % 2 == 1, _quotient(a, b, p), (a - b) % p),
        divides=True,
    ),
    "squares": Operation("x² + y²", lambda a, b, p: (a * a + b * b) % p, commutative=True),
    "quadratic": Operation("x² + x y + y²", lambda a, b, p: (a * a + a * b + b * b) % p, commutative=True),
    "quadratic_linear": Operation("x² + x y + y² + x", lambda a, b, p: (a * a + a * b + b * b + a) % p),
    "cubic": Operation("x³ + x y", lambda a, b, p: (a**3 + a * b) % p),
    "cubic_linear": Operation("x³ + x y² + y", lambda a, b, p: (a**3 + a * b * b + b) % p),
}


@dataclass(frozen=True)
class ModularTable:
    """The table of an operation modulo `modulus`, a row a pair: `pairs` (rows, 2), `results` (rows,), and a split.

    `train` and `test` are the rows of each part, in the order of the draw.

    - `operation`: a name in `OPERATIONS`, e.g. "addition", "division" (prime moduli, no rows with b = 0), "cubic".
    - `ordered`: whether (a, b) and (b, a) are two rows (`modulus²` of them) or one (`modulus (modulus + 1) / 2`).
    - `train_share`: the share of the rows to train on, rounded to a whole row.

    >>> table = ModularTable(5, ordered=False, train_share=0.6, seed=0)
    >>> len(table.pairs), len(table.train), len(table.test)
    (15, 9, 6)
    >>> table.pairs[6].tolist(), int(table.results[6]), table.counts()[6].tolist()
    ([1, 2], 3, [0.0, 1.0, 1.0, 0.0, 0.0])

    A result of the table that no training row has is a `LatebloomWarning`: no model can learn it from the data.

    Source: "The Geometry of Grokking", Section 7.1; the other operations are those of Power et al. (2022).
    """

    modulus: int = fields.count(least=2, note="p")
    operation: str = fields.choice(OPERATIONS, default="addition", note="what the results are of")
    ordered: bool = fields.flag(default=True, note="whether (a, b) and (b, a) are two rows")
    train_share: float = fields.number(default=0.7, above=0, below=1, note="the share of rows to train on")
    seed: int = fields.seed(default=0, note="draws the split")
    pairs: np.ndarray = field(init=False, repr=False, compare=False)
    results: np.ndarray = field(init=False, repr=False, compare=False)
    train: np.ndarray = field(init=False, repr=False, compare=False)
    test: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        fields.check_all(self)
        operation = _check_operation(self.operation, self.modulus, self.ordered)
        first, second = np.divmod(np.arange(self.modulus**2), self.modulus)
        kept = np.ones(len(first), bool) if self.ordered else first <= second
        kept &= (second != 0) | (not operation.skips_zero)
        pairs = np.column_stack([first, second])[kept]
        count = round(self.train_share * len(pairs))
        if not 0 < count < len(pairs):
            raise InputError(
                f"train_share={self.train_share:g} of {len(pairs)} pairs is {count} rows: leave at least one row to "
                "train on and one to test on"
            )
        order = generator(self.seed, "split").permutation(len(pairs))
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "results", operation.compute(pairs[:, 0], pairs[:, 1], self.modulus))
        object.__setattr__(self, "train", order[:count])
        object.__setattr__(self, "test", order[count:])
        _warn_unseen(self)

    def counts(self) -> np.ndarray:
        """A row a pair: `e_a + e_b`, which says how often each residue occurs and forgets the order."""
        return np.eye(self.modulus)[self.pairs].sum(axis=1)

    def targets(self) -> np.ndarray:
        """A row a pair: the unit vector of its result."""
        return np.eye(self.modulus)[self.results]


def _check_operation(name: str, modulus: int, ordered: bool) -> Operation:
    """The operation, if it can be had with this modulus and these pairs."""
    operation = OPERATIONS[name]
    if operation.divides and not _prime(modulus):
        below = next((m for m in range(modulus, 1, -1) if _prime(m)), 2)
        above = next(m for m in range(modulus, 2 * modulus + 1) if _prime(m))
        raise InputError(
            f"operation={name!r} with modulus={modulus} is not allowed: {operation.formula} needs an inverse of every "
            f"y, so a prime modulus; use modulus={below} or {above}"
        )
    if not ordered and not operation.commutative:
        raise InputError(
            f"ordered=False with operation={name!r} is not allowed: {operation.formula} depends on the order of the "
            "pair; use ordered=True"
        )
    return operation


def _prime(number: int) -> bool:
    return number > 1 and all(number % d for d in range(2, int(number**0.5) + 1))


def _warn_unseen(table: ModularTable) -> None:
    unseen = np.setdiff1d(table.results, table.results[table.train])
    if not len(unseen):
        return
    shown = ", ".join(str(int(value)) for value in unseen[:SHOWN]) + (", …" if len(unseen) > SHOWN else "")
    every = len(np.unique(table.results))
    warnings.warn(
        f"train_share={table.train_share:g} leaves {len(unseen)} of {every} results without a training row ({shown}): "
        "they cannot be learned; use a larger train_share or another seed",
        LatebloomWarning,
        stacklevel=4,
    )
