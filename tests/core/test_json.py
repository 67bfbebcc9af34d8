"""One function makes plain values: for a report, where what is not finite is null, and for what is read back."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latebloom.core.json import parse, plain

# The three names are those of numbers: a text that is one of them comes back as the number.
TEXTS = st.text(max_size=8).filter(lambda text: text not in ("NaN", "Infinity", "-Infinity"))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=5), v, max_size=3), max_leaves=8
)
DOCUMENTS = st.dictionaries(st.text(max_size=8), VALUES, max_size=5)


@given(DOCUMENTS)
def test_what_is_written_losslessly_comes_back(document: dict[str, Any]) -> None:
    assert parse(json.dumps(plain(document, lossless=True), allow_nan=False)) == document


@given(DOCUMENTS)
def test_a_report_is_strict_json(document: dict[str, Any]) -> None:
    assert json.loads(json.dumps(plain(document), allow_nan=False)) == plain(document)


def test_arrays_and_numbers_of_numpy_are_plain() -> None:
    values = {"a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True), "d": np.array([[1.0, math.nan]]), "e": (1,)}
    assert plain(values) == {"a": 0.5, "b": 3, "c": True, "d": [[1.0, None]], "e": [1]}
    assert plain(values, lossless=True)["d"] == [[1.0, "NaN"]]
    assert [type(value) for value in plain(values).values()] == [float, int, bool, list, list]


def test_numbers_as_keys_are_shown() -> None:
    assert json.dumps(plain({0.5: 1})) == '{"0.5": 1}'


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '"a"'])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected a JSON object|Expecting"):
        parse(text)
