"""Tangent features, kernel-regime predictor, KKT residual and kernel drift.

Closed form: the kernel of a diagonal net and of `U Uᵀ - V Vᵀ` at the identity. Independent implementation: `jax.jacrev`
leaf by leaf, NumPy's pseudo-inverse, a long run of gradient descent on the linearised model.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import diagonal_regression
from plain import drawn_tanh_net, tanh_net

import latebloom as lb

PROBES = lb.probes.KernelDrift(), lb.probes.KKTResidual()  # of all flows here, which then share one program


@pytest.mark.parametrize("depth", [2, 3])
def test_kernel_regime_is_the_minimum_norm_interpolator_at_any_scale(depth):
    small, large = (diagonal_regression(depth=depth, init_scale=scale) for scale in (1.0, 50.0))
    expected = np.linalg.pinv(np.asarray(small.design)) @ np.asarray(small.targets)
    for problem in (small, large):
        regime = lb.theory.kernel_regime(problem)
        assert regime.rank == regime.outputs == 6
        assert regime.fitted < 1e-12
        assert np.allclose(regime.predict(problem.end_to_end), expected, atol=1e-11)


def test_kernel_regime_of_a_net_is_where_descent_on_the_linearised_model_ends():
    params, inputs, labels = drawn_tanh_net()
    problem = lb.problems.LeastSquares(lambda p: tanh_net(p, inputs) - labels, params)
    features = np.asarray(lb.theory.tangent_features(problem.outputs, params))
    weights, first = np.zeros(features.shape[1]), np.asarray(problem.residuals(params))
    rate = 1 / np.linalg.norm(features, 2) ** 2
    for _ in range(20_000):
        weights -= rate * features.T @ (features @ weights + first)
    regime = lb.theory.kernel_regime(problem)
    flat = np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(regime.displacement)])
    assert np.allclose(flat, weights, atol=1e-6)
    assert np.allclose(regime.predict(lambda p: tanh_net(p, inputs)), labels, atol=1e-9)


def test_identity_start_fills_with_zeros_and_mirrored_entries_are_dependent():
    """Corollary 3.11, and the kernel at α I: 4α² for an entry off the diagonal, 8α² on it, times the weight."""
    problem = lb.problems.MultiplicationTable(7, 0.6, init_scale=3.0, seed=1)
    seen = np.asarray(problem.mask) > 0
    kernel = np.asarray(lb.theory.tangent_kernel(problem.outputs, problem.init()))[seen.ravel()][:, seen.ravel()]
    diagonal_entries = np.argwhere(seen)[:, 0] == np.argwhere(seen)[:, 1]
    assert np.allclose(np.diag(kernel), problem.weight * 9.0 * np.where(diagonal_entries, 8, 4))
    regime = lb.theory.kernel_regime(problem)
    mirrored = int((seen & seen.T & ~np.eye(7, dtype=bool)).sum()) // 2
    assert mirrored > 0
    assert regime.rank == seen.sum() - mirrored
    table = np.where(seen | seen.T, np.asarray(problem.truth), 0.0)
    assert np.allclose(regime.predict(problem.end_to_end), table, atol=1e-12)


def test_conjugate_gradients_agree_with_eigenvalues(monkeypatch):
    problem = lb.problems.MultiplicationTable(7, 0.6, init_scale=3.0, init_noise=0.1, seed=1)
    dense = lb.theory.kernel_regime(problem)
    monkeypatch.setattr("latebloom.theory.kernel.DENSE", 1)
    free = lb.theory.kernel_regime(problem)
    assert free.rank is None
    assert np.allclose(free.predict(problem.end_to_end), dense.predict(problem.end_to_end), atol=1e-8)


def test_kkt_residual_is_zero_at_the_end_of_weight_decay_and_not_before():
    problem = diagonal_regression(init_scale=1.0)
    run = lb.flow(problem, weight_decay=1e-4, time=2e6, rtol=1e-4, atol=1e-12, probes=PROBES)
    end, start = (float(lb.zero_loss.kkt_residual(problem, point)) for point in (run.params, problem.init()))
    assert end < 1e-3
    assert run.final["train_error"] < 1e-3
    assert start > 0.5
    # Independent: least squares over the multipliers.
    features = np.asarray(lb.theory.tangent_features(problem.residuals, jnp.asarray(run.params)))
    flat = np.asarray(run.params).ravel()
    best = np.linalg.lstsq(features.T, flat, rcond=None)[0]
    direct = np.linalg.norm(flat - features.T @ best) / np.linalg.norm(flat)
    assert end == pytest.approx(direct, abs=1e-6)


def test_probes_measure_along_a_run():
    problem = diagonal_regression(init_scale=8.0)
    run = lb.flow(problem, weight_decay=0.01, time=200.0, rtol=1e-4, probes=PROBES)  # λt = 2 < log 8
    assert run["kernel_drift"][0] < 1e-15
    assert run["kernel_drift"][-1] < 0.1
    assert (np.diff(run["kernel_drift"][-50:]) > 0).all()
    assert run["kkt_residual"][-1] == pytest.approx(float(lb.zero_loss.kkt_residual(problem, run.params)), rel=1e-9)


def test_sampled_drift_estimates_the_exact_one():
    problem = diagonal_regression(samples=10)
    moved = problem.init() + jnp.asarray(np.random.default_rng(0).normal(size=(2, 12))) * 0.3
    exact = float(lb.probes.KernelDrift().measure(problem, None, moved))
    sampled = float(lb.probes.KernelDrift(samples=400).measure(problem, None, moved))
    assert sampled == pytest.approx(exact, rel=0.15)  # 400 vectors of 10 entries
