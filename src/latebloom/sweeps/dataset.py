"""A sweep as an array with named dimensions: last values, milestones, and curves on a common clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.engine.run import Run
from latebloom.engine.storage import load
from latebloom.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

    from latebloom.sweeps.result import SweepResult

POINTS = 200  # of the common clock


def dataset_of(result: SweepResult, columns: Sequence[str] | None = None, points: int = POINTS) -> xr.Dataset:
    """The result with its axes as dimensions; curves are NaN beyond the end of their run."""
    try:
        import xarray as xr
    except ImportError:
        raise InputError("a dataset needs xarray: install it with pip install 'latebloom[query]'") from None
    frame = result.frame()
    names = frame.columns[: len(result.axes)]  # the axes come first
    dimensions = {str(name): list(values) for name, values in zip(names, result.axes.values(), strict=True)}
    sizes = [len(values) for values in dimensions.values()]
    scalars = [name for name in frame.columns if name not in dimensions and frame[name].dtype.kind in "fib"]
    data: dict[str, Any] = {name: (list(dimensions), frame[name].to_numpy(float).reshape(sizes)) for name in scalars}
    for name in ("id", "outcome"):
        data[name] = (list(dimensions), frame[name].to_numpy(object).reshape(sizes))
    clock, times, curves = _curves(result, columns, points)
    for name, values in curves.items():
        data[name] = ([*dimensions, clock], values.reshape([*sizes, len(times)]))
    return xr.Dataset(data, coords=dimensions | {clock: times}, attrs={"sweep": result.name})


def _curves(
    result: SweepResult, columns: Sequence[str] | None, points: int
) -> tuple[str, np.ndarray, dict[str, np.ndarray]]:
    """The clock, its values, and the columns that were asked for: a row per cell.

    Runs are read twice, once for their ends, so that no more than one is in memory.
    """
    there = {number: key for number, key in enumerate(result.ids) if key is not None}
    ends = [load(key, result.store) for key in list(there.values())[:1]]
    if not ends:
        return "step", np.zeros(0), {}
    clock, wanted = ends[0].clock, list(columns or _scalars(ends[0]))
    spans = [_span(load(key, result.store)[clock]) for key in there.values()]
    low, high = min(span[0] for span in spans), max(span[1] for span in spans)
    times = np.geomspace(low, high, points) if high > low else np.array([low])
    found = {name: np.full((len(result), len(times)), np.nan) for name in wanted}
    for number, key in there.items():
        run = load(key, result.store)
        for name, values in _on(times, run, wanted).items():
            found[name][number] = values
    return clock, times, found


def _scalars(run: Run) -> list[str]:
    return [name for name, values in run.columns.items() if values.ndim == 1 and name != run.clock]


def _span(clock: np.ndarray) -> tuple[float, float]:
    """The first moment after the start, and the last."""
    positive = clock[clock > 0]
    return (float(positive[0]), float(positive[-1])) if len(positive) else (1.0, 1.0)


def _on(times: np.ndarray, run: Run, columns: Sequence[str]) -> Mapping[str, np.ndarray]:
    """Columns between records, linear in the logarithm of the clock; nothing beyond the end of the run."""
    clock = run[run.clock]
    after = clock > 0
    if not after.any():
        return {}
    within = times <= clock[-1] * (1 + 1e-12)  # the last point of a geometric grid is rounded
    at, marks = np.log(times[within]), np.log(clock[after])
    return {name: np.pad(np.interp(at, marks, run[name][after]), (0, int((~within).sum())), constant_values=np.nan)
            for name in columns}  # fmt: skip
