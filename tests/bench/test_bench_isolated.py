"""The loops of the isolated benchmark compute the same thing. Nothing here looks at a clock."""

from __future__ import annotations

import json

import numpy as np

import latebloom as lb
from latebloom.bench import isolated


def test_the_printed_formula_is_the_iteration_of_train():
    problem = lb.problems.ModularNet(7, 24)
    run = lb.train(lb.problems.Isolated(problem), lb.GradientDescent(1e-3), steps=50, progress=False)
    theirs = isolated.literal(problem)
    assert np.abs(theirs(50) - run.params).max() < 1e-9
    assert np.abs(theirs(49) - run.params).max() > 1e-6  # a step matters


def test_the_comparison_has_its_target():
    (result,) = isolated.measure(modulus=7, width=24, steps=5, repeats=1)
    assert result.target == "at least 3"
    assert "5 steps timed and scaled to 5,000" in result.note
    json.dumps(result.to_json(), allow_nan=False)
