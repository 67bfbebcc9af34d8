"""A store that version 0.1 wrote is read: `kept` has a finished run, and the stream of one killed within a batch."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from latebloom.store import Store

LOSSES = np.array([1.0, math.nan, math.inf, -0.0, 5e-324])


@pytest.fixture
def kept(tmp_path: Path) -> Store:
    """A copy, since a store may be brought up to date by reading it."""
    return Store(shutil.copytree(Path(__file__).parent / "kept", tmp_path / "kept"))


def test_a_finished_run_is_found_by_its_configuration(kept: Store) -> None:
    run = kept.find({"a": 1, "until": math.inf})
    assert run is not None
    assert run.id == "a7bb3cb4ea1b51ca"
    assert run.summary["outcome"] == "finished"
    assert math.isnan(run.summary["x"])
    assert run.columns["loss"].tobytes() == LOSSES.tobytes()
    assert run.columns["sv"].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert run.columns["sv"].dtype == np.float32
    assert run.columns["phase"].tolist() == ["a", "b,c", "ü", "", 'q"']
    assert {name: array.shape for name, array in run.arrays.items()} == {"w": (2, 3), "file": (), "layer/bias": (0, 2)}


def test_the_records_of_a_killed_run_are_recovered(kept: Store) -> None:
    (killed,) = [run for run in kept.runs() if run.state == "abandoned"]
    assert killed.configuration == {"a": 4}
    assert kept.recover(killed.id).columns["x"].tolist() == [0, 1, 2]
