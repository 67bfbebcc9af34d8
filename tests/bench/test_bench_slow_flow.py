"""The benchmark of the slow flow compares curves that agree. Nothing here looks at a clock."""

from __future__ import annotations

import json

import numpy as np
import pytest

import latebloom as lb
from latebloom.bench import slow_flow


def test_the_rows_and_what_they_say(monkeypatch):
    small = lb.problems.LinearRegression.random(features=8, samples=5, init_scale=3.0)
    monkeypatch.setattr(slow_flow, "task", lambda seed: type("Task", (), {"problem": small}))
    rows = slow_flow.measure(slow_time=5.0, strengths=(1e-3, 1e-4), cap=600, repeats=1, large=False)
    assert [row.target for row in rows] == ["at most 2", "none", "none", "none", "under 0.01 s", "at least 15"]
    assert "test errors within" in rows[0].note
    assert "theirs stopped at slow time" in rows[1].note
    assert rows[0].meets is not None
    assert "extrapolated from λ = 0.0001" in rows[3].note
    assert json.dumps([row.to_json() for row in rows])


def test_curves_that_differ_meet_no_target():
    cost = slow_flow.Cost(1e-3, seconds=10.0, gradients=1, distance=0.1, reached=100.0)
    assert slow_flow._row(1.0, cost, "", 100.0).meets is False


def test_the_distance_is_that_of_the_curves():
    class Curve(dict):
        pass

    times = np.geomspace(1e-3, 10, 50)
    slow = Curve(slow_time=times, test_error=np.log(times))
    flow = Curve(slow_time=np.concatenate([[0.0], times]), test_error=np.concatenate([[0.0], np.log(times) + 0.25]))
    assert slow_flow.distance(slow, flow) == pytest.approx(0.25)  # pyright: ignore[reportArgumentType]
