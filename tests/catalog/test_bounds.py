"""Bounds as data: what they judge, what they say, and what they refuse."""

from __future__ import annotations

import json
import math

import pytest

from latebloom.catalog.bounds import Condition, above, at_least, at_most, below, each, holds, near, within

CASES = [
    (within(40, 90), [40, 59, 90], [39.9, 90.1], "between 40 and 90"),
    (near(-1, by=0.02), [-1.02, -1, -0.98], [-1.03, 0], "between -1.02 and -0.98"),
    (at_most(1e-3), [1e-3, -5], [1.1e-3], "at most 0.001"),
    (at_least(300), [300, 1e9, math.inf], [299], "at least 300"),
    (below(1), [0.99], [1, 1.01], "below 1"),
    (above(0), [1e-300], [0, -1], "above 0"),
    (within(0, 0), [0], [1e-300], "equal to 0"),
    (
        each(at_least(0.99)),
        [[1.0, 0.99], {"l1": 1.0}],
        [[1.0, 0.98], {"l1": 1.0, "l2": None}, [], {}],
        "each at least 0.99",
    ),
]


@pytest.mark.parametrize(("bound", "inside", "outside", "words"), CASES, ids=[case[3] for case in CASES])
def test_a_bound_judges_and_says_what_it_judges(bound, inside, outside, words):
    assert all(bound.judge(value) for value in inside)
    assert not any(bound.judge(value) for value in outside)
    assert str(bound) == words
    told = bound.to_json()
    assert json.loads(json.dumps(told, allow_nan=False)) == told


@pytest.mark.parametrize("bound", [case[0] for case in CASES], ids=[case[3] for case in CASES])
def test_what_was_not_measured_never_holds(bound):
    assert not bound.judge(None)
    assert not bound.judge([math.nan] if bound.to_json()["kind"] == "each" else math.nan)


def test_a_condition_says_its_numbers():
    bound = holds("|G| falls below {level:g} within {most:.0%}", level=1.0, most=0.05)
    assert str(bound) == "|G| falls below 1 within 5%"
    assert bound.to_json() == {"kind": "condition", "sentence": str(bound), "numbers": {"level": 1.0, "most": 0.05}}


@pytest.mark.parametrize(
    ("sentence", "numbers", "error"),
    [
        ("at most one", {"most": 1}, TypeError),
        ("at most {more:g}", {"most": 1}, TypeError),
        ("{most:q}", {"most": 1}, ValueError),
    ],
)
def test_a_slip_in_a_condition_is_found_when_it_is_written(sentence, numbers, error):
    with pytest.raises(error, match=r"say|Unknown format"):
        holds(sentence, **numbers)


def test_a_condition_without_its_verdict_is_a_slip():
    with pytest.raises(TypeError, match="returns"):
        Condition("something", {}).judge(1.0)
