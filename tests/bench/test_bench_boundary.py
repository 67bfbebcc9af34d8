"""The benchmark of boundaries counts runs. Nothing here looks at a clock."""

from __future__ import annotations

import json

from latebloom.bench import boundary


def test_a_search_is_compared_with_its_grid(monkeypatch):
    monkeypatch.setattr(boundary, "VALUES", 41)
    (result,) = boundary.measure(curves=6, scales=(1 / 60,))
    assert result.ratio is not None
    assert result.ratio > 3
    assert "in place of 410, on 6 planted curves" in result.note
    json.dumps(result.to_json(), allow_nan=False)


def test_intervals_that_do_not_cover_meet_no_target():
    found = boundary.Tally(runs=[100] * 10, widths=[0.1] * 10, grid_widths=[0.1] * 10, covered=8, grid_covered=10)
    assert not boundary._row(found, 1 / 60).meets
    found.covered = 9
    assert boundary._row(found, 1 / 60).meets
    found.widths = [0.12] * 10
    assert not boundary._row(found, 1 / 60).meets
