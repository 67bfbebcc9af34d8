"""Right answers as shares of rows: all of them is 1 and none is 0, compiled or not; and minibatches that learn."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.problems import ModularClassifier
from latebloom.problems.classifier import share


def test_minibatches_of_the_relu_network_learn():
    problem = ModularClassifier(11, 24, init_scale=2.0, seed=1)
    method = lb.Minibatch(lb.GradientDescent(0.5), 16)
    run = lb.train(problem, method, steps=2000, memorised_at=1e-9, progress=False)
    assert run.milestones.memorised.step is not None
    assert run["train_loss"][-1] < 0.1 * run["train_loss"][0]


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
