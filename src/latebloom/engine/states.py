"""The state of a batch as arrays and JSON, and back: lossless, and refused where it does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

TREE, COLUMNS, PLAIN = "tree", "columns", "plain"
COLUMNAR = ("rows", "edge")  # parts that are columns, of any length: they are not held against a shape


class OtherShapeError(ValueError):
    """A stored state is not one of this job, as it is computed here."""


def pack(state: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What the parts of a state are, as JSON, and their arrays by name.

    >>> told, arrays = pack({"position": 3, "rows": {"step": np.arange(2)}, "progress": (np.ones(2), None)})
    >>> told["position"], told["rows"], sorted(arrays)
    ({'plain': 3}, {'columns': ['step']}, ['progress.0', 'rows.step'])
    """
    told: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for name, part in state.items():
        if part is None or isinstance(part, bool | int | float | str):
            told[name] = {PLAIN: part}
        elif name in COLUMNAR:
            told[name] = {COLUMNS: list(part)}
            arrays |= {f"{name}.{column}": np.asarray(values) for column, values in part.items()}
        else:
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(part)]
            told[name] = {TREE: describe(part)}
            arrays |= {f"{name}.{i}": leaf for i, leaf in enumerate(leaves)}
    return told, arrays


def unpack(told: Mapping[str, Any], arrays: Mapping[str, np.ndarray], like: Mapping[str, Any]) -> dict[str, Any]:
    """The state that `pack` was given; its trees must look as those of `like` do, leaf by leaf."""
    state: dict[str, Any] = {}
    for name, part in told.items():
        if PLAIN in part:
            state[name] = part[PLAIN]
        elif COLUMNS in part:
            state[name] = {column: arrays[f"{name}.{column}"] for column in part[COLUMNS]}
        else:
            state[name] = _tree(name, part[TREE], arrays, like)
    return state


def describe(tree: Any) -> list[list[Any]]:
    """Every leaf by its path, type and shape."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return [[jax.tree_util.keystr(path), str(np.asarray(leaf).dtype), list(np.shape(leaf))] for path, leaf in leaves]


def _tree(name: str, told: list[list[Any]], arrays: Mapping[str, np.ndarray], like: Mapping[str, Any]) -> Any:
    if name not in like or describe(like[name]) != told:
        raise OtherShapeError(f"its {name} has another shape")
    leaves, structure = jax.tree.flatten(like[name])
    # A type that npz does not know, such as bfloat16, comes back as bytes.
    read = [_typed(arrays[f"{name}.{i}"], np.asarray(leaf).dtype) for i, leaf in enumerate(leaves)]
    return jax.tree.unflatten(structure, read)


def _typed(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return array.view(dtype) if array.dtype.kind == "V" else array
