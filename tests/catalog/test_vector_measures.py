"""What the entries on vectors measure by: plateaus, sign steps, isometry constants."""

from types import SimpleNamespace

import numpy as np
import pytest

from latebloom import theory
from latebloom.catalog.beyond_l2.coherence_theory import isometry, one_norm
from latebloom.catalog.beyond_l2.depth_measures import abruptness, plateaus
from latebloom.catalog.beyond_l2.sign_iteration import STEP, iterate


class Falling(SimpleNamespace):
    """A run with two columns."""

    def __getitem__(self, name):
        return getattr(self, name)

    def first(self, condition):
        hits = np.flatnonzero(condition)
        return float(self.step[hits[0]]) if len(hits) else None


def falling(*heights):
    """An error that stays at each height for a decade."""
    step = np.geomspace(1, 10.0 ** len(heights), 100 * len(heights))
    return Falling(step=step, test_error=np.repeat(heights, 100))


def test_a_staircase_has_its_plateaus():
    assert plateaus(falling(1.0, 0.7, 0.3)) == pytest.approx([1.0, 0.7, 0.3])
    assert plateaus(Falling(step=np.geomspace(1, 10, 300), test_error=np.linspace(1, 0.1, 300))) == []


def test_a_jump_is_more_abrupt_than_a_slope():
    step = np.geomspace(1, 1e3, 300)
    slope = Falling(step=step, test_error=np.linspace(1, 0.1, 300))
    assert abruptness(falling(1.0, 0.7)) == 0 < abruptness(slope)


def test_sign_steps_end_within_one_step():
    path = iterate(STEP * np.array([3.0, -2.5, 0.0]), 6)
    np.testing.assert_array_equal(path[3:, 0], 0)
    np.testing.assert_array_equal(np.abs(path[3:, 1]), STEP / 2)


def test_isometry_of_two_columns_is_their_cosine():
    columns = np.array([[1.0, 0.6], [0.0, 0.8]])
    assert isometry(columns, 2) == pytest.approx(0.6)
    assert one_norm(columns, 2) == pytest.approx(theory.one_coherence(columns, 1))
