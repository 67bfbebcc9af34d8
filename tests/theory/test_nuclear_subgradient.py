"""Theorem 3.4 and its lemmas against the plain iteration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latebloom.oracles import least_squares
from latebloom.penalties import L1, NuclearNorm
from latebloom.problems import MatrixCompletion, MatrixRegression, MatrixSensing
from latebloom.theory import (
    conditions,
    delay_estimate,
    generalisation_delay,
    largest_stable_learning_rate,
    memorisation_radius,
    memorisation_step,
    shrinking_steps,
    wedin_bound,
)

SENSING = MatrixSensing(shape=(6, 5), rank=1, measurements=18, signal_to_noise=1e6, seed=0)


def polar(matrix):
    u, sigma, vt = np.linalg.svd(matrix, full_matrices=False)
    keep = sigma > 1e-12 * max(sigma[0], 1e-300)
    return u[:, keep] @ vt[keep]


def descend(problem, learning_rate, strength, steps):
    design, targets, a = (np.asarray(x) for x in (problem.design, problem.targets, problem.init()))
    for _ in range(steps):
        gradient = ((design @ a.ravel() - targets) @ design).reshape(a.shape)
        a = a - learning_rate * (gradient + strength * polar(a))
        yield a


def test_the_radius_is_reached_by_its_step_and_kept():
    learning_rate, strength = 0.1, 1e-3
    step = int(memorisation_step(SENSING, learning_rate, NuclearNorm(strength)).step)
    radius = memorisation_radius(SENSING, learning_rate, NuclearNorm(strength))
    design = np.asarray(SENSING.design)
    rows = np.linalg.pinv(design) @ design
    centre = least_squares(SENSING).solution
    iterates = descend(SENSING, learning_rate, strength, step + 2000)
    away = np.array([np.linalg.norm(rows @ (a - centre).ravel()) for a in iterates])
    assert away[0] > radius
    assert (away[step - 1 :] <= radius).all()


def test_closed_form_radius_and_what_is_printed():
    identity = MatrixRegression(np.eye(6).reshape(6, 2, 3), np.ones(6), truth=np.ones((2, 3)))
    assert memorisation_radius(identity, 0.5, NuclearNorm(1e-3)) == pytest.approx(2 * 0.5e-3 * np.sqrt(2) / 0.5)
    printed = memorisation_radius(identity, 0.5, NuclearNorm(1e-3), as_printed=True)
    assert printed == pytest.approx(2 * 0.5e-3 * np.sqrt(6) / 0.5)
    assert np.isfinite(memorisation_step(identity, 0.5, NuclearNorm(1e-3)).as_printed)
    assert memorisation_radius(SENSING, 0.1, NuclearNorm(1e-3), as_printed=True) == np.inf
    assert memorisation_step(SENSING, 0.1, NuclearNorm(1e-3)).as_printed == np.inf


def test_the_norm_of_a_subgradient_is_sharp():
    matrix = np.random.default_rng(0).normal(size=(4, 7))
    assert np.linalg.norm(polar(matrix)) == pytest.approx(np.sqrt(4))  # and not √28


def test_conditions_turn_where_they_should():
    most = largest_stable_learning_rate(SENSING)
    assert [conditions(SENSING, f * most, NuclearNorm(1e-5))[0].holds for f in (0.999, 1.001)] == [True, False]
    limit = np.linalg.norm(SENSING.design, 2) ** 2 / np.sqrt(5)
    assert [conditions(SENSING, 0.1, NuclearNorm(f * limit))[1].holds for f in (0.999, 1.001)] == [True, False]
    found = {c.name: c for c in conditions(SENSING, 0.1, NuclearNorm(1e-5))}
    noise = np.asarray(SENSING.targets) - np.asarray(SENSING.design) @ np.ravel(SENSING.truth)
    assert found["noise"].value == pytest.approx(np.sum((noise @ np.asarray(SENSING.design)) ** 2) / 1e-6)
    assert not conditions(SENSING, 0.1, NuclearNorm(1e-5), noise_constant=1e-12)[2].holds


def test_the_penalty_chooses_the_theorem():
    """On a matrix, l1 is Theorem 3.1 about its entries: n = n1 n2, and the largest entry."""
    entries, values = (conditions(SENSING, 0.1, penalty)[1] for penalty in (L1(1e-3), NuclearNorm(1e-3)))
    assert entries.value == pytest.approx(values.value * np.sqrt(6))
    assert (entries.source[-3:], values.source[-3:]) == ("3.1", "3.4")
    away = np.asarray(least_squares(SENSING, SENSING.init()).solution - SENSING.truth)
    assert delay_estimate(SENSING, 0.1, L1(1e-3)).step == pytest.approx(np.abs(away).max() / 1e-4)


def test_closed_form_delays():
    away = np.asarray(least_squares(SENSING, SENSING.init()).solution - SENSING.truth)
    assert delay_estimate(SENSING, 0.1, NuclearNorm(1e-3)).step == pytest.approx(np.linalg.norm(away, 2) / 1e-4)
    assert delay_estimate(SENSING, 0.1, NuclearNorm(1e-3), params=SENSING.truth).step == 0
    # The delay of Theorem 3.4 is the one of Theorem 3.1 in the Frobenius norm.
    delay = generalisation_delay(SENSING, 0.1, NuclearNorm(1e-3), eta=0.5)
    assert delay.step == pytest.approx(np.linalg.norm(away) ** 2 / (1e-4 * 0.5))


def test_the_delay_estimate_scales_as_the_true_one():
    problem = MatrixSensing(shape=(5, 5), rank=1, measurements=20, seed=2)
    ratios = []
    for strength in (2e-3, 1e-3):
        predicted = delay_estimate(problem, 0.2, NuclearNorm(strength)).step
        iterates = descend(problem, 0.2, strength, int(3 * predicted))
        errors = np.array([np.linalg.norm(a - problem.truth) for a in iterates]) / np.linalg.norm(problem.truth)
        ratios.append(int(np.argmax(errors <= 0.05)) / predicted)
    assert 1 < min(ratios) < max(ratios) < 2
    assert ratios[1] == pytest.approx(ratios[0], rel=0.2)


def test_the_delay_is_sufficient_and_not_necessary():
    problem, learning_rate, strength = MatrixCompletion(shape=(6, 6), rank=1, observed=30, seed=2), 0.5, 2e-3
    iterates = list(descend(problem, learning_rate, strength, 800))
    first = int(memorisation_step(problem, learning_rate, NuclearNorm(strength)).step)
    excess = np.array([np.linalg.norm(a, "nuc") for a in iterates[first:]]) - np.linalg.norm(problem.truth, "nuc")
    true, bound = [], []
    for eta in (0.1, 0.01):
        assert excess.min() <= eta / 2 < excess[0]
        true.append(int(np.argmax(excess <= eta / 2)))
        bound.append(
            generalisation_delay(problem, learning_rate, NuclearNorm(strength), eta=eta, params=iterates[first]).step
        )
    assert true[0] < bound[0]
    assert true[1] < bound[1] / 10  # "only if" would make them equal
    assert true[1] < 2 * true[0]  # the true delay saturates


def plain_shrinking(matrix, step):
    """The iteration itself, until the spectral norm is below the step and once more to see that it stays."""
    count = 0
    while np.linalg.norm(matrix, 2) >= step * (1 - 1e-9):
        matrix, count = matrix - step * polar(matrix), count + 1
    after = matrix - step * polar(matrix)
    assert np.linalg.norm(after, 2) < step
    np.testing.assert_allclose(after - step * polar(after), matrix, atol=1e-12)  # period 2: nothing is stationary
    return count, np.linalg.svd(matrix, compute_uv=False)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=4), st.integers(0, 1000))
def test_lemma_c42_against_the_plain_iteration(quarters, seed):
    """Singular values in quarters of the step, so that multiples occur: exact in binary."""
    random = np.random.default_rng(seed)
    size = len(quarters)
    u, v = (np.linalg.qr(random.normal(size=(side, size)))[0] for side in (size + 1, size))
    sigma = np.array(quarters) * 0.125
    end = shrinking_steps((u * sigma) @ v.T, 0.5)
    assert end.steps == int(max(quarters)) // 4
    count, values = plain_shrinking(np.diag(sigma), 0.5)
    assert count == end.steps
    np.testing.assert_allclose(end.singular_values, values, atol=1e-12)
    assert end.rank == sum(q % 4 != 0 for q in quarters)
    assert end.rank_as_printed == sum(q % 4 == 0 and q > 0 for q in quarters)


def test_lemma_c42_item_3_prints_the_complement():
    end = shrinking_steps(np.diag([1.0, 0.7, 0.3]), 0.5)
    assert (end.steps, end.rank, end.rank_as_printed) == (2, 2, 1)
    assert plain_shrinking(np.diag([1.0, 0.7, 0.3]), 0.5)[0] == 2
    assert shrinking_steps(np.zeros((2, 3)), 0.5).steps == 0
    tiny = shrinking_steps(1e-20 * np.eye(2), 0.5)
    assert (tiny.steps, tiny.rank) == (0, 2)


def random_pair(random):
    rows, columns = random.integers(1, 6, 2)
    rank = random.integers(1, min(rows, columns) + 1)
    factors = [random.normal(size=(side, rank)) for side in (rows, columns, rows, columns)]
    matrix, other = factors[0] @ factors[1].T, factors[2] @ factors[3].T
    moves = (
        random.normal(size=(rows, columns)),
        matrix - other,
        matrix @ random.normal(size=(columns, columns)),  # within the column space: the rank stays
        factors[0] @ random.normal(size=(rank, rank)) @ factors[1].T,
    )
    truth = moves[random.integers(len(moves))]
    smallest = np.linalg.svd(matrix, compute_uv=False)[rank - 1]
    return matrix, truth * random.uniform(0, 1.5) * smallest / np.linalg.norm(truth, 2)


def test_lemma_c45_holds_for_equal_ranks_and_the_correction_always():
    random = np.random.default_rng(0)
    tally = {"equal": 0, "fails": 0}
    for _ in range(2000):
        matrix, truth = random_pair(random)
        found = wedin_bound(matrix, truth)
        assert found.measured <= found.corrected * (1 + 1e-9)
        equal = np.linalg.matrix_rank(matrix) == np.linalg.matrix_rank(matrix - truth)
        if found.applies and equal:
            assert found.holds
            assert found.corrected <= found.bound * (1 + 1e-9)
        tally["equal"] += found.applies and equal
        tally["fails"] += found.applies and not found.holds
    assert tally["equal"] > 500
    assert tally["fails"] > 20


def test_closed_form_counterexample_to_lemma_c45():
    found = wedin_bound(np.diag([2.0, 0.0]), np.diag([0.0, 1e-3]))
    assert found.applies
    assert not found.holds
    assert found.measured == pytest.approx(1)
    assert found.bound == pytest.approx(2 * np.sqrt(2) * 1e-3 / (2 - 1e-3))
    assert found.corrected == pytest.approx(1)
    same = wedin_bound(np.diag([2.0, 1.0]), np.diag([0.5, 0.25]))
    assert same.measured == pytest.approx(0, abs=1e-15)  # Lemma C.43: common singular directions
    nothing = wedin_bound(np.diag([2.0, 1.0]), np.zeros((2, 2)))
    assert (nothing.measured, nothing.bound, nothing.corrected) == (0, 0, 0)
    assert not wedin_bound(np.eye(2), 2 * np.eye(2)).applies
    # The paper's own example of different directions.
    assert wedin_bound([[2.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]).holds
