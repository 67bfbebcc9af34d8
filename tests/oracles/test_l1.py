"""Basis pursuit and the Lasso against closed forms, cvxpy and the published recovery rate."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from latebloom.oracles import basis_pursuit, l1, lasso, min_norm, recovers
from latebloom.problems import LinearRegression, SparseRecovery

SMALL = {
    "sparse": SparseRecovery(30, 3, 15, seed=1),
    "noise-free": SparseRecovery(30, 3, 15, seed=2, signal_to_noise=np.inf),
    "not recoverable": SparseRecovery(30, 8, 10, seed=3),
    "coherent": SparseRecovery(30, 3, 15, coherence=0.6, seed=4),
    "dense truth": LinearRegression.random(features=30, samples=12, seed=5),
}
cases = pytest.mark.parametrize("problem", SMALL.values(), ids=SMALL.keys())


@cases
def test_independent_basis_pursuit_against_cvxpy(problem):
    design, targets = arrays(problem)
    a = cp.Variable(30)
    cp.Problem(cp.Minimize(cp.norm1(a)), [design @ a == targets]).solve(solver=cp.CLARABEL)
    result = basis_pursuit(problem)
    assert result.solved
    assert result.value == pytest.approx(np.abs(a.value).sum(), rel=1e-7)  # cvxpy's tolerance
    np.testing.assert_allclose(result.solution, a.value, atol=1e-6)
    assert result.gap < 1e-12
    assert result.infeasibility < 1e-13


def test_closed_form_basis_pursuit_of_one_measurement_is_the_largest_entry():
    result = basis_pursuit(LinearRegression([[1.0, -4.0, 2.0]], [8.0]))
    np.testing.assert_allclose(result.solution, [0.0, -2.0, 0.0], atol=1e-14)


def test_published_basis_pursuit_recovers_at_n100_s5_n30():
    problems = [SparseRecovery(100, 5, 30, seed=seed) for seed in range(20)]
    results = [basis_pursuit(problem) for problem in problems]
    assert all(r.solved and r.gap < 1e-9 and r.infeasibility < 1e-12 for r in results)
    # signal to noise 1e8 leaves errors of 1e-4; a draw that fails misses by more than 0.1.
    hits = sum(recovers(r, p.truth, tolerance=1e-2) for r, p in zip(results, problems, strict=True))
    assert hits >= 18


def test_basis_pursuit_recovers_exactly_without_noise():
    problem = SparseRecovery(100, 5, 40, seed=0, signal_to_noise=np.inf)
    result = basis_pursuit(problem)
    assert recovers(result, problem.truth, tolerance=1e-12)
    assert not recovers(min_norm(problem), problem.truth)


def test_independent_the_linear_program_agrees_with_the_path():
    for seed in range(5):
        problem = SparseRecovery(60, 4, 20, seed=seed)
        design, targets = arrays(problem)
        rows, values, back, _ = l1._orthonormal_rows(design, targets)
        path = l1._by_path(design, targets, rows, values, back)
        program = l1._by_linear_program(design, targets, rows, values, back)
        np.testing.assert_allclose(path.solution, program.solution, atol=1e-11)
        assert program.gap < 1e-12


def test_the_linear_program_takes_over_when_the_path_is_not_certified(monkeypatch):
    problem = SMALL["sparse"]
    right = basis_pursuit(problem)
    broken = lambda rows, values, strength: (np.ones(30), np.ones(1), np.zeros(30))  # noqa: E731
    monkeypatch.setattr(l1, "follow_lasso_path", broken)
    result = basis_pursuit(problem)
    assert result.method == "linear program (HiGHS)"
    np.testing.assert_allclose(result.solution, right.solution, atol=1e-11)


def test_an_uncertified_point_is_not_called_solved(monkeypatch):
    broken = lambda rows, values, strength: (np.ones(30), np.ones(1), np.zeros(30))  # noqa: E731
    monkeypatch.setattr(l1, "follow_lasso_path", broken)
    monkeypatch.setattr(l1, "LARGEST_PROGRAM", 10)
    result = basis_pursuit(SMALL["sparse"])
    assert not result.solved
    assert "no optimum was certified" in result.message


def test_basis_pursuit_says_when_nothing_interpolates():
    problem = LinearRegression.random(features=5, samples=20, noise=0.1, seed=0)
    result = basis_pursuit(problem)
    assert not result.solved
    assert "no vector interpolates" in result.message
    assert np.isnan(result.solution).all()
    assert np.isnan(result.value)
    assert not recovers(result, problem.truth)


def test_basis_pursuit_of_a_consistent_tall_system_is_its_solution():
    problem = LinearRegression.random(features=5, samples=20, seed=0)
    result = basis_pursuit(problem)
    assert result.solved
    np.testing.assert_allclose(result.solution, problem.truth, atol=1e-13)


def test_basis_pursuit_ignores_repeated_measurements():
    problem = SMALL["sparse"]
    design, targets = arrays(problem)
    twice = LinearRegression(np.vstack([design, design]), np.concatenate([targets, targets]))
    np.testing.assert_allclose(basis_pursuit(twice).solution, basis_pursuit(problem).solution, atol=1e-12)


def test_zero_targets_give_the_zero_vector():
    problem = LinearRegression([[1.0, 2.0]], [0.0])
    for result in (basis_pursuit(problem), lasso(problem, 0.1), min_norm(problem)):
        assert result.solved
        assert result.gap == 0
        np.testing.assert_array_equal(result.solution, [0.0, 0.0])


@cases
@pytest.mark.parametrize("strength", [1e-5, 1e-2])
def test_independent_lasso_against_cvxpy(problem, strength):
    design, targets = arrays(problem)
    a = cp.Variable(30)
    objective = cp.sum_squares(design @ a - targets) / 2 + strength * cp.norm1(a)
    cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    result = lasso(problem, strength)
    assert result.solved
    assert result.gap < 1e-15 / strength + 1e-13  # the residual is of size strength, known to rounding of y
    assert result.value <= objective.value * (1 + 1e-9)
    np.testing.assert_allclose(result.solution, a.value, atol=1e-5)


def test_closed_form_lasso_is_soft_thresholding_for_an_orthonormal_design():
    problem = LinearRegression(np.eye(4), [3.0, -2.0, 0.5, -0.1])
    np.testing.assert_allclose(lasso(problem, 1.0).solution, [2.0, -1.0, 0.0, 0.0], atol=1e-14)


def test_closed_form_lasso_vanishes_above_the_largest_correlation():
    problem = SMALL["sparse"]
    design, targets = arrays(problem)
    most = np.abs(design.T @ targets).max()
    assert not lasso(problem, most).solution.any()
    assert lasso(problem, 0.99 * most).solution.any()


def test_lasso_tends_to_basis_pursuit_at_first_order_in_the_strength():
    problem = SMALL["noise-free"]
    end = basis_pursuit(problem).solution
    away = [np.linalg.norm(lasso(problem, strength).solution - end) for strength in (1e-4, 1e-5, 1e-6)]
    np.testing.assert_allclose(np.array(away[:-1]) / away[1:], 10, rtol=1e-3)


def test_depth_does_not_change_what_is_measured():
    shallow, deep = SparseRecovery(30, 3, 15, seed=1), SparseRecovery(30, 3, 15, seed=1, depth=2)
    np.testing.assert_array_equal(basis_pursuit(shallow).solution, basis_pursuit(deep).solution)


def arrays(problem):
    return np.asarray(problem.design), np.asarray(problem.targets)
