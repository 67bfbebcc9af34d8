"""The loops of the low-rank benchmark compute the same thing. Nothing here looks at a clock."""

from __future__ import annotations

import json

import numpy as np

import latebloom as lb
from latebloom.bench import low_rank


def test_the_numpy_loop_is_the_iteration_of_train():
    problem = lb.problems.MatrixCompletion()
    run = lb.train(problem, lb.GradientDescent(0.1), lb.NuclearNorm(1e-4), steps=200, progress=False)
    assert np.abs(low_rank.plain_numpy(problem, 0.1, 1e-4, 200) - run.params).max() < 1e-9
    assert np.abs(low_rank.plain_numpy(problem, 0.1, 1e-3, 200) - run.params).max() > 1e-4  # the strength matters


def test_every_comparison_has_its_target(monkeypatch):
    monkeypatch.setattr(low_rank.nuclear_oracle, "measure", list)
    results = low_rank.measure(steps=200, numpy_steps=50, seeds=3, seed_steps=50, repeats=1)
    assert [result.target for result in results] == ["at least 4", "at least 3"]
    assert "differ by" in results[0].note or "equal" in results[0].note
    assert "equal to its single run to the last bit" in results[1].note
    json.dumps([result.to_json() for result in results], allow_nan=False)
