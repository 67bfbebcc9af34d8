"""Runs that carry no law are refused in one sentence, with how many more are needed and where."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from planted_laws import planted
from refusals import Refusal

from latebloom import laws
from latebloom.errors import InputError, UnknownNameError

X = np.geomspace(1, 10, 6)
GOOD = pd.DataFrame({"x": X, "y": X**2, "z": X[::-1] ** 3, "t2": 3 / X, "end": 10.0, "seed": [0, 1, 0, 1, 0, 1]})
UNKNOWN, BAD = UnknownNameError, InputError
CASES = {
    "a column": (UNKNOWN, GOOD, {"against": "xx"}, "unknown column 'xx': did you mean 'x'? Known: end, seed"),
    "a quantity": (UNKNOWN, GOOD, {"quantity": "t3"}, "unknown column 't3': did you mean 't2'?"),
    "seeds": (UNKNOWN, GOOD, {"seeds": "sed"}, "unknown column 'sed': did you mean 'seed'?"),
    "an argument": (BAD, GOOD, {"cluster": "seed"}, "fit has no argument 'cluster'…: It has"),
    "an interval": (UNKNOWN, GOOD, {"interval": "boot"}, "unknown interval 'boot': did you mean 'bootstrap'?"),
    "a confidence": (BAD, GOOD, {"confidence": 95}, "must be finite and above 0 and below 1"),
    "a number": (BAD, GOOD, {"against": "2"}, "is a number: give a column"),
    "code": (BAD, GOOD, {"against": "x.__class__()"}, "is not allowed: write"),
    "no runs": (BAD, GOOD[:0], {}, "no run to fit t2 to: widen the selection, or make runs"),
    "all diverged": (BAD, GOOD.assign(outcome="diverged"), {}, "no run to fit t2 to (6 diverged): widen"),
    "few runs": (
        BAD,
        GOOD[:3],
        {},
        "3 runs with a t2 cannot carry 1 exponent: 5 are needed; add at least 2, e.g. at x=",
    ),
    "two exponents": (BAD, GOOD, {"against": "x, z"}, "6 runs with a t2 cannot carry 2 exponents: 7 are needed"),
    "all censored": (BAD, GOOD.assign(t2=np.nan), {}, "all 6 runs ended before their t2 (the last at 10): give them"),
    "most censored": (
        BAD,
        GOOD.assign(t2=[np.nan] * 3 + [1.0] * 3),
        {},
        "3 runs with a t2 …add at least 2, e.g. at x=30 or x=1.3, or give more steps to the 3 censored",
    ),
    "no spread": (BAD, GOOD.assign(x=2.0), {}, "x is 2 in all runs with a t2…: an exponent needs a factor of 1.5"),
    "little spread": (BAD, GOOD.assign(x=1 + X / 100), {}, "x only goes from 1.01 to 1.1…add runs e.g. at 3.3 or 0.34"),
    "two places": (BAD, GOOD.assign(x=[1, 1, 1, 2, 2, 2]), {}, "are at 2 different settings, and 3 are needed…: add 1"),
    "together": (BAD, pd.concat([GOOD] * 2), {"against": "x, y"}, "x varies only together with y: add runs where one"),
    "zero": (BAD, GOOD.assign(x=X - 1), {}, 'x is 0 in 1 run, and a power law needs it above 0…: give where="x > 0"'),
    "negative": (BAD, GOOD.assign(t2=-GOOD["t2"]), {}, "t2=-3 is negative, and has no logarithm: leave out"),
    "a bracket": (BAD, GOOD.assign(t2_low=9.0, t2_high=8.0), {}, "t2_low=9 is above t2_high=8: swap them"),
    "text": (BAD, GOOD.assign(x="wide"), {}, "the column 'x' has 'wide', which is no number: use"),
    "two clocks": (
        BAD,
        GOOD.assign(kind=["train", "flow"] * 3),
        {},
        "different clocks (3 train, 3 flow), and t2 of one is no t2 of the other: give where=\"kind = 'train'\"",
    ),
    "a mask": (BAD, GOOD, {"where": [True]}, "where must be a text, or true or false for each of 6 rows"),
    "an alternative": (BAD, GOOD, {"where": "x > 2 or x < 1"}, "cannot be read here: write conditions joined by 'and'"),
    "no condition": (BAD, GOOD, {"where": "x"}, "'x' is no condition: write"),
}


@pytest.mark.parametrize(("error", "frame", "change", "words"), CASES.values(), ids=CASES)
def test_what_carries_no_law_is_refused(error, frame, change, words):
    given = {"quantity": "t2", "against": "x"} | change
    Refusal(error, lambda **named: laws.fit(frame, **named), given, words).check()


def test_no_table_is_refused():
    with pytest.raises(InputError, match="a law needs a table with a row per run, not int"):
        laws.fit(3, "t2", "x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("seed = 1", 36),
        ("seed <> 1 and learning_rate < 0.1", 4 * 30),
        ("outcome = 'stopped'", 108),
        ('outcome != "stopped" and t2 is null', 72),
        ("t2 is not null AND method.learning_rate * strength >= 0", 108),
        ("log10(strength) < -5", 5 * 24),
        (lambda frame: frame["seed"] == 0, 36),
        (None, 180),
    ],
)
def test_conditions_choose_rows(where, left):
    from latebloom.laws.conditions import rows_where

    assert len(rows_where(planted(0), where)) == left
