"""A temporary store, and runs to put in it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latebloom.store import Store, StoredRun

Put = Callable[..., StoredRun]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store whose folder does not exist yet."""
    return Store(tmp_path / "below" / "store")


@pytest.fixture
def put(store: Store) -> Put:
    """Write one small run of a configuration."""
    clock = itertools.count(1_600_000_000)

    def write(summary: dict[str, Any] | None = None, *, replace: bool = False, **configuration: Any) -> StoredRun:
        with store.begin(configuration) as live:
            columns = {"step": np.arange(5), "loss": np.linspace(1.0, 0.1, 5)}
            live.append(columns)
            run = live.finish(columns, summary or {"outcome": "finished"}, {"w": np.ones(3)}, replace=replace)
        # A second apart: listings go by time, and the clock of a file system may tick slower than we write.
        second = next(clock)
        os.utime(run.folder / "summary.json", (second, second))
        return run

    return write
