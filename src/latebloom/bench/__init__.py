"""Performance as ratios: ours and another way of doing the same, measured side by side in one process."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial

from latebloom.bench.base import BenchResult
from latebloom.errors import unknown_name

# Each name is a module with a function `measure`; it is loaded when it is run, since most of them load JAX.
_HOMES = {
    "sparse-step": "latebloom.bench.sparse_step",
    "batch": "latebloom.bench.batch",
    "start-up": "latebloom.bench.start_up",
    "oracle": "latebloom.bench.oracle",
    "low-rank": "latebloom.bench.low_rank",
    "flow": "latebloom.bench.flow",
    "slow-flow": "latebloom.bench.slow_flow",
    "isolated": "latebloom.bench.isolated",
    "dichotomy": "latebloom.bench.dichotomy",
    "networks": "latebloom.bench.networks",
    "sweep": "latebloom.bench.sweep",
    "store": "latebloom.bench.store",
}

__all__ = ["BenchResult", "names", "select"]


def names() -> list[str]:
    """Every benchmark, in the order in which they are run.

    >>> names()
    ['sparse-step', 'batch', 'start-up', 'oracle', 'low-rank', 'flow', 'slow-flow', 'isolated', ..., 'store']
    """
    return list(_HOMES)


def select(wanted: Sequence[str] = ()) -> list[tuple[str, Callable[[], list[BenchResult]]]]:
    """The benchmarks of these names, each once, with the function that measures it; all of them if none is named.

    >>> [name for name, measure in select(["oracle"])]
    ['oracle']
    """
    for name in wanted:
        if name not in _HOMES:
            raise unknown_name("benchmark", name, _HOMES)
    return [(name, partial(_measure, name)) for name in dict.fromkeys(wanted or _HOMES)]


def _measure(name: str) -> list[BenchResult]:
    return importlib.import_module(_HOMES[name]).measure()
