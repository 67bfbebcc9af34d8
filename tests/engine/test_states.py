"""A state as arrays and JSON comes back as it was, or is refused."""

from __future__ import annotations

import json
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from latebloom.engine.states import OtherShapeError, pack, unpack

TREE = {
    "key": np.array([1, 2**32 - 1], np.uint32),
    "none": None,
    "single": np.float32([0.1, np.nan]),
    "double": (np.float64(1e-300), np.array(-0.0)),
    "flag": np.array(True),
    "large": np.array(2**62),
    "half": jnp.asarray([1.5, -2.0], jnp.bfloat16),
    "empty": np.zeros((0, 3)),
}
STATE: dict[str, Any] = {
    "progress": TREE,
    "position": 2**61,
    "over": True,
    "quota": 0.1,
    "rows": {"step": np.arange(3), "a b'": np.ones((3, 2))},
}


def test_every_type_comes_back_to_the_bit():
    told, arrays = pack(STATE)
    back = unpack(json.loads(json.dumps(told)), arrays, {"progress": TREE})
    assert (back["position"], back["over"], back["quota"]) == (2**61, True, 0.1)
    assert list(back["rows"]) == ["step", "a b'"]
    for name, leaf in TREE.items():
        given, found = (
            (np.asarray(leaf), np.asarray(back["progress"][name])) if leaf is not None else (np.zeros(0),) * 2
        )
        assert (given.dtype, given.shape, given.tobytes()) == (found.dtype, found.shape, found.tobytes()), name
    assert back["progress"]["none"] is None


@pytest.mark.parametrize(
    "like",
    [{}, {"progress": TREE | {"flag": np.array([True])}}, {"progress": TREE | {"key": np.array([1, 2], np.int64)}}],
    ids=["no such part", "another shape", "another type"],
)
def test_another_shape_is_refused(like):
    with pytest.raises(OtherShapeError, match="its progress has another shape"):
        unpack(*pack(STATE), like)
