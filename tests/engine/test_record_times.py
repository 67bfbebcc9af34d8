"""Which steps are recorded."""

from __future__ import annotations

import numpy as np
import pytest

from latebloom.engine.record_times import log_spaced

LENGTHS = [0, 1, 2, 9, 10, 11, 19, 60, 99, 100, 101, 999, 1000, 12_345, 10**6, 10**8]


@pytest.mark.parametrize("steps", LENGTHS)
def test_the_first_steps_and_the_last_are_there(steps):
    marks = log_spaced(steps)
    assert marks.dtype == np.int64
    assert marks[0] == 0
    assert marks[-1] == steps
    assert (np.diff(marks) > 0).all()
    early = np.arange(min(20, steps + 1))
    np.testing.assert_array_equal(marks[: len(early)], early)


@pytest.mark.parametrize("decade", range(1, 8))
def test_at_least_fifty_a_decade_from_ten_on(decade):
    marks = log_spaced(10**8)
    inside = (marks >= 10**decade) & (marks < 10 ** (decade + 1))
    assert 50 <= inside.sum() <= 61


@pytest.mark.parametrize("per_decade", [5, 60, 200])
def test_no_gap_is_wider_than_the_ratio_and_one_step(per_decade):
    """Which is why marks are rounded up: rounded down, 39 would be followed by 63, where 62.8 is allowed."""
    marks = log_spaced(10**6, per_decade)[1:]
    assert (marks[1:] <= marks[:-1] * 10 ** (1 / per_decade) + 1 + 1e-6).all()


def test_marks_are_powers_rounded_up():
    assert log_spaced(100, 5).tolist() == [0, 1, 2, 3, 4, 7, 10, 16, 26, 40, 64, 100]


def test_the_schedule_of_a_longer_run_begins_with_that_of_a_shorter_one():
    short, long = log_spaced(5_000), log_spaced(70_000)
    assert set(short[:-1]) == set(long[long < 5_000])
