"""What a run must do to count as across: parsed, never evaluated, and false of what did not happen."""

from __future__ import annotations

import math

import pytest

from latebloom.errors import InputError
from latebloom.sweeps.boundaries.condition import Condition

ROW = {"t1": 3.0, "t2": 40.0, "outcome": "stopped", "final_test_error": 2e-4, "strength": 1e-5, "problem": "toy"}
NEVER = ROW | {"t2": math.nan, "outcome": "budget spent"}


@pytest.mark.parametrize(
    ("text", "of_row", "of_never"),
    [
        ("t2 is reached", True, False),
        ("t2 is not reached", False, True),
        ("outcome is generalised", True, False),
        ("outcome is not generalised", False, True),
        ("outcome is stopped", True, False),
        ("outcome is not 'stopped'", False, True),
        ("final_test_error < 1e-3", True, True),
        ("final_test_error >= 2e-4", True, True),
        ("t2 < 100 * t1", True, False),
        ("t2 > 100 * t1", False, False),
        ("0.2 <= t2 * strength * 1e3", True, False),
        ("t2 is reached and final_test_error < 1e-4", False, False),
    ],
)
def test_what_is_asked_is_answered(text, of_row, of_never):
    condition = Condition(text)
    assert (condition(ROW), condition(NEVER)) == (of_row, of_never)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no condition"),
        ("t2", "is no condition"),
        ("t2 == 3", "is no condition"),
        ("1 < t2 < 3", "is no condition"),
        ("t2 or t1", "is no condition"),
        ("t3 is reached", "is not asked so"),
        ("outcome is grokked", "unknown outcome 'grokked'"),
        ("__import__('os').system('true') < 1", "is not allowed"),
    ],
)
def test_what_is_no_condition_is_refused_with_one_that_is(text, words):
    with pytest.raises(InputError, match=words):
        Condition(text)


def test_an_unknown_value_is_named_with_the_closest():
    with pytest.raises(InputError, match="did you mean 'final_test_error'"):
        Condition("final_tset_error < 1")(ROW)
