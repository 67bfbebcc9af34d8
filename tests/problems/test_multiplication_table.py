"""The multiplication table: its data, and steps on it against the iteration written out in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import latebloom as lb


def test_the_table_and_what_is_observed():
    """Published number: `X* = u uᵀ` with `u = (0, 1/d, …, (d-1)/d)`, 470 of 9409 entries."""
    problem = lb.problems.MultiplicationTable()
    truth = np.asarray(problem.truth)
    assert truth[3, 50] == pytest.approx(150 / 97**2)
    assert np.linalg.matrix_rank(truth) == 1
    assert int(problem.mask.sum()) == 470
    mean = np.mean(truth[np.asarray(problem.mask) > 0] ** 2)
    assert float(problem.loss(problem.init())) == pytest.approx(mean, rel=1e-12)  # the output is zero at the start


def test_steps_are_those_of_numpy():
    """Independent implementation: the paper's iteration, written out."""
    size, rate, decay, steps = 8, 0.02, 2e-2, 400
    problem = lb.problems.MultiplicationTable(size, 0.5, init_scale=2.0, seed=2)
    mask, values = np.asarray(problem.mask), np.asarray(problem.values)
    u = v = 2.0 * np.eye(size)
    for _ in range(steps):
        gap = 2 / mask.sum() * (mask * (u @ u.T - v @ v.T) - values)
        both = gap + gap.T
        u, v = u - rate * (both @ u + decay * u), v - rate * (-both @ v + decay * v)
    run = lb.train(problem, lb.GradientDescent(rate), lb.L2(decay), steps=steps)
    assert np.allclose(run.params["U"], u, rtol=1e-10, atol=1e-12)
    assert np.allclose(run.params["V"], v, rtol=1e-10, atol=1e-12)
