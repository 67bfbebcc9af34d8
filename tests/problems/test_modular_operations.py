"""The operations of modular arithmetic: every row by brute force, what they refuse, and results that are never seen."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from latebloom.errors import InputError, LatebloomWarning
from latebloom.problems import ModularTable
from latebloom.problems.data.modular import OPERATIONS


def divided(x: int, y: int, p: int) -> int:
    """The z with y z = x, by trying all."""
    return next(z for z in range(p) if y * z % p == x)


BY_HAND = {
    "addition": lambda x, y, p: (x + y) % p,
    "subtraction": lambda x, y, p: (x - y) % p,
    "multiplication": lambda x, y, p: x * y % p,
    "division": divided,
    "divide_or_subtract": lambda x, y, p: divided(x, y, p) if y % 2 else (x - y) % p,
    "squares": lambda x, y, p: (x**2 + y**2) % p,
    "quadratic": lambda x, y, p: (x**2 + x * y + y**2) % p,
    "quadratic_linear": lambda x, y, p: (x**2 + x * y + y**2 + x) % p,
    "cubic": lambda x, y, p: (x**3 + x * y) % p,
    "cubic_linear": lambda x, y, p: (x**3 + x * y**2 + y) % p,
}


def test_every_operation_is_tried_by_hand():
    assert BY_HAND.keys() == OPERATIONS.keys()


@pytest.mark.parametrize("modulus", [5, 7, 12, 13])
@pytest.mark.parametrize("name", OPERATIONS)
def test_tables_against_brute_force(name, modulus):
    operation = OPERATIONS[name]
    if operation.divides and modulus == 12:
        pytest.skip("division needs a prime modulus")
    table = ModularTable(modulus, name, train_share=0.9)
    expected = {
        (x, y): BY_HAND[name](x, y, modulus) for x in range(modulus) for y in range(modulus) if y or name != "division"
    }
    found = dict(zip(map(tuple, table.pairs.tolist()), table.results.tolist(), strict=True))
    assert found == expected
    assert sorted([*table.train, *table.test]) == list(range(len(expected)))
    symmetric = all(expected.get((y, x)) == z for (x, y), z in expected.items())
    assert symmetric == operation.commutative


@pytest.mark.parametrize("name", [name for name, operation in OPERATIONS.items() if operation.commutative])
def test_unordered_pairs(name):
    table = ModularTable(11, name, ordered=False, train_share=0.9)
    found = dict(zip(map(tuple, table.pairs.tolist()), table.results.tolist(), strict=True))
    assert found == {(x, y): BY_HAND[name](x, y, 11) for x in range(11) for y in range(x, 11)}


@pytest.mark.parametrize("name", ["division", "divide_or_subtract"])
def test_division_needs_a_prime(name):
    with pytest.raises(InputError, match=r"modulus=12 is not allowed.*prime modulus; use modulus=11 or 13"):
        ModularTable(12, name)


@pytest.mark.parametrize("name", [name for name, operation in OPERATIONS.items() if not operation.commutative])
def test_order_matters_or_not(name):
    with pytest.raises(InputError, match="depends on the order of the pair; use ordered=True"):
        ModularTable(7, name, ordered=False)


def test_results_that_are_never_seen():
    with pytest.warns(LatebloomWarning, match=r"leaves \d of 7 results without a training row \(\d") as caught:
        table = ModularTable(7, train_share=0.1)
    unseen = sorted(set(range(7)) - set(table.results[table.train].tolist()))
    assert f"leaves {len(unseen)} of 7" in str(caught[0].message)
    assert f"({', '.join(map(str, unseen))})" in str(caught[0].message)
    with pytest.warns(LatebloomWarning, match="…"):
        ModularTable(31, train_share=0.005)


def test_absent_results_are_not_missed(recwarn):
    """Modulo 7 no sum of two squares is missing, but modulo 8 three of the residues are: they are no classes."""
    table = ModularTable(8, "squares", train_share=0.9)
    assert set(table.results.tolist()) == {0, 1, 2, 4, 5}
    assert not recwarn.list


def test_old_splits_are_unchanged():
    """The numbers that geometry/fig4 was published with here: pairs, results and split, to the last row."""
    table = ModularTable(37, ordered=False, train_share=0.7, seed=0)
    digest = hashlib.sha256(np.concatenate([table.pairs.ravel(), table.results, table.train, table.test]).tobytes())
    assert digest.hexdigest()[:12] == "3363592bbef2"
