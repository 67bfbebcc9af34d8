"""What a network of one variable computes: its values at points, its kinks."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

import latebloom as lb
from latebloom.probes.function import FunctionValues, Kinks, kinks
from latebloom.problems.networks.relu_net import ReluRegression


def test_kinks_are_counted_merged_and_weighed():
    u, v, b = [1.0, 1.0, 1.0, 1e-3, 5.0], [1.0, -1.0, 1.0, 1.0, 1.0], [0.5, -0.509, -1.0, 0.0, 9.0]
    params = jnp.array([u, v, b])
    # -0.5 and -0.509 are one kink of slope 2, 1 another, 0 is too weak and -9 outside.
    assert float(Kinks().measure(None, None, params)) == 2
    assert float(Kinks(resolution=0.0).measure(None, None, params)) == 3
    assert float(Kinks(tolerance=0.0).measure(None, None, params)) == 3
    centres, bends = kinks(params, 0.02)
    np.testing.assert_allclose(centres[:1], -0.5045, atol=1e-12)
    np.testing.assert_allclose(bends[:3], [2.0, 1e-3, 1.0], atol=1e-12)


def test_opposite_bends_cancel_and_flat_units_have_none():
    params = jnp.array([[1.0, -1.0, 3.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert float(Kinks().measure(None, None, params)) == 0


def test_function_values_are_a_column_of_a_run():
    problem = ReluRegression(width=8)
    run = lb.train(problem, lb.GradientDescent(1e-4), steps=3, probes=[FunctionValues([0.0, 1.0])], progress=False)
    np.testing.assert_allclose(run["function_values"][-1], problem.predict(run.params, [0.0, 1.0]), rtol=1e-12)
