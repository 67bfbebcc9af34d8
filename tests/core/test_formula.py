"""Arithmetic from text: what it is, and what it refuses before anything is evaluated."""

import math

import numpy as np
import pytest

from latebloom.core.formula import LONGEST, Formula
from latebloom.errors import InputError

VALUES = {"x": 3.0, "y": 0.5, "method.learning_rate": 0.1, "n": 4}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x + 2 * y", 4.0),
        ("-x ** 2", -9.0),
        ("(x - 1) / n", 0.5),
        ("1e-5 * method.learning_rate", 1e-6),
        ("sqrt(n) + log(exp(x))", 5.0),
        ("round(7 * y)", 4.0),
    ],
)
def test_it_is_what_python_would_say(text, value):
    assert Formula(text)(VALUES) == pytest.approx(value, rel=1e-15)


def test_columns_give_a_column():
    found = Formula("a * b")({"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])})
    np.testing.assert_array_equal(found, [3.0, 8.0])


def test_whole_numbers_do_not_grow_without_end():
    with pytest.raises(InputError, match=r"no finite number|has no value"):
        Formula("9 ** 9 ** 9 ** 9")({})
    assert Formula("2 ** 0.5")({}) == math.sqrt(2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must be a text such as"),
        (3, "must be a text such as"),
        ("x +", "is no formula"),
        ("x; y", "is no formula"),
        ("__import__('os')", "unknown function '__import__'"),
        ("sqroot(x)", "did you mean 'sqrt'"),
        ("x.__class__()", "is not allowed"),
        ("[x for x in y]", "is not allowed"),
        ("lambda: 1", "is not allowed"),
        ("x if y else n", "is not allowed"),
        ("x[0]", "is not allowed"),
        ("'text'", "is not allowed"),
        ("True", "is not allowed"),
        ("1j", "is not allowed"),
        ("f(x)(y)", "is not allowed"),
        ("sqrt(x, y)", "is not allowed"),
        ("x" * (LONGEST + 1), f"at most {LONGEST}"),
    ],
)
def test_anything_else_is_refused(text, words):
    with pytest.raises(InputError, match=words):
        Formula(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("z", "unknown name in 'z' 'z'"),
        ("1 / (x - 3)", "divides by zero at x=3.0"),
        ("log(x - 3)", "no finite number at x=3.0"),
        ("(-x) ** 0.5", "no finite number at x=3.0"),
        ("exp(1000 * x)", "no finite number"),
    ],
)
def test_where_it_has_no_value_it_says_where(text, words):
    with pytest.raises(InputError, match=words):
        Formula(text)(VALUES)
