"""The ReLU network of one variable: its teacher, its curvature."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from latebloom.problems.networks.relu_net import TEACHER, ReluRegression


def test_the_loss_is_the_mean_square_over_two():
    """The paper's `1/(2n) Σ`, from the predictions at the samples."""
    problem = ReluRegression()
    gaps = problem.predict(problem.init(), problem.points) - problem.predict(problem.teacher, problem.points)
    assert float(problem.loss(problem.init())) == pytest.approx(np.mean(np.asarray(gaps) ** 2) / 2, rel=1e-12)


def test_the_start_has_its_variance_and_does_not_change_the_data():
    """300 entries: relative deviation of a variance √(2/N), 4 sigma."""
    assert float(jnp.var(ReluRegression().init())) == pytest.approx(4.0, rel=4 * np.sqrt(2 / 300))
    np.testing.assert_array_equal(ReluRegression().values, ReluRegression(width=7, init_variance=1.0).values)


def test_the_teacher_fits_itself():
    problem = ReluRegression()
    assert float(problem.test_error(problem.teacher)) == 0
    assert float(problem.train_error(jnp.asarray(TEACHER))) == 0
    assert float(problem.test_error(jnp.zeros((3, 4)))) == 1


def test_sharpness_is_the_curvature_along_the_worst_direction():
    """Rung 2: power iteration with finite differences of the gradient; 1e-6 is the step, kinks aside."""
    problem = ReluRegression(width=8)
    w, v = problem.init(), jnp.ones((3, 8))
    gradient = jax.jit(problem.gradient)
    for _ in range(60):
        v = (gradient(w + 1e-6 * v / jnp.linalg.norm(v)) - gradient(w)) / 1e-6
    assert problem.sharpness(w) == pytest.approx(float(jnp.linalg.norm(v)), rel=1e-4)
