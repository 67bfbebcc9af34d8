"""Shares of rows are exact where it matters: all of them is 1 and none is 0, compiled or not."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.errors import CapabilityError
from latebloom.problems.classifier import share


@pytest.mark.parametrize("rows", [1, 49, 98, 107, 3764, 60_000])
def test_all_is_one_and_none_is_zero(rows):
    compiled = jax.jit(lambda count: share(count, rows))
    assert float(compiled(jnp.asarray(rows))) == 1.0
    assert float(compiled(jnp.asarray(0))) == 0.0
    assert np.isnan(share(jnp.asarray(0), 0))
    assert float(compiled(jnp.asarray(rows // 2))) == pytest.approx(rows // 2 / rows, abs=1e-15)


def test_accuracy_and_error_of_a_network_that_knows_every_training_pair():
    problem = lb.problems.EmbeddingMLP(11, 32, dimension=16, train_share=49 / 121, seed=0)
    assert problem.rows == 49  # 49 times the float 1/49 is less than 1
    run = lb.train(
        problem, lb.Optax("adam", learning_rate=1e-2), steps=300, probes=[lb.probes.TrainAccuracy()], memorised_at=1e-9
    )
    assert run.final["train_error"] == 0.0
    assert run.final["train_accuracy"] == 1.0


def test_no_pair_without_its_mirror_is_nothing_to_count():
    problem = lb.problems.EmbeddingMLP(4, 4, train_share=0.9, seed=4)
    assert not problem.unmirrored.any()
    with pytest.raises(CapabilityError, match="UnmirroredAccuracy has nothing to count"):
        lb.train(problem, lb.GradientDescent(0.1), steps=1, probes=[lb.probes.UnmirroredAccuracy()])
