"""The key depends on the meaning of a configuration and on nothing else."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latebloom.core.json import parse, plain
from latebloom.errors import InputError
from latebloom.store import run_key
from latebloom.store.layout import canonical

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=5), v, max_size=3), max_leaves=8
)
CONFIGURATIONS = st.dictionaries(st.text(max_size=8), VALUES, max_size=5)


def reversed_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_order(item) for key, item in reversed(value.items())}
    return [reversed_order(item) for item in value] if isinstance(value, list) else value


@given(CONFIGURATIONS)
def test_the_order_of_the_keys_does_not_matter(configuration: dict[str, Any]) -> None:
    assert run_key(reversed_order(configuration)) == run_key(configuration)


@given(CONFIGURATIONS)
def test_the_key_survives_the_disk(configuration: dict[str, Any]) -> None:
    written = json.dumps(plain(configuration, lossless=True), allow_nan=False)
    assert run_key(parse(written)) == run_key(configuration)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_two_floats_share_a_key_only_if_they_print_alike(a: float, b: float) -> None:
    assert (run_key({"x": a}) == run_key({"x": b})) == (repr(a) == repr(b))


def test_the_key_is_the_published_one() -> None:
    # Computed with sha256sum: a change of this number orphans every stored run.
    assert canonical({"b": 1e-5, "a": [1, True, None, "x"]}) == '{"a":[1,true,null,"x"],"b":1e-05}'
    assert run_key({"b": 1e-5, "a": [1, True, None, "x"]}) == "d617e0806af5e019"


def test_spelling_does_not_matter() -> None:
    key = run_key({"strength": 1e-5, "shape": [2, 3], "steps": 7})
    assert run_key({"steps": np.int64(7), "shape": (2, 3), "strength": 0.00001}) == key
    assert run_key({"steps": 7, "shape": np.array([2, 3]), "strength": np.float64(1e-5)}) == key
    assert run_key({"steps": 8, "shape": [2, 3], "strength": 1e-5}) != key


def test_numbers_that_json_lacks_come_back() -> None:
    values = parse(
        json.dumps(plain({"a": math.inf, "b": -math.inf, "c": np.float32("nan")}, lossless=True), allow_nan=False)
    )
    assert values["a"] == math.inf
    assert values["b"] == -math.inf
    assert math.isnan(values["c"])


def test_what_has_no_text_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"configuration\.problem\.path=.* cannot be written as JSON: .* write its text"
    ):
        run_key({"problem": {"path": Path("x")}})
    with pytest.raises(InputError, match=r"configuration has the key 3: keys must be text; write '3'"):
        run_key({3: 1})  # pyright: ignore[reportArgumentType]


def test_the_import_is_light() -> None:
    heavy = "{'jax', 'equinox', 'numpy', 'pyarrow', 'pandas', 'sqlite3', 'latebloom.problems'}"
    code = f"import sys, latebloom.store; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
