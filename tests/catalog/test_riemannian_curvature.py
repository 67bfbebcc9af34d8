"""Ranks and derivatives of the riemannian entries against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import latebloom as lb
from latebloom.catalog.riemannian.curvature import hessian, jacobian, rank
from latebloom.catalog.riemannian.diagonal_net import least_entropy
from latebloom.catalog.riemannian.least_norm import least_curvature
from latebloom.catalog.riemannian.smooth import SMOOTH, SmoothSettings


def test_derivatives_on_the_hyperbola():
    """F = (w1 w2 - 1)², r = √2 (w1 w2 - 1)."""
    toy, point = lb.problems.ToyModel("curved"), np.array([0.5, 2.0])
    np.testing.assert_allclose(jacobian(toy, point), np.sqrt(2) * np.array([[2.0, 0.5]]))
    np.testing.assert_allclose(hessian(toy, point), [[8.0, 2.0], [2.0, 0.5]], atol=1e-12)
    assert rank(hessian(toy, point)) == 1
    assert rank(np.diag([1.0, 1e-6, 1e-12])) == 2


def test_the_norm_curves_by_two_at_the_least_point_of_the_hyperbola():
    """|w|²/2 along w2 = 1/w1 is 1 + 2 s² / 2 + … of the arc length s: its curvature is 2."""
    assert least_curvature(lb.problems.ToyModel("curved"), np.ones(2)) == pytest.approx(2.0)


def test_the_interpolator_of_least_entropy_interpolates_and_lies_in_the_range():
    net = lb.problems.DiagonalNet(frequencies=4, samples=3, cosines=(0,), sines=(2,), init_variance=0.5)
    found = least_entropy(net)
    design, targets, (u, v) = (np.asarray(part) for part in (net.design, net.targets, net.start))
    np.testing.assert_allclose(design @ found, targets, atol=1e-6)
    plus, minus = (u + v) ** 2 / 2, (u - v) ** 2 / 2
    dual = (np.arcsinh(found / np.sqrt(plus * minus)) - np.log(plus / minus) / 2) / 2
    outside = dual - np.linalg.pinv(design) @ (design @ dual)
    assert np.linalg.norm(outside) < 1e-6 * np.linalg.norm(dual)


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_problems_have_fewer_residuals_than_parameters(name):
    problem = SmoothSettings().problem(name)
    slopes = jacobian(problem, problem.init())
    assert rank(slopes) == slopes.shape[0] < slopes.shape[1]
