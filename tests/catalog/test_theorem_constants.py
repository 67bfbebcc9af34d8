"""The constants of Theorem 2.1 against closed forms, and distances to minimisers up to symmetry."""

from __future__ import annotations

import math

import numpy as np
import pytest

from latebloom.catalog.beyond_l2.misprint_examples import MisprintSettings, admissible, after_shrinking, excess
from latebloom.catalog.beyond_l2.small_losses import (
    FACTORS,
    LINEAR,
    NETWORK,
    TheoremSettings,
    constants,
    distance_to_least,
    least,
)

S = TheoremSettings()


def test_constants_of_a_linear_loss_are_those_of_its_matrix():
    found, problem = S.constants(LINEAR), S.loss(LINEAR)
    squares = np.linalg.svd(np.asarray(problem.design), compute_uv=False) ** 2
    assert found.chi == pytest.approx(2 * squares[-1], rel=1e-9)
    assert found.curvature == pytest.approx(squares[0], rel=1e-9)
    assert found.second == pytest.approx(np.abs(problem.design.T @ problem.design).max(), rel=1e-9)
    assert found.gradient == pytest.approx(np.linalg.norm(np.asarray(problem.gradient(problem.init()))), rel=1e-9)
    assert (found.pull, found.pull_entry) == (pytest.approx(math.sqrt(6)), 1.0)


def test_equations_7_to_9():
    found, rate, strength = S.constants(LINEAR), S.rate(LINEAR), 1e-3
    limits = (
        found.radius / ((found.first + found.beta_max) * math.sqrt(6)),
        2 * 0.3 / (6 * found.second),
        1 / (1.1 * math.sqrt(6) * found.second),
    )
    assert found.alpha_max() == pytest.approx(min(limits))
    precision = found.precision(rate, strength)
    steps = found.in_time(rate, precision)
    assert (
        (1 - found.delta(rate)) ** steps * found.loss <= precision < (1 - found.delta(rate)) ** (steps - 1) * found.loss
    )
    kept = found.steps_in_hand(rate, strength)
    assert found.gamma * found.gradient >= strength * found.pull_entry / found.tau(rate) ** kept
    assert found.gamma * found.gradient < strength * found.pull_entry / found.tau(rate) ** (kept + 1)


def test_a_start_far_from_the_data_has_no_radius():
    assert constants(NETWORK, 0, 8.0, 0.4, 0.1).share > 1 > S.constants(NETWORK).share


def test_distances_are_up_to_signs_and_the_order_of_units():
    point = np.arange(1.0, 7.0)
    mirrored = point * [-1, 1, -1, -1, 1, -1]
    assert distance_to_least(FACTORS, point, mirrored) == 0
    assert distance_to_least(FACTORS, point, point * [-1, 1, 1, 1, 1, 1]) == 2
    units = np.arange(12.0).reshape(3, 4)
    assert distance_to_least(NETWORK, units.ravel(), (units[:, [2, 0, 3, 1]] * [1, -1, 1, -1]).ravel()) == 0


def test_the_minimum_of_f_is_stationary():
    found, strength = least(FACTORS, 0, 1.0, 1e-3), 1e-3
    slope = np.asarray(S.loss(FACTORS).gradient(found.point)) + strength * found.point
    assert np.linalg.norm(slope) < 1e-8
    assert found.value == pytest.approx(found.loss + strength * found.point @ found.point / 2)


def test_examples_of_misprints():
    assert excess(0.5, 0.5, 1.0) == pytest.approx(0.5625)  # (1 - α(1 - β))²
    assert after_shrinking(MisprintSettings()) == (1, 3, 1)
    assert admissible(lambda tau: [((1 - tau) / 3, (1 - tau) / 6)]) == 1
    assert admissible(lambda tau: [(0.5, 0.4)]) < 0.5
