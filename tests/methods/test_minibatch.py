"""Minibatches: every row once an epoch, the full gradient on average, runs that repeat to the bit."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.methods import AbstractMethod
from latebloom.methods.minibatch import shuffled
from latebloom.problems import EmbeddingMLP

SIZE = 32
ADAM = lb.Optax("adam", learning_rate=1e-2)


def network(**changes: Any) -> EmbeddingMLP:
    return EmbeddingMLP(11, dimension=4, width=8, train_share=0.6, **changes)  # 73 rows


class Adding(AbstractMethod):
    """Leaves the parameters alone and adds up gradients, weighted by rows, and how often each row was seen."""

    rows: int = eqx.field(static=True)

    def init(self, problem, penalty, params):
        return jax.tree.map(jnp.zeros_like, params), jnp.zeros(self.rows, jnp.int64)

    def step(self, problem, penalty, params, state):
        total, seen = state
        gradient = problem.gradient(params)
        total = jax.tree.map(lambda t, g: t + len(problem.chosen) * g, total, gradient)
        return params, (total, seen.at[problem.chosen].add(1))


@pytest.mark.parametrize("size", [32, 73])
def test_an_epoch_sees_every_row_once_and_averages_to_the_gradient(size):
    problem = network(precision="float64")
    params, method = problem.init(), lb.Minibatch(Adding(problem.rows), size)
    state = method.init(problem, None, params)
    step = jax.jit(lambda state: method.step(problem, None, params, state)[1])
    orders, full = [], jax.jit(problem.gradient)(params)
    for epoch in (1, 2):
        for _ in range(-(-73 // size)):
            state = step(state)
        orders.append(np.asarray(state[1]))
        total, seen = state[3]
        assert (np.asarray(seen) == epoch).all()
        jax.tree.map(lambda t, g, n=epoch: np.testing.assert_allclose(t / (73 * n), g, rtol=0, atol=1e-14), total, full)
    assert int(state[2]) == 0
    assert not np.array_equal(*orders)


def test_shuffles_are_uniform():
    """Each of five rows comes at each of five places in a fifth of 4,000 shuffles, within five standard deviations."""
    orders = np.asarray(jax.vmap(lambda key: shuffled(key, 5))(jax.random.split(jax.random.key(7), 4000)))
    counts = np.array([[np.sum(orders[:, place] == row) for row in range(5)] for place in range(5)])
    assert np.abs(counts - 800).max() < 5 * np.sqrt(4000 * 0.2 * 0.8)


def test_runs_repeat_to_the_bit_alone_and_in_a_batch(compiles):
    problem, penalty = network(), lb.L2(1e-4)
    methods = [lb.Minibatch(ADAM, SIZE, seed=seed) for seed in (0, 1)]
    alone = [lb.train(problem, method, penalty, steps=100) for method in methods]
    with compiles() as count:
        again = lb.train(problem, methods[0], penalty, steps=100)
    assert count() == 0
    batch = lb.run([lb.TrainJob(problem, method, penalty, steps=100) for method in methods])
    for run in (again, batch[0]):
        assert all(np.array_equal(alone[0][name], run[name], equal_nan=True) for name in run.columns)
    assert np.array_equal(batch[1]["train_loss"], alone[1]["train_loss"])
    assert not np.array_equal(alone[0]["train_loss"], alone[1]["train_loss"])
    assert alone[0].columns["time"][-1] == pytest.approx(100 * 1e-2)
    assert alone[0].configuration["dynamics"]["method"].startswith("minibatch[method=optax[optimiser=adam")
