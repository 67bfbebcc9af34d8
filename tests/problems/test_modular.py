"""Modular arithmetic: every operation by brute force, splits, results that are never seen, and the network on it."""

from __future__ import annotations

import hashlib

import jax
import numpy as np
import pytest

from latebloom.errors import LatebloomWarning
from latebloom.problems import ModularNet, ModularTable
from latebloom.problems.data.modular import OPERATIONS


def test_the_paper_has_703_pairs_and_492_rows():
    """Published numbers: p = 37, k = p(p+1)/2, f_s = 0.7."""
    table = ModularTable(37, ordered=False, train_share=0.7)
    assert (len(table.pairs), len(table.train), len(table.test)) == (703, 492, 211)
    assert sorted([*table.train, *table.test]) == list(range(703))


@pytest.mark.parametrize("ordered", [True, False])
def test_tables_are_complete_and_right(ordered):
    table = ModularTable(7, ordered=ordered, seed=3)
    seen = {tuple(pair) for pair in table.pairs.tolist()}
    assert seen == {(a, b) for a in range(7) for b in range(7) if ordered or a <= b}
    assert all((a + b) % 7 == c for (a, b), c in zip(table.pairs.tolist(), table.results.tolist(), strict=True))
    assert (table.counts().sum(axis=1) == 2).all()
    assert table.counts()[table.pairs.tolist().index([3, 3])].tolist() == [0, 0, 0, 2, 0, 0, 0]
    assert (table.targets().argmax(axis=1) == table.results).all()


def test_seeds_are_split_by_purpose():
    one, other = ModularNet(7, 24, seed=1), ModularNet(7, 24, seed=1, init_seed=2)
    assert (one.inputs == other.inputs).all()
    assert not np.allclose(one.init()["first"], other.init()["first"])
    assert not np.array_equal(ModularNet(7, 24, seed=3).inputs, one.inputs)
    assert np.std(ModularNet(37, 512).init()["first"]) == pytest.approx(37**-0.5, rel=0.02)


def test_the_network_pair_by_pair():
    """Rung 2: plain sums over pairs."""
    problem = ModularNet(7, 12, seed=1)
    params = jax.tree.map(lambda leaf: leaf + 0.05, problem.init())
    table = ModularTable(7, ordered=False, train_share=0.7, seed=1)
    first, second = (np.asarray(params[name]) for name in ("first", "second"))
    outputs = [np.maximum(first[a] + first[b], 0) @ second for a, b in table.pairs]
    losses = [np.sum((outputs[row] - np.eye(7)[table.results[row]]) ** 2) for row in table.train]
    assert float(problem.loss(params)) == pytest.approx(sum(losses), rel=1e-12)
    right = [int(np.argmax(outputs[row]) == table.results[row]) for row in table.test]
    assert int(problem.correct(params, "test")) == sum(right)
    assert float(problem.test_error(params)) == (len(right) - sum(right)) / len(right)


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
