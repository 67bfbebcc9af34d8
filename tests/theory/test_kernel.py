"""Tangent features, kernel-regime predictor, KKT residual and kernel drift.

Closed form: the kernel of a diagonal net and of `U Uᵀ - V Vᵀ` at the identity. Independent implementation: `jax.jacrev`
leaf by leaf, NumPy's pseudo-inverse, a long run of gradient descent on the linearised model.
"""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.errors import CapabilityError, InputError
from latebloom.linalg import tangent
from latebloom.problems.base import AbstractProblem, require_outputs
from latebloom.problems.starts import difference_trick, symmetrised, zero_layer

PROBES = lb.probes.KernelDrift(), lb.probes.KKTResidual()  # of all flows here, which then share one program


def net(params, inputs):
    return jnp.tanh(inputs @ params["hidden"]) @ params["out"]


def a_net(seed=0):
    random = np.random.default_rng(seed)
    params = {"hidden": jnp.asarray(random.normal(size=(3, 7))), "out": jnp.asarray(random.normal(size=7))}
    return params, jnp.asarray(random.normal(size=(5, 3))), jnp.asarray(random.normal(size=5))


def diagonal(**changes):
    return lb.problems.DiagonalRegression(**({"dimension": 12, "samples": 6, "sparsity": 2} | changes))


def test_features_are_those_of_jacrev():
    params, inputs, _ = a_net()
    function = lambda p: net(p, inputs)  # noqa: E731
    leaves = jax.jacrev(function)(params)
    expected = np.hstack([np.asarray(leaves["hidden"]).reshape(5, -1), np.asarray(leaves["out"])])
    assert np.allclose(lb.theory.tangent_features(function, params), expected, rtol=1e-14)
    kernel = expected @ expected.T
    assert np.allclose(lb.theory.tangent_kernel(function, params), kernel, rtol=1e-13)
    assert np.allclose(lb.theory.tangent_product(function, params, jnp.eye(5)), kernel, rtol=1e-13)
    other = lambda p: net(p, inputs[:2])  # noqa: E731
    assert np.allclose(lb.theory.tangent_kernel(function, params, other), kernel[:, :2], rtol=1e-13)


def test_kernel_of_a_diagonal_net_in_closed_form():
    """`∇f(x) = L α^(L-1) (x, -x)` at α everywhere: `K = 2 L² α^(2L-2) X Xᵀ`."""
    problem = diagonal(depth=3, init_scale=1.7)
    design = np.asarray(problem.design)
    expected = 2 * 9 * 1.7**4 * design @ design.T
    assert np.allclose(lb.theory.tangent_kernel(problem.outputs, problem.init()), expected, rtol=1e-12)


@pytest.mark.parametrize("depth", [2, 3])
def test_kernel_regime_is_the_minimum_norm_interpolator_at_any_scale(depth):
    small, large = (diagonal(depth=depth, init_scale=scale) for scale in (1.0, 50.0))
    expected = np.linalg.pinv(np.asarray(small.design)) @ np.asarray(small.targets)
    for problem in (small, large):
        regime = lb.theory.kernel_regime(problem)
        assert regime.rank == regime.outputs == 6
        assert regime.fitted < 1e-12
        assert np.allclose(regime.predict(problem.end_to_end), expected, atol=1e-11)


def test_kernel_regime_of_a_net_is_where_descent_on_the_linearised_model_ends():
    params, inputs, labels = a_net()
    problem = lb.problems.LeastSquares(lambda p: net(p, inputs) - labels, params)
    features = np.asarray(lb.theory.tangent_features(problem.outputs, params))
    weights, first = np.zeros(features.shape[1]), np.asarray(problem.residuals(params))
    rate = 1 / np.linalg.norm(features, 2) ** 2
    for _ in range(20_000):
        weights -= rate * features.T @ (features @ weights + first)
    regime = lb.theory.kernel_regime(problem)
    flat = np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(regime.displacement)])
    assert np.allclose(flat, weights, atol=1e-6)
    assert np.allclose(regime.predict(lambda p: net(p, inputs)), labels, atol=1e-9)


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
    problem = diagonal(init_scale=1.0)
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
    problem = diagonal(init_scale=8.0)
    run = lb.flow(problem, weight_decay=0.01, time=200.0, rtol=1e-4, probes=PROBES)  # λt = 2 < log 8
    assert run["kernel_drift"][0] < 1e-15
    assert run["kernel_drift"][-1] < 0.1
    assert (np.diff(run["kernel_drift"][-50:]) > 0).all()
    assert run["kkt_residual"][-1] == pytest.approx(float(lb.zero_loss.kkt_residual(problem, run.params)), rel=1e-9)


def test_sampled_drift_estimates_the_exact_one():
    problem = diagonal(samples=10)
    moved = problem.init() + jnp.asarray(np.random.default_rng(0).normal(size=(2, 12))) * 0.3
    exact = float(lb.probes.KernelDrift().measure(problem, None, moved))
    sampled = float(lb.probes.KernelDrift(samples=400).measure(problem, None, moved))
    assert sampled == pytest.approx(exact, rel=0.15)  # 400 vectors of 10 entries


def test_refusals():
    class Mute(AbstractProblem):
        def init(self):
            return jnp.zeros(1)

        loss = train_error = test_error = lambda self, params: jnp.zeros(())

    with pytest.raises(
        CapabilityError, match="needs a problem that gives its outputs on the training set; Mute does not"
    ):
        require_outputs(Mute(), "KernelDrift")
    with pytest.raises(CapabilityError, match="Mute gives no outputs"):
        Mute().outputs(jnp.zeros(1))
    with pytest.raises(CapabilityError, match="kernel_regime needs a least-squares problem"):
        lb.theory.kernel_regime(Mute())
    big = lb.problems.MultiplicationTable(40, 0.5)
    with pytest.raises(InputError, match="1600 x 1600"):
        lb.probes.KernelDrift().check(big, None)
    with pytest.raises(CapabilityError, match="FillIn needs a problem with observed entries"):
        lb.probes.FillIn().check(diagonal(), None)
    with pytest.raises(InputError, match="samples=0"):
        lb.probes.KernelDrift(samples=0)


def test_zero_output_starts():
    params, inputs, _ = a_net()
    assert np.abs(np.asarray(net(params, inputs))).max() > 0.1
    assert not np.asarray(net(zero_layer(params, "out"), inputs)).any()
    twice = symmetrised(params, "out", {"hidden": 1, "out": 0})
    assert np.abs(np.asarray(net(twice, inputs))).max() < 1e-14
    model, pair = difference_trick(net, params)
    assert not np.asarray(model(pair, inputs)).any()
    # The difference trick leaves the tangent kernel as it is.
    kernels = [lb.theory.tangent_kernel(lambda p, f=f: f(p, inputs), p) for f, p in ((net, params), (model, pair))]
    assert np.allclose(*kernels, rtol=1e-12)
    with pytest.raises(InputError, match="unknown layer 'outt': did you mean 'out'"):
        zero_layer(params, "outt")
    with pytest.raises(InputError, match="axes names no axis for the output layer"):
        symmetrised(params, "out", {"hidden": 1})


def test_symmetric_oracle_is_the_oracle_of_mirrored_entries():
    """cvxpy with the symmetry as a constraint: an independent implementation."""
    cvxpy = pytest.importorskip("cvxpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.problems.UnobservedWarning)
        problem = lb.problems.MultiplicationTable(6, 0.3, seed=3)
    answer = lb.oracles.min_nuclear_norm(problem, symmetric=True)
    matrix = cvxpy.Variable((6, 6), symmetric=True)
    seen = np.argwhere(np.asarray(problem.mask) > 0)
    constraints = [matrix[i, j] == float(problem.truth[i, j]) for i, j in seen]
    value = cvxpy.Problem(cvxpy.Minimize(cvxpy.normNuc(matrix)), constraints).solve(solver="SCS", eps=1e-8)
    assert answer.solved
    assert answer.value == pytest.approx(value, rel=1e-5)
    assert lb.oracles.min_nuclear_norm(problem).value < answer.value - 1e-3  # without it less is enough
    with pytest.raises(CapabilityError, match="symmetric=True needs observed entries of a square matrix"):
        lb.oracles.min_nuclear_norm(lb.problems.MatrixSensing(), symmetric=True)
    contradictory = lb.problems.ObservedEntries((2, 2), [(0, 1), (1, 0)], [1.0, 2.0])
    with pytest.raises(InputError, match="no symmetric matrix fits"):
        lb.oracles.min_nuclear_norm(contradictory, symmetric=True)


def test_tangent_maps_are_adjoint():
    params, inputs, labels = a_net()
    forward, backward = tangent.tangent_maps(lambda p: net(p, inputs), params)
    step = jax.tree.map(jnp.ones_like, params)
    left = float(forward(step) @ labels)
    right = float(sum(jnp.sum(leaf) for leaf in jax.tree.leaves(backward(labels))))
    assert left == pytest.approx(right, rel=1e-12)
