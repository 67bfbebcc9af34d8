"""The contenders of the dichotomy benchmark compute the same thing. Nothing here looks at a clock."""

from __future__ import annotations

import json

from latebloom.bench import BenchResult, dichotomy, net_gradient
from latebloom.problems import DiagonalClassifier, SparseSigns


def test_every_row_agrees_with_its_contender(monkeypatch):
    """That the two flows agree is a test of the dual form; compiling the one of all parameters takes too long here."""
    monkeypatch.setattr(dichotomy, "UNTIL", 10.0)
    stub = BenchResult(dichotomy.NAME, "stub", 1.0, 1.0, 1.0, "none", None, "differ by 0")
    monkeypatch.setattr(dichotomy, "against_flow", lambda problem, repeats: stub)
    results = dichotomy.measure(dimension=100, samples=10, large=300, repeats=1, net=(11, 16))
    assert [result.target for result in results] == ["none", "at least 50", "under 3 s", "under 10 s", "at most 1.5"]
    assert float(results[-1].note.partition("differs by ")[2].split()[0]) <= net_gradient.AGREEMENT
    assert "extrapolated from 300 of 1,000 steps" in results[1].note
    assert float(results[1].note.partition("differ by ")[2].split()[0]) <= dichotomy.LOG_AGREEMENT
    json.dumps([result.to_json() for result in results], allow_nan=False)


def test_what_ends_elsewhere_meets_no_target(monkeypatch):
    problem = DiagonalClassifier(SparseSigns(100, 10, test_samples=10), init_scale=0.286)
    monkeypatch.setattr(dichotomy, "UNTIL", 10.0)
    monkeypatch.setattr(dichotomy, "LOG_AGREEMENT", -1.0)
    assert not dichotomy.against_descent(problem, 1, steps=50).meets


def test_a_gradient_that_is_not_autodiffs_meets_no_target(monkeypatch):
    monkeypatch.setattr(net_gradient, "AGREEMENT", -1.0)
    assert not net_gradient.gradient_row("demo", 11, 16, repeats=1).meets
