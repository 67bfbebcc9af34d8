"""Null space constants against their definition and against basis pursuit."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from latebloom.oracles import basis_pursuit, recovers
from latebloom.penalties import L1
from latebloom.problems import LinearRegression, SparseRecovery
from latebloom.theory import (
    null_space_constant,
    recovery_constants,
    recovery_error_bound,
    robust_constant,
)


def signed_constant(problem):
    support = np.flatnonzero(problem.truth)
    return null_space_constant(problem.design, support, signs=np.sign(np.asarray(problem.truth)[support]))


def test_closed_form_kernel_of_one_dimension():
    design = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 3.0]])  # kernel: multiples of (1, 3, -1)
    assert null_space_constant(design, [0]) == pytest.approx(1 / 4)
    assert null_space_constant(design, [1]) == pytest.approx(3 / 2)
    assert null_space_constant(design, [0, 1]) == pytest.approx(4)
    assert null_space_constant(design, [0, 1], signs=[1, -1]) == pytest.approx(2)
    assert null_space_constant(design, np.array([False, True, False])) == pytest.approx(3 / 2)


def test_closed_form_ends_of_the_scale():
    assert null_space_constant(np.eye(3), [0, 1]) == 0  # trivial kernel
    assert null_space_constant([[1.0, 2.0]], []) == 0
    assert null_space_constant([[1.0, 0.0]], [1]) == np.inf  # the kernel is the support
    # Signs alone would make this bounded (the kernel vector sums to zero), but nothing is unique on that support.
    assert null_space_constant([[1.0, 1.0, 0.5]], [0, 1], signs=[1, 1]) == np.inf


def test_independent_primal_program_in_cvxpy():
    problem = SparseRecovery(20, 3, 10, seed=1)
    design, support = np.asarray(problem.design), [2, 5, 7]
    outside = np.setdiff1d(np.arange(20), support)
    best = 0.0
    for signs in ([1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]):
        u = cp.Variable(20)
        program = cp.Problem(cp.Maximize(np.array(signs) @ u[support]), [design @ u == 0, cp.norm1(u[outside]) <= 1])
        best = max(best, float(program.solve(solver=cp.CLARABEL)))
    assert null_space_constant(design, support) == pytest.approx(best, rel=1e-6)


def test_the_signed_constant_decides_recovery_both_ways():
    """Without noise, basis pursuit recovers the truth if and only if the constant for its signs is below 1."""
    seen = set()
    for seed in range(30):
        problem = SparseRecovery(40, 4, 14, seed=seed, signal_to_noise=np.inf)
        recovered = recovers(basis_pursuit(problem), problem.truth)
        assert recovered == (signed_constant(problem) < 1)
        seen.add(recovered)
    assert seen == {True, False}  # both directions were exercised


def test_the_unsigned_constant_is_the_largest_signed_one():
    problem = SparseRecovery(20, 3, 10, seed=2)
    support = np.flatnonzero(problem.truth)
    assert null_space_constant(problem.design, support) >= signed_constant(problem) - 1e-9


def test_the_robust_inequality_holds_for_random_vectors():
    problem = SparseRecovery(20, 2, 12, seed=0)
    design, support = np.asarray(problem.design), np.asarray(problem.truth) != 0
    rho = null_space_constant(design, support)
    tau = robust_constant(design, rho)
    for u in np.random.default_rng(0).normal(size=(500, 20)):
        inside, outside = np.abs(u[support]).sum(), np.abs(u[~support]).sum()
        assert inside <= rho * outside + tau * np.linalg.norm(design @ u)


def test_the_recovery_bound_holds_around_the_truth():
    problem = SparseRecovery(20, 2, 12, seed=0)
    support = np.asarray(problem.truth) != 0
    rho = null_space_constant(problem.design, support)
    assert rho < 1
    tau = robust_constant(problem.design, rho)
    truth = np.asarray(problem.truth)
    for shift in 0.1 * np.random.default_rng(1).normal(size=(200, 20)):
        bound = recovery_error_bound(problem, truth + shift, rho=rho, tau=tau)
        assert np.abs(shift).sum() <= bound * (1 + 1e-12)
    end = basis_pursuit(problem).solution
    assert np.abs(end - truth).sum() <= recovery_error_bound(problem, end, rho=rho, tau=tau)


def test_closed_form_constants_of_theorem_33():
    problem = LinearRegression([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    constants = recovery_constants(problem, 0.5, L1(1e-5), rho=0.5, tau=1.0, descent_constant=2.0)
    assert constants.eta == pytest.approx(1.5)
    assert constants.noise == pytest.approx(8)
    assert constants.strength == pytest.approx(3 + 4 * np.sqrt(2) / (0.5 * 0.5))
    assert constants.strength_as_printed == constants.strength
    wide = recovery_constants(SparseRecovery(), 0.1, L1(1e-5), rho=0.5, tau=1.0)
    assert wide.strength_as_printed == np.inf
    assert np.isfinite(wide.strength)


def test_closed_form_the_bound_off_the_data_and_the_robust_constant():
    """By hand: excess 2 and misfit 1 give (1.5 · 2 + 2 · 1) / 0.5; √4 times ρ or 1, whichever is larger."""
    problem = LinearRegression([[1.0, 2.0]], [2.0], truth=[0.0, 1.0])
    assert recovery_error_bound(problem, [3.0, 0.0], rho=0.5, tau=1.0) == pytest.approx(10)
    assert robust_constant([[1.0, 0.0, 0.0, 0.0]], rho=0.5) == pytest.approx(2)
    assert robust_constant([[1.0, 0.0, 0.0, 0.0]], rho=3.0) == pytest.approx(6)
