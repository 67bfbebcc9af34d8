"""The contenders of the dichotomy benchmark compute the same thing. Nothing here looks at a clock."""

from __future__ import annotations

import json

from latebloom.bench import dichotomy
from latebloom.problems import DiagonalClassifier, SparseSigns


def test_every_row_agrees_with_its_contender():
    results = dichotomy.measure(dimension=300, samples=20, large=500, repeats=1)
    assert [result.target for result in results] == ["at least 1", "at least 50", "under 3 s", "under 10 s"]
    assert "extrapolated from 300 of 1,000,000 steps" in results[1].note
    json.dumps([result.to_json() for result in results], allow_nan=False)


def test_what_ends_elsewhere_meets_no_target(monkeypatch):
    problem = DiagonalClassifier(SparseSigns(300, 20, test_samples=10), init_scale=0.286)
    monkeypatch.setattr(dichotomy, "AGREEMENT", -1.0)
    assert not dichotomy.against_flow(problem, 1).meets
