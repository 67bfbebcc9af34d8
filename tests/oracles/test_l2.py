"""Least squares, least norm and ridge, against closed forms and cvxpy."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from latebloom.oracles import least_squares, min_norm, ridge
from latebloom.oracles.result import relative
from latebloom.problems import LinearRegression, SparseRecovery


def arrays(problem):
    return np.asarray(problem.design), np.asarray(problem.targets)


def test_closed_form_least_squares_is_the_projection_of_the_start():
    problem = LinearRegression.random(features=20, samples=8, seed=0)
    design, targets = arrays(problem)
    start = np.random.default_rng(0).normal(size=20)
    result = least_squares(problem, start)
    np.testing.assert_allclose(design @ result.solution, targets, atol=1e-13)
    kernel = np.eye(20) - np.linalg.pinv(design) @ design
    np.testing.assert_allclose(kernel @ (result.solution - start), 0, atol=1e-13)
    assert result.gap < 1e-14
    assert result.solved


def test_closed_form_min_norm_is_the_pseudo_inverse():
    problem = LinearRegression.random(features=20, samples=8, seed=0)
    design, targets = arrays(problem)
    np.testing.assert_allclose(min_norm(problem).solution, np.linalg.pinv(design) @ targets, atol=1e-13)


def test_closed_form_least_squares_of_an_inconsistent_system_leaves_the_residual():
    result = min_norm(LinearRegression([[1.0], [1.0]], [1.0, 3.0]))
    np.testing.assert_allclose(result.solution, [2.0])
    assert result.value == pytest.approx(1.0)


@pytest.mark.parametrize("weight_decay", [1e-4, 1.0])
def test_independent_ridge_against_cvxpy(weight_decay):
    problem = SparseRecovery(30, 3, 15, seed=1)
    design, targets = arrays(problem)
    a = cp.Variable(30)
    objective = cp.sum_squares(design @ a - targets) / 2 + weight_decay / 2 * cp.sum_squares(a)
    cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    result = ridge(problem, weight_decay)
    # cvxpy's tolerance is 1e-8 of the objective.
    np.testing.assert_allclose(result.solution, a.value, atol=1e-5)
    assert result.value == pytest.approx(objective.value, abs=1e-8)
    assert result.gap < 1e-14


def test_closed_form_ridge_solves_the_normal_equations():
    problem = SparseRecovery(30, 3, 15, seed=1)
    design, targets = arrays(problem)
    expected = np.linalg.solve(design.T @ design + 0.1 * np.eye(30), design.T @ targets)
    np.testing.assert_allclose(ridge(problem, 0.1).solution, expected, atol=1e-14)


def test_relative_of_nothing_is_zero():
    assert relative(0.0, 0.0) == 0
    assert relative(1.0, 4.0) == 0.25
