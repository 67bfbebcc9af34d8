"""The minimum nuclear norm against closed forms, cvxpy and its own certificate."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import latebloom as lb
from latebloom.oracles.nuclear import minimum as oracle
from latebloom.oracles.nuclear.certificate import Certified, certify, is_unique
from latebloom.oracles.nuclear.constraints import EntryConstraints, RowConstraints
from latebloom.oracles.nuclear.interior import follow_central_path
from latebloom.oracles.nuclear.minimum import min_nuclear_norm
from latebloom.oracles.nuclear.newton import polish
from latebloom.oracles.nuclear.splitting import split
from latebloom.problems import MatrixCompletion, MatrixRegression, MatrixSensing, ObservedEntries
from latebloom.problems.matrix.entries import UnobservedWarning


def completion(size, rank, observed, seed, **options):
    return MatrixCompletion((size, size), rank, observed, seed=seed, **options)


SMALL = {
    **{f"entries {seed}": completion(8, 2, 44, seed) for seed in range(4)},
    "many entries": completion(6, 1, 30, 0),
    "noise": completion(6, 2, 26, 1, signal_to_noise=100.0),
    "bases": completion(7, 2, 36, 2, basis="random"),
    "wide": MatrixCompletion((5, 9), 1, 30, seed=3),
    "gaussian": MatrixSensing((6, 6), 1, 25, sensing="gaussian", seed=0),
    "gaussian, few": MatrixSensing((6, 7), 2, 20, sensing="gaussian", seed=1),
    "rank one": MatrixSensing((6, 6), 1, 26, seed=2),
    "rank one, tall": MatrixSensing((8, 5), 1, 25, normalise="printed", seed=3),
}
cases = pytest.mark.parametrize("problem", SMALL.values(), ids=SMALL.keys())


def measured(problem):
    return np.asarray(problem.design), np.asarray(problem.targets)


def nuclear(matrix):
    return float(np.linalg.norm(matrix, "nuc"))


def assert_certified(result, problem):
    """Everything the result claims, recomputed from the problem's own design."""
    design, targets = measured(problem)
    assert result.solved
    assert result.gap < 1e-12
    assert result.infeasibility < 1e-13
    assert np.linalg.norm(design @ result.solution.ravel() - targets) <= 1e-13 * np.linalg.norm(targets)
    assert result.value == pytest.approx(nuclear(result.solution), rel=1e-14)
    assert np.linalg.norm(result.dual, 2) <= 1 + 1e-14
    multipliers = np.linalg.lstsq(design.T, result.dual.ravel(), rcond=None)[0]
    np.testing.assert_allclose(design.T @ multipliers, result.dual.ravel(), atol=1e-12)  # a combination of rows
    assert targets @ multipliers == pytest.approx(result.value, rel=1e-11)


@pytest.mark.parametrize(
    ("corner", "row", "column"), [(4.0, 2.0, 2.0), (-3.0, 1.0, 2.0), (1.0, 2.0, 3.0), (1.0, -2.0, 1.0), (2.0, 0.0, 1.0)]
)
def test_closed_form_one_missing_entry(corner, row, column):
    """`|A|_*² = |A|² + 2 |det A|` for 2 x 2, so that x = bc/a as long as |bc| <= a², and ±a from there on."""
    expected = np.clip(row * column / corner, -abs(corner), abs(corner))
    result = min_nuclear_norm(ObservedEntries((2, 2), [(0, 0), (0, 1), (1, 0)], [corner, row, column]))
    assert result.solved
    # At |bc| = a² and beyond the norm is quadratic about its minimum: x is known to the root of the gap.
    np.testing.assert_allclose(result.solution, [[corner, row], [column, expected]], atol=1e-7)
    assert result.value**2 == pytest.approx(
        corner**2 + row**2 + column**2 + expected**2 + 2 * abs(corner * expected - row * column), rel=1e-12
    )


def test_closed_form_everything_observed():
    truth = np.random.default_rng(0).normal(size=(3, 4))
    result = min_nuclear_norm(ObservedEntries((3, 4), np.ones((3, 4), bool), truth.ravel(), truth=truth))
    np.testing.assert_array_equal(result.solution, truth)
    assert (result.recovery, result.unique, result.rank) == ("recovered", True, 3)
    assert result.gap < 1e-15
    assert result.value == pytest.approx(result.truth_norm, rel=1e-15)


def test_closed_form_all_directions_measured():
    truth = np.random.default_rng(1).normal(size=(3, 3))
    design = np.random.default_rng(2).normal(size=(12, 9))
    problem = MatrixRegression(design.reshape(12, 3, 3), design @ truth.ravel(), truth=truth)
    result = min_nuclear_norm(problem)
    np.testing.assert_allclose(result.solution, truth, atol=1e-13)
    assert result.recovery == "recovered"


def test_closed_form_the_trace_alone():
    """One measurement `<M, A> = y`: the minimum is `|y| / |M|_op`; with M = I it has many minimisers."""
    measurement = np.diag([3.0, 1.0])
    result = min_nuclear_norm(MatrixRegression([measurement], [6.0]))
    np.testing.assert_allclose(result.solution, [[2.0, 0.0], [0.0, 0.0]], atol=1e-9)
    assert (result.rank, result.unique) == (1, True)
    many = min_nuclear_norm(MatrixRegression([np.eye(2)], [6.0], truth=[[6.0, 0.0], [0.0, 0.0]]))
    assert many.value == pytest.approx(6.0, rel=1e-12)
    assert many.unique is False
    assert many.recovery == "not recoverable"  # as good as the solution, and one of many


def test_closed_form_zero_targets_give_the_zero_matrix():
    result = min_nuclear_norm(ObservedEntries((2, 2), [(0, 0), (1, 1)], [0.0, 0.0], truth=[[0.0, 1.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(result.solution, np.zeros((2, 2)))
    assert (result.solved, result.gap, result.infeasibility, result.rank) == (True, 0.0, 0.0, 0)
    assert result.recovery == "not recoverable"


def test_closed_form_unitary_invariance():
    plain = completion(7, 2, 38, 0)
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(7, 7)))[0] for _ in range(2))
    design, targets = measured(plain)
    turned = np.einsum("ia,nab,jb->nij", left, design.reshape(-1, 7, 7), right)
    here, there = min_nuclear_norm(plain), min_nuclear_norm(MatrixRegression(turned, targets))
    assert here.value == pytest.approx(there.value, rel=1e-12)
    np.testing.assert_allclose(left @ here.solution @ right.T, there.solution, atol=1e-8)


@pytest.mark.parametrize("axis", [0, 1])
def test_closed_form_a_line_never_observed_is_zero(axis):
    mask = np.random.default_rng(5).random((6, 6)) < 0.7
    mask[(slice(None), 2) if axis else 2] = False
    values = np.random.default_rng(6).normal(size=mask.sum())
    with pytest.warns(UnobservedWarning):
        problem = ObservedEntries((6, 6), mask, values)
    result = min_nuclear_norm(problem)
    assert_certified(result, problem)
    np.testing.assert_allclose(np.take(result.solution, 2, axis=axis), 0, atol=1e-12)


@cases
def test_independent_against_cvxpy(problem):
    cp = pytest.importorskip("cvxpy")
    design, targets = measured(problem)
    a = cp.Variable(problem.shape)
    program = cp.Problem(cp.Minimize(cp.normNuc(a)), [design @ cp.vec(a, order="C") == targets])
    program.solve(solver=cp.SCS, eps=1e-9, max_iters=50_000)
    result = min_nuclear_norm(problem)
    assert_certified(result, problem)
    assert result.value == pytest.approx(program.value, rel=1e-7)  # SCS at 1e-9 has norms right to 1e-8
    if result.unique:
        # The norm may be quadratic about the minimum: digits of the point are half those of the value.
        np.testing.assert_allclose(result.solution, a.value, atol=1e-3 * np.abs(a.value).max())


@pytest.mark.parametrize("seed", range(6))
def test_both_solvers_find_the_same_point(seed):
    problem = completion(10, 2, 70, seed)
    seen = EntryConstraints.of(np.asarray(problem.mask), np.asarray(problem.values))
    seen = seen.scaled(1 / np.linalg.norm(seen.adjoint(seen.values), 2))
    *_, interior = follow_central_path(seen)
    *_, splitting = split(seen, steps=1500)
    found, other = (certify(seen, point.matrix, point.multipliers, "") for point in (interior, splitting))
    assert max(found.gap, other.gap) < 1e-6  # neither polished
    assert nuclear(found.matrix) == pytest.approx(nuclear(other.matrix), rel=1e-6)


def test_newton_only_ever_improves():
    problem = completion(10, 2, 70, 1)
    seen = EntryConstraints.of(np.asarray(problem.mask), np.asarray(problem.values))
    for proposal in split(seen.scaled(5.0), steps=60):
        before = certify(seen.scaled(5.0), proposal.matrix, proposal.multipliers, "")
        assert polish(seen.scaled(5.0), proposal).gap <= before.gap


def test_the_two_kinds_of_constraints_agree():
    problem = completion(5, 1, 15, 0)
    entries = EntryConstraints.of(np.asarray(problem.mask), np.asarray(problem.values))
    rows = RowConstraints(entries.shape, problem.design.reshape(-1, 5, 5), entries.values, 0.0)
    rng = np.random.default_rng(0)
    primal, inverse = (half @ half.T for half in rng.normal(size=(2, 10, 10)))
    left, right = rng.normal(size=(2, 5, 3))
    np.testing.assert_allclose(entries.schur(primal, inverse), rows.schur(primal, inverse), atol=1e-12)
    np.testing.assert_allclose(entries.normal(left, right), rows.normal(left, right), atol=1e-12)
    np.testing.assert_allclose(entries.project(primal[:5, 5:]), rows.project(primal[:5, 5:]), atol=1e-12)


def test_closed_form_schur_and_normal_are_what_they_say():
    rng = np.random.default_rng(0)
    rows = RowConstraints((3, 2), np.linalg.qr(rng.normal(size=(6, 4)))[0].T.reshape(4, 3, 2), rng.normal(size=4), 0.0)
    primal, inverse = (half @ half.T for half in rng.normal(size=(2, 5, 5)))
    lifted = [np.block([[np.zeros((3, 3)), d], [d.T, np.zeros((2, 2))]]) / 2 for d in rows.directions]
    expected = [[np.trace(a @ primal @ b @ inverse) for b in lifted] for a in lifted]
    np.testing.assert_allclose(rows.schur(primal, inverse), expected, atol=1e-12)
    left, right = rng.normal(size=(3, 2)), rng.normal(size=(2, 2))
    moves = np.eye(10).reshape(10, 5, 2)
    jacobian = np.array([rows.measure(move[:3] @ right.T + left @ move[3:].T) for move in moves])
    np.testing.assert_allclose(rows.normal(left, right), jacobian @ jacobian.T, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_recoverable_draws_equal_the_truth(seed):
    problem = completion(20, 2, 350, seed)
    result = min_nuclear_norm(problem)
    assert_certified(result, problem)
    assert (result.recovery, result.rank, result.unique) == ("recovered", 2, True)
    np.testing.assert_allclose(result.solution, problem.truth, atol=1e-12)
    assert result.value == pytest.approx(result.truth_norm, rel=1e-13)


def test_draws_at_10x10_rank_2_and_70_entries():
    """Three in four are not recoverable, and then something of smaller norm fits."""
    problems = [completion(10, 2, 70, seed) for seed in range(25)]
    results = [min_nuclear_norm(problem) for problem in problems]
    assert all(result.solved and result.gap < 1e-8 and result.infeasibility < 1e-14 for result in results)
    assert {result.recovery for result in results} == {"recovered", "not recoverable"}
    for result, problem in zip(results, problems, strict=True):
        beaten = result.truth_norm / result.value - 1
        assert (beaten > 1e-6) == (result.recovery == "not recoverable")
        assert (np.linalg.norm(result.solution - problem.truth) < 1e-9) == (result.recovery == "recovered")
    assert 2 <= sum(result.recovery == "recovered" for result in results) <= 12


def test_larger_matrices_go_through_splitting():
    recoverable, other = completion(40, 3, 800, 0), completion(40, 3, 800, 4)
    for problem, verdict in ((recoverable, "recovered"), (other, "not recoverable")):
        result = min_nuclear_norm(problem)
        assert (result.recovery, result.gap < 1e-12, result.infeasibility < 1e-14) == (verdict, True, True)
        assert "Douglas-Rachford" in result.method


def test_without_a_truth_there_is_no_verdict():
    result = min_nuclear_norm(ObservedEntries((2, 2), [(0, 0), (0, 1), (1, 0)], [4.0, 2.0, 2.0]))
    assert result.recovery == "no truth"
    assert np.isnan(result.truth_norm)


def test_redundant_measurements_change_nothing():
    problem = SMALL["gaussian"]
    design, targets = measured(problem)
    twice = MatrixRegression(
        np.vstack([design, 2 * design, design[:1] + design[1:2]]).reshape(-1, 6, 6),
        np.concatenate([targets, 2 * targets, targets[:1] + targets[1:2]]),
    )
    np.testing.assert_allclose(min_nuclear_norm(twice).solution, min_nuclear_norm(problem).solution, atol=1e-9)


def test_inconsistent_targets_are_refused_with_a_sentence():
    design = np.random.default_rng(0).normal(size=(9, 2, 2))
    problem = MatrixRegression(design, np.arange(9.0), truth=np.eye(2))
    result = min_nuclear_norm(problem)
    assert not result.solved
    assert "no matrix interpolates" in result.message
    assert np.isnan(result.solution).all()
    assert result.solution.shape == result.dual.shape == (2, 2)
    assert (result.recovery, result.unique, result.rank) == ("undecided", None, 0)
    assert result.truth_norm == pytest.approx(2.0)


def test_the_scale_of_the_targets_plays_no_part():
    small, large = (completion(8, 2, 44, 0, truth_norm=norm) for norm in (1e-6, 1e6))
    one, other = min_nuclear_norm(small), min_nuclear_norm(large)
    assert one.value / other.value == pytest.approx(1e-12, rel=1e-12)
    np.testing.assert_allclose(1e12 * one.solution, other.solution, rtol=1e-7, atol=1)


@pytest.mark.parametrize("seed", range(3))
def test_a_perturbed_solution_has_a_larger_gap(seed):
    problem = completion(8, 2, 44, seed)
    seen = EntryConstraints.of(np.asarray(problem.mask), np.asarray(problem.values))
    result = min_nuclear_norm(problem)
    push = np.random.default_rng(seed).normal(size=(8, 8))
    gaps = [certify(seen, result.solution + size * push, seen.measure(result.dual), "").gap for size in (0, 1e-3, 1e-1)]
    assert gaps[0] < 1e-12
    assert 1e-9 < gaps[1] < gaps[2]
    turned = certify(seen, result.solution, seen.measure(result.dual + 0.01 * push), "")
    assert turned.gap > 1e-4
    assert np.linalg.norm(turned.dual, 2) <= 1 + 1e-14


def test_a_dual_that_leaves_room_where_the_solution_has_none_proves_nothing():
    """Closed form: `[[1, a], [b, 0]]` has nuclear norm `√(1 + (|a| + |b|)²)`, so that a = b = 0 is the only minimum.

    The dual I is optimal too, and in its face there is a direction that no measurement sees; but A does not have full
    rank there and cannot move along it: this pair cannot tell. The dual diag(1, 0) can.
    """
    seen = EntryConstraints.of(np.eye(2), np.diag([1.0, 0.0]))
    least = np.diag([1.0, 0.0])
    assert is_unique(seen, Certified(least, np.eye(2), 0.0, "by hand")) is None
    assert is_unique(seen, Certified(least, least, 0.0, "by hand")) is True
    assert is_unique(EntryConstraints.of(np.eye(2), np.eye(2)), Certified(np.eye(2), np.eye(2), 0.0, "")) is False


def test_a_weak_certificate_decides_nothing():
    problem = completion(8, 2, 44, 0)
    seen = EntryConstraints.of(np.asarray(problem.mask), np.asarray(problem.values))
    assert is_unique(seen, certify(seen, np.zeros((8, 8)), np.zeros(44), "")) is None


def test_an_exhausted_budget_is_said(monkeypatch):
    monkeypatch.setattr(oracle, "SMALL", 0)
    monkeypatch.setattr(oracle, "LARGEST_PROGRAM", 0)
    monkeypatch.setattr(oracle, "LONG", 3)
    result = min_nuclear_norm(completion(20, 3, 200, 0))
    assert not result.solved
    assert "no optimum was certified: gap" in result.message
    assert result.gap > 1e-6
    assert result.infeasibility < 1e-14
    assert (result.recovery, result.unique) == ("undecided", None)


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
