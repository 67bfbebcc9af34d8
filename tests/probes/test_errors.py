"""Errors and losses as columns."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from cases import student

import latebloom as lb
from latebloom.problems.networks.teacher_student import unexplained


def test_r2_of_a_run():
    """Rung 2: plain NumPy on the parameters of a short run; 0 is the best constant, also under a crushing penalty."""
    problem = student(dimension=5, width=9, samples=12, test_samples=300, precision="float32")
    probe = lb.probes.TestR2()
    run = lb.train(problem, lb.Optax("adam", learning_rate=1e-2), lb.L2(1e-4), steps=200, probes=[probe])
    targets = np.asarray(problem.test_targets, float)
    left = targets - np.asarray(problem.predict(run.params, problem.test_inputs))
    expected = 1 - np.sum(left**2) / np.sum((targets - targets.mean(axis=0)) ** 2)
    assert run.final["test_r2"] == pytest.approx(expected, rel=1e-4)
    assert run.final["test_error"] == pytest.approx(1 - expected, rel=1e-4)
    assert run["train_error"].dtype == run["test_r2"].dtype
    constant = jnp.broadcast_to(problem.test_targets.mean(axis=0), targets.shape)
    assert float(unexplained(constant, problem.test_targets)) == pytest.approx(1.0, rel=1e-6)
