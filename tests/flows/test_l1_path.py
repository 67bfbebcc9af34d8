"""The exact slow flow of the l1 norm: by hand, against basis pursuit, against least squares in a box, and descent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, lsq_linear

import latebloom as lb
from latebloom.engine.outcome import Ending
from latebloom.flows import SlowPath, l1_path
from latebloom.flows.paths import l1
from latebloom.problems import LinearRegression, SparseRecovery


def smallest_norm(design: np.ndarray, targets: np.ndarray) -> float:
    """The minimum of |a|_1 subject to X a = y, by a linear program (HiGHS)."""
    size = design.shape[1]
    return float(linprog(np.ones(2 * size), A_eq=np.hstack([design, -design]), b_eq=targets, method="highs").fun)


def speeds(path: SlowPath) -> tuple[np.ndarray, np.ndarray]:
    """The velocity and the slope of the norm on every piece that is not shorter than rounding."""
    lengths = np.diff(path.slow_times)
    long = lengths > 1e-9 * path.end_time
    velocity = np.diff(path.points, axis=0)[long] / lengths[long, None]
    return velocity, np.diff(path.norms)[long] / lengths[long]


def test_closed_form_in_three_dimensions():
    """x = (1, 2, 3), y = 6: (3, 6, 9)/7 along (-4, -1, 2)/7 to (0, 3, 6)/4, then along (0, -3, 2)/13 to (0, 0, 2)."""
    path = l1_path(LinearRegression([[1.0, 2.0, 3.0]], [6.0]))
    np.testing.assert_allclose(path.slow_times, [0, 0.75, 4], atol=1e-14)
    np.testing.assert_allclose(path.points, [np.array([3, 6, 9]) / 7, [0, 0.75, 1.5], [0, 0, 2]], atol=1e-14)
    np.testing.assert_allclose(path.at([0.375, 0.75 + 13 / 12, 99.0])[1:], [[0, 0.5, 1 + 2 / 3], [0, 0, 2]], atol=1e-14)
    np.testing.assert_allclose(path.dual, [1 / 3, 2 / 3, 1], atol=1e-14)
    assert path.converged
    assert path.gap < 1e-14
    # |a - (0, 0, 2)| = 0.2 on the last piece, on which it is √13/13 (4 - s)
    assert path.crossing([0.0, 0.0, 2.0], 0.1) == pytest.approx(4 - 0.2 * np.sqrt(13))
    assert path.crossing([5.0, 0.0, 2.0], 0.1) is None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "size", [{}, {"signal_to_noise": float("inf")}, {"dimension": 200, "sparsity": 12, "measurements": 70}]
)
def test_it_ends_at_basis_pursuit(seed, size):
    """Also without noise, where a hundred components reach zero at the same time."""
    problem = SparseRecovery(seed=seed, **size)
    path, oracle = l1_path(problem), lb.oracles.basis_pursuit(problem)
    assert path.converged
    assert np.abs(path.end - oracle.solution).max() < 1e-10
    assert path.norms[-1] == pytest.approx(smallest_norm(np.asarray(problem.design), np.asarray(problem.targets)))
    assert np.abs(path.dual).max() <= 1
    assert path.gap < 1e-9
    # Invariants: it fits, the norm falls, and it falls by the square of the speed.
    assert path.infeasibility < 1e-10
    assert np.diff(path.norms).max() <= 1e-12
    velocity, slope = speeds(path)
    np.testing.assert_allclose(np.sum(velocity**2, axis=1), -slope, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_directions_against_least_squares_in_a_box(seed):
    """-P h with h = sign(a) where a is not zero, and the least |P h| over h in [-1, 1] where it is."""
    problem = SparseRecovery(dimension=40, sparsity=3, measurements=14, seed=seed)
    design = np.asarray(problem.design)
    kernel = np.eye(40) - np.linalg.pinv(design) @ design
    path = l1_path(problem)
    left = 0
    for k in range(0, path.events - 1, 3):
        if path.slow_times[k + 1] - path.slow_times[k] < 1e-7:
            continue
        point = path.points[k]
        rest, signs = point == 0, np.sign(point)
        if rest.any():
            signs[rest] = lsq_linear(kernel[:, rest], -kernel @ signs, (-1, 1), method="bvls", tol=1e-14).x
        velocity = (path.points[k + 1] - point) / (path.slow_times[k + 1] - path.slow_times[k])
        np.testing.assert_allclose(velocity, -kernel @ signs, atol=1e-6)
        left += int((np.abs(velocity[rest]) > 1e-6).sum())
    assert left > 0  # some components leave zero again, and their direction was right


def test_descent_follows_it_to_first_order():
    problem = SparseRecovery(dimension=40, sparsity=3, measurements=18, seed=1)
    path, slow_time, paces, gaps = l1_path(problem), 0.04, [4e-5, 4e-6, 4e-7], []
    assert path.end_time > slow_time
    for pace in paces:
        run = lb.train(
            problem, lb.ProjectedSubgradient(0.1), lb.L1(pace / 0.1), steps=round(slow_time / pace), progress=False
        )
        gaps.append(np.linalg.norm(run.params - path.at(slow_time)))
    slope = np.polyfit(np.log(paces), np.log(gaps), 1)[0]
    assert 0.8 < slope < 1.2
    assert gaps[-1] < 20 * paces[-1]


@given(st.integers(2, 7), st.integers(1, 6), st.integers(0, 10**6), st.booleans())
def test_small_integer_data_are_no_trap(size, rows, seed, from_truth):
    """Small whole numbers: ties, zeros at the start, redundant rows, more measurements than unknowns."""
    random = np.random.default_rng(seed)
    design = random.integers(-2, 3, size=(rows, size)).astype(float)
    truth = random.integers(-2, 3, size=size).astype(float)
    if not design.any():
        design[0, 0] = 1.0
    path = l1_path(LinearRegression(design, design @ truth), start=truth if from_truth else None)
    assert path.converged, path.outcome
    assert path.norms[-1] == pytest.approx(smallest_norm(design, design @ truth), abs=1e-9)
    assert path.infeasibility < 1e-10
    assert np.diff(path.norms).max(initial=0.0) <= 1e-10
    velocity, slope = speeds(path)
    np.testing.assert_allclose(np.sum(velocity**2, axis=1), -slope, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("seed", [15, 16, 69, 76])
def test_signs_as_data_are_no_trap(seed):
    """Entries ±1: ties everywhere. A component of full leverage has no pace but rounding, which must not pull it back.

    The seeds are four of the 13 in 150 at which it was pulled back, before there was a rule for it.
    """
    random = np.random.default_rng(8)
    for _ in range(seed + 1):
        design, truth = random.choice([-1.0, 1.0], size=(8, 20)), np.zeros(20)
        truth[:3] = random.choice([-1.0, 1.0], size=3)
    path = l1_path(LinearRegression(design, design @ truth))
    assert path.converged, path.outcome
    assert path.norms[-1] == pytest.approx(smallest_norm(design, design @ truth), abs=1e-9)
    assert path.infeasibility < 1e-10
    velocity, slope = speeds(path)
    np.testing.assert_allclose(np.sum(velocity**2, axis=1), -slope, rtol=1e-5, atol=1e-8)


def test_a_degenerate_end_is_certified_by_a_linear_program():
    """On this draw the vectors that the path has at hand leave a gap of 1e-7, though the point is exact."""
    problem = SparseRecovery(seed=16, signal_to_noise=float("inf"))
    path = l1_path(problem)
    assert path.converged
    assert path.gap < 1e-9
    assert np.abs(path.dual).max() <= 1
    assert np.abs(path.end - np.asarray(problem.truth)).max() < 1e-12


def test_an_end_without_a_certificate_is_not_an_end(monkeypatch):
    """The certificate alone decides: the same path, whose duality gap is said to be larger than is accepted."""
    problem = SparseRecovery(dimension=40, sparsity=3, measurements=18, seed=1)
    whole = l1_path(problem)
    monkeypatch.setattr(l1, "_certify", lambda walk, values, ended: (1e-6, whole.dual))
    path = l1_path(problem)
    assert path.outcome.ending is Ending.STOPPED
    assert not path.converged
    assert "without a certificate (relative duality gap 1.0e-06)" in path.outcome.sentence
    np.testing.assert_array_equal(path.points, whole.points)


def test_components_that_almost_arrive_together_leave_a_corner_that_fits():
    """Closed form: x = (1, 1, 2, 4), from x off the tie by 5e-12. Both are rounded to zero at once, and what that takes
    from X a, 4.5e-13 of it, is given back to the others."""
    row = np.array([1.0, 1.0, 2.0, 4.0])
    path = l1_path(LinearRegression([row], [22.0]), start=row + np.array([5e-12, -5e-12, 0.0, 0.0]))
    assert path.events == 2
    np.testing.assert_array_equal(path.points[1][:2], [0.0, 0.0])
    np.testing.assert_allclose(path.end, [0.0, 0.0, 0.0, 5.5], atol=1e-14)
    assert path.infeasibility < 1e-14


def test_a_matrix_is_followed_in_its_shape():
    path = l1_path(lb.problems.MatrixCompletion((3, 4), rank=1, observed=9, seed=1))
    assert path.points.shape[1:] == (3, 4)
    assert path.converged


def test_one_prediction_for_every_rate_and_strength():
    problem = SparseRecovery(seed=0)
    path = l1_path(problem)
    predict = lambda rate, strength: lb.theory.predicted_t2(problem, rate, lb.L1(strength), path=path)  # noqa: E731
    run = lb.train(problem, lb.ProjectedSubgradient(0.1), lb.L1(1e-4), steps=20_000, progress=False)
    assert predict(0.1, 1e-4).step == pytest.approx(run.milestones.generalised.step, rel=2e-3)
    assert predict(0.2, 1e-4).step == pytest.approx(predict(0.1, 1e-4).step / 2)
    unreached = lb.theory.predicted_t2(problem, 0.1, lb.L1(1e-4), threshold=1e-8, path=path)
    assert unreached.step == np.inf
    assert "never" in unreached.notes


def test_a_budget_is_an_outcome():
    problem = SparseRecovery(seed=0)
    path = l1_path(problem, max_events=10)
    assert path.outcome.ending is Ending.BUDGET
    assert "raise max_events" in path.outcome.sentence
    np.testing.assert_allclose(path.end, l1_path(problem).points[10])
