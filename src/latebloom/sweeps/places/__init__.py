"""Where shards are computed: in this process, in others, on other machines."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Each loaded when it is first used: two of them need packages that are extras.
_PLACES = {"Here": "here", "Processes": "processes", "DaskCluster": "dask_cluster", "Slurm": "slurm"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"latebloom.sweeps.places has no {name!r}; its names: {', '.join(_PLACES)}")
    return getattr(import_module(f"latebloom.sweeps.places.{_PLACES[name]}"), name)
