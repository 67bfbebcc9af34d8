"""Right answers, counted."""

from __future__ import annotations

from latebloom.probes import (
    TestAccuracy,
    TrainAccuracy,
)
from latebloom.problems import FastPart, Isolated, ModularNet


def test_all_right_is_exactly_one():
    problem = ModularNet(11, 64)
    for what in (Isolated(problem), FastPart(problem, "second", 3.0), problem):
        params = what.init()
        assert float(what.accuracy(params, "train")) == 1.0
        assert float(what.wrong(params, "train")) == 0.0
        assert float(TrainAccuracy().measure(what, None, params)) == 1.0
        assert float(TestAccuracy().measure(what, None, params)) == float(what.correct(params, "test")) / 20
