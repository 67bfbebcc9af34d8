"""The loops of the networks benchmark compute the same thing. Nothing here looks at a clock."""

from __future__ import annotations

import json

import numpy as np
import pytest

import latebloom as lb
from latebloom.bench import networks
from latebloom.problems import EmbeddingMLP


def test_pytorch_makes_the_steps_of_train():
    pytest.importorskip("torch")
    problem = EmbeddingMLP(7, precision="float64")
    run = lb.train(problem, networks.method(12), steps=5, **networks.NEVER)  # 20 rows: epochs of two minibatches
    chosen = networks.minibatches(problem, 12, 5)
    assert [len(rows) for rows in chosen] == [12, 8, 12, 8, 12]
    theirs = networks.torch_adam(problem, chosen, 1)
    assert max(np.abs(leaf - theirs[name]).max() for name, leaf in run.params.items()) < 1e-10
    fewer = networks.torch_adam(problem, chosen[:4], 1)
    assert max(np.abs(leaf - fewer[name]).max() for name, leaf in run.params.items()) > 1e-4  # a step matters


def test_the_comparisons_have_their_targets():
    results = networks.measure(modulus=7, size=12, steps=5, seeds=2, repeats=1, teacher=6)
    assert [result.target for result in results] == ["at least 1", "at least 1.5", "at most 2", "at most 2"]
    assert "losses are equal to the last bit" in results[1].note
    assert "that any exact polar factor needs" in results[3].note
    json.dumps([result.to_json() for result in results], allow_nan=False)
