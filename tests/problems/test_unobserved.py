"""Rows and columns that are never observed are named, since nothing can recover them."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from cases import completion

import latebloom as lb
from latebloom.errors import LatebloomWarning
from latebloom.problems import (
    ObservedEntries,
    UnobservedWarning,
)


@pytest.mark.parametrize(
    ("entries", "messages"),
    [
        ([(0, 0), (0, 1), (0, 2)], ["rows 1, 2 never observed: nothing can recover them; observe more"]),
        ([(0, 0), (1, 2), (2, 0)], ["column 1 never observed: nothing can recover it; observe more entries"]),
        ([(0, 0), (1, 0)], ["row 2 never observed: nothing can recover it", "columns 1, 2 never observed"]),
    ],
)
def test_rows_and_columns_never_observed_are_named(entries, messages):
    with pytest.warns(UnobservedWarning) as caught:
        ObservedEntries((3, 3), entries, np.ones(len(entries)))
    assert len(caught) == len(messages)
    for warning, message in zip(caught, messages, strict=True):
        assert str(warning.message).startswith(message)
    assert issubclass(UnobservedWarning, LatebloomWarning)


def test_many_rows_are_not_all_named():
    with pytest.warns(UnobservedWarning, match=r"^rows 1, 2, 3, 4, 5, … never observed") as caught:
        ObservedEntries((9, 1), [(0, 0)], [1.0])
    assert len(caught) == 1


def test_a_completion_names_what_it_does_not_observe():
    with pytest.warns(UnobservedWarning, match="never observed: nothing can recover") as caught:
        problem = completion(observed=5)
    mask = np.asarray(problem.mask)
    for what, axis in (("row", 1), ("column", 0)):
        empty = ", ".join(map(str, np.flatnonzero(~mask.any(axis=axis))[:5]))
        named = [str(warning.message) for warning in caught if str(warning.message).startswith(what)]
        assert len(named) == bool(empty)
        assert not empty or re.match(rf"{what}s? {empty}(, …)? never", named[0])


def test_nothing_is_said_when_every_row_and_column_is_observed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.asarray(completion().mask).any(axis=0).all()
        ObservedEntries((2, 2), [(0, 0), (1, 1)], [1.0, 2.0])


def test_an_unobserved_row_is_named():
    with pytest.warns(lb.problems.UnobservedWarning, match="never observed"):
        lb.problems.MultiplicationTable(30, 0.02, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lb.problems.MultiplicationTable(10, 0.9)  # row 0 may lack observations: it is zero anyway


def test_observing_only_the_zero_of_a_row_is_observing_nothing():
    seeds = range(40)
    for seed in seeds:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            problem = lb.problems.MultiplicationTable(6, 0.25, seed=seed)
        mask = np.asarray(problem.mask) > 0
        useful = (mask | mask.T)[1:, 1:].any(axis=1)
        assert bool(caught) == (not useful.all())
