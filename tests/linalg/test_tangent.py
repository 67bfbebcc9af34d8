"""Tangent features, kernels and their products, against jax.jacrev and a closed form."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import diagonal_regression
from plain import drawn_tanh_net, tanh_net

import latebloom as lb
from latebloom.linalg import tangent


def test_features_are_those_of_jacrev():
    params, inputs, _ = drawn_tanh_net()
    function = lambda p: tanh_net(p, inputs)  # noqa: E731
    leaves = jax.jacrev(function)(params)
    expected = np.hstack([np.asarray(leaves["hidden"]).reshape(5, -1), np.asarray(leaves["out"])])
    assert np.allclose(lb.theory.tangent_features(function, params), expected, rtol=1e-14)
    kernel = expected @ expected.T
    assert np.allclose(lb.theory.tangent_kernel(function, params), kernel, rtol=1e-13)
    assert np.allclose(lb.theory.tangent_product(function, params, jnp.eye(5)), kernel, rtol=1e-13)
    other = lambda p: tanh_net(p, inputs[:2])  # noqa: E731
    assert np.allclose(lb.theory.tangent_kernel(function, params, other), kernel[:, :2], rtol=1e-13)


def test_kernel_of_a_diagonal_net_in_closed_form():
    """`∇f(x) = L α^(L-1) (x, -x)` at α everywhere: `K = 2 L² α^(2L-2) X Xᵀ`."""
    problem = diagonal_regression(depth=3, init_scale=1.7)
    design = np.asarray(problem.design)
    expected = 2 * 9 * 1.7**4 * design @ design.T
    assert np.allclose(lb.theory.tangent_kernel(problem.outputs, problem.init()), expected, rtol=1e-12)


def test_tangent_maps_are_adjoint():
    params, inputs, labels = drawn_tanh_net()
    forward, backward = tangent.tangent_maps(lambda p: tanh_net(p, inputs), params)
    step = jax.tree.map(jnp.ones_like, params)
    left = float(forward(step) @ labels)
    right = float(sum(jnp.sum(leaf) for leaf in jax.tree.leaves(backward(labels))))
    assert left == pytest.approx(right, rel=1e-12)
