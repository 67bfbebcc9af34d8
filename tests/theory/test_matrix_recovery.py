"""The rank null space property: bounds against cvxpy, closed forms and sampling of the kernel."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import null_space

from latebloom.penalties import L1, NuclearNorm
from latebloom.problems import MatrixCompletion, MatrixRegression, MatrixSensing
from latebloom.theory import (
    null_space_relative,
    rank_null_space_lower_bound,
    recovery_constants,
    robust_constant,
)

LOOSE = {"tol_gap_abs": 1e-6, "tol_gap_rel": 1e-6, "tol_feas": 1e-6}  # what Clarabel can meet on every processor


def head_and_tail(matrix, rank):
    sigma = np.linalg.svd(matrix, compute_uv=False)
    return sigma[..., :rank].sum(-1), sigma[..., rank:].sum(-1)


def small(seed, measurements=14):
    return MatrixSensing(shape=(5, 4), rank=1, measurements=measurements, sensing="gaussian", seed=seed)


def tangent_parts(problem, kernel):
    """`-<U Vᵀ, H>` and `|P_T⊥ H|_*` by their definitions."""
    truth = np.asarray(problem.truth)
    u, sigma, vt = np.linalg.svd(truth, full_matrices=False)
    u, v = u[:, sigma > 1e-10], vt[sigma > 1e-10].T
    outside = (np.eye(len(u)) - u @ u.T) @ kernel @ (np.eye(len(v)) - v @ v.T)
    return -np.sum(kernel * (u @ v.T), axis=(-2, -1)), np.linalg.svd(outside, compute_uv=False).sum(-1)


def kernel_samples(problem, count, seed=0):
    basis = null_space(np.asarray(problem.design))
    draws = np.random.default_rng(seed).normal(size=(count, basis.shape[1]))
    return (draws @ basis.T).reshape(count, *problem.shape)


def test_independent_relative_constant_against_its_primal_in_cvxpy():
    for seed in range(4):
        problem = small(seed)
        truth = np.asarray(problem.truth)
        u, _, vt = np.linalg.svd(truth)
        basis = null_space(np.asarray(problem.design))
        h = cp.reshape(basis @ cp.Variable(basis.shape[1]), truth.shape, order="C")
        outside = cp.normNuc(u[:, 1:].T @ h @ vt[1:].T) <= 1
        program = cp.Problem(cp.Maximize(-cp.sum(cp.multiply(np.outer(u[:, 0], vt[0]), h))), [outside])
        found = null_space_relative(problem)
        assert found.lower <= found.upper <= found.lower * (1 + 1e-6)
        assert found.upper == pytest.approx(program.solve(solver=cp.CLARABEL), rel=1e-5)  # cvxpy's tolerance


def test_the_relative_constant_decides_recovery_both_ways():
    """Independent: nuclear-norm minimisation in cvxpy returns the truth if and only if the constant is below 1."""
    seen = set()
    for seed in range(10):
        problem = small(seed, measurements=12)
        a = cp.Variable(problem.shape)
        design = np.asarray(problem.design)
        fits = design @ cp.vec(a, order="C") == design @ np.ravel(problem.truth)
        cp.Problem(cp.Minimize(cp.normNuc(a)), [fits]).solve(solver=cp.CLARABEL, **LOOSE)
        distance = np.linalg.norm(a.value - problem.truth) / np.linalg.norm(problem.truth)
        assert not 1e-4 < distance < 1e-2  # solved to 1e-6, it is below 1e-5 or above 0.09
        recovered = bool(distance < 1e-3)
        found = null_space_relative(problem)
        assert found.recovered == recovered
        assert ("unique" in found.sentence) == recovered
        seen.add(recovered)
    assert seen == {True, False}


@pytest.mark.parametrize(
    "problem", [small(0), small(1, 10), MatrixCompletion(observed=80)], ids=["14", "10", "entries"]
)
def test_no_matrix_of_the_kernel_exceeds_the_upper_bound(problem):
    gain, outside = tangent_parts(problem, kernel_samples(problem, 3000))
    found = null_space_relative(problem)
    assert (np.abs(gain) <= found.upper * outside).all()
    assert found.upper - found.lower <= 1e-6 * found.upper


def test_closed_form_relative_constant_of_one_dimension():
    for seed in range(5):
        problem = small(seed, measurements=19)
        gain, outside = tangent_parts(problem, kernel_samples(problem, 1))
        assert null_space_relative(problem).upper == pytest.approx(abs(gain[0]) / outside[0], rel=1e-6)


def test_closed_form_ends_of_the_scale():
    def problem(kernel, truth):
        rows = null_space(np.ravel(kernel)[None]).T.reshape(-1, 2, 2)
        return MatrixRegression(rows, rows.reshape(len(rows), -1) @ np.ravel(truth), truth=truth)

    corner = np.diag([1.0, 0.0])
    whole = MatrixRegression(np.eye(4).reshape(4, 2, 2), np.zeros(4), truth=corner)
    assert null_space_relative(whole).recovered
    assert null_space_relative(problem(np.eye(2), np.zeros((2, 2)))).recovered
    worst = null_space_relative(problem(corner, corner))  # the kernel is the truth itself
    assert worst.lower == np.inf
    assert worst.recovered is False
    assert worst.minimiser is False
    edge = null_space_relative(problem(np.diag([1.0, -1.0]), corner))
    assert edge.upper == pytest.approx(1)
    # A tangent direction in the kernel: recovered by curvature in the first case, not in the second, and the
    # constant tells neither.
    for kernel, truth in (([[0.0, 1.0], [1.0, 0.0]], corner), (np.diag([1.0, -1.0]), np.eye(2))):
        found = null_space_relative(problem(kernel, truth))
        assert found.upper == 0
        assert found.injectivity == 0
        assert found.minimiser
        assert found.recovered is None
        assert "first order does not tell" in found.sentence
    norms = [np.linalg.norm(np.eye(2) + t * np.diag([1.0, -1.0]), "nuc") for t in (0, 0.5)]
    assert norms[0] == norms[1]


def test_the_lower_bound_is_reached_by_its_witness():
    problem = MatrixSensing(shape=(6, 6), rank=1, measurements=30, sensing="gaussian", seed=0)
    design = np.asarray(problem.design)
    for rank in (1, 2):
        bound = rank_null_space_lower_bound(design, (6, 6), rank, starts=4)
        head, tail = head_and_tail(bound.witness, rank)
        assert bound.lower == pytest.approx(head / tail)
        assert np.linalg.norm(design @ bound.witness.ravel()) < 1e-12
        head, tail = head_and_tail(kernel_samples(problem, 3000), rank)
        assert bound.lower >= np.max(head / tail)
        assert bound.fails == (bound.lower >= 1)
        assert not bound.exact
        assert ("fails" if bound.fails else "not decided") in bound.sentence


def test_a_witness_of_failure_is_a_matrix_that_is_not_recovered():
    problem = MatrixSensing(shape=(6, 6), rank=2, measurements=28, sensing="gaussian", seed=0)
    bound = rank_null_space_lower_bound(problem.design, (6, 6), 2)
    assert bound.fails
    u, sigma, vt = np.linalg.svd(bound.witness)
    truth = -(u[:, :2] * sigma[:2]) @ vt[:2]  # truth + witness has the tail alone
    unlucky = MatrixRegression(problem.design.reshape(-1, 6, 6), problem.targets, truth=truth)
    assert np.linalg.norm(truth + bound.witness, "nuc") <= np.linalg.norm(truth, "nuc")
    assert null_space_relative(unlucky).recovered is False


def test_closed_form_kernels_of_dimension_zero_and_one():
    none = rank_null_space_lower_bound(np.eye(4), (2, 2), 1)
    assert (none.lower, none.exact, none.witness) == (0.0, True, None)
    assert "holds with constant 0" in none.sentence
    u, v = (np.linalg.qr(np.random.default_rng(s).normal(size=(3, 3)))[0] for s in (0, 1))
    design = null_space(((u * [4.0, 2.0, 1.0]) @ v).reshape(1, 9)).T
    for rank, expected in ((1, 4 / 3), (2, 6), (3, np.inf)):
        bound = rank_null_space_lower_bound(design, (3, 3), rank)
        assert bound.lower == pytest.approx(expected)
        assert bound.exact


def test_matrix_completion_never_has_the_property():
    """One entry that is not observed is a matrix of rank 1 in the kernel, in any bases."""
    for basis in ("identity", "random"):
        problem = MatrixCompletion((5, 5), 1, 24, basis=basis)
        assert rank_null_space_lower_bound(problem.design, (5, 5), 1).lower > 1e12
    problem = MatrixCompletion(observed=70)
    assert rank_null_space_lower_bound(problem.design, (10, 10), 2).lower == np.inf
    turned = MatrixCompletion((6, 6), 1, 30, basis="random")
    assert rank_null_space_lower_bound(turned.design, (6, 6), 1, starts=4).lower > 1e6


def test_the_robust_inequality_holds_for_random_matrices():
    problem = MatrixSensing(shape=(5, 5), rank=1, measurements=24, sensing="gaussian", seed=0)
    design = np.asarray(problem.design)
    rho = rank_null_space_lower_bound(design, (5, 5), 1).lower  # exact: a kernel of dimension 1
    tau = robust_constant(design, rho, shape=(5, 5))
    random = np.random.default_rng(0)
    nearly = kernel_samples(problem, 500) + 0.1 * random.normal(size=(500, 5, 5))
    for matrices in (random.normal(size=(500, 5, 5)), nearly):
        head, tail = head_and_tail(matrices, 1)
        assert (head <= rho * tail + tau * np.linalg.norm(matrices.reshape(-1, 25) @ design.T, axis=1)).all()


def test_closed_form_constants_of_theorem_35():
    whole = MatrixRegression(np.eye(6).reshape(6, 2, 3), np.ones(6), truth=np.ones((2, 3)))
    constants = recovery_constants(whole, 0.5, NuclearNorm(1e-4), rho=0.5, tau=1.0, descent_constant=2.0)
    assert constants.eta == pytest.approx(1.5)
    assert constants.noise == pytest.approx(8)
    assert constants.strength == pytest.approx(3 + 4 * np.sqrt(2) / (0.5 * 0.5))
    assert constants.strength_as_printed == pytest.approx(3 + 4 * np.sqrt(6) / (0.5 * 0.5))
    wide = recovery_constants(small(0), 0.1, NuclearNorm(1e-4), rho=0.5, tau=1.0)
    assert wide.strength_as_printed == np.inf
    assert wide.strength < recovery_constants(small(0), 0.1, L1(1e-5), rho=0.5, tau=1.0).strength
