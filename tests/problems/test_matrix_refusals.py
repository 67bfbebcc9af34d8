"""Matrices that cannot be meant are refused in one line; what is never observed is named."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from cases import completion, sparse

from latebloom.errors import CapabilityError, InputError, LatebloomWarning, UnknownNameError
from latebloom.problems import (
    MatrixCompletion,
    MatrixRegression,
    MatrixSensing,
    ObservedEntries,
    UnobservedWarning,
    require_matrix,
)

NAN = float("nan")


@contextmanager
def refusal(message: str) -> Iterator[None]:
    """What is inside is refused with this message: one line, without LaTeX, with what to do after a colon."""
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        yield
    said = str(caught.value)
    assert not re.search(r"[\n\\$]", said)
    assert ": " in said or ", or " in said or "must be an array of numbers" in said


SMALL = {"shape": (4, 5), "rank": 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rank": 5}, r"rank=5 is more than a matrix of shape (4, 5) can have: use at most 4"),
        ({"rank": 0}, "rank=0 is not allowed: rank must be finite and at least 1"),
        ({"rank": 1.5}, "rank=1.5 is not allowed: rank must be a whole number, e.g. 2"),
        ({"shape": "10x"}, "shape='10x' is not a shape: give rows and columns, e.g. (10, 20) or 10x20"),
        ({"shape": (3,)}, "shape=(3,) is not a shape: give rows and columns"),
        ({"shape": (3, 4, 5)}, "shape=(3, 4, 5) is not a shape"),
        ({"shape": -1}, "shape=-1 is not a shape"),
        ({"shape": 2.5}, "shape=2.5 is not a shape"),
        ({"shape": (3, 0)}, "shape=(3, 0) is not a shape"),
        ({"shape": (3, NAN)}, "shape=(3, nan) is not a shape"),
        ({"shape": None}, "shape=None is not a shape"),
        ({"shape": "axb"}, "shape='axb' is not a shape"),
        ({"form": "symetric"}, "unknown form 'symetric': did you mean 'symmetric'? Known: difference, product, symm"),
        ({"form": "symmetric"}, "form='symmetric' is a symmetric matrix and shape=(4, 5) is not square: use form='p"),
        ({"form": "difference"}, "shape=(4, 5) is not square: use form='product' or shape=(4, 4)"),
        ({"form": "symmetric", "shape": 4, "depth": 3}, "depth=3 does not go with form='symmetric', which has depth 2"),
        ({"width": 3, "depth": 1}, "width=3 does not go with depth=1, the matrix itself: use depth=2 or more"),
        ({"width": 0}, "width=0 is not allowed: width must be finite and at least 1"),
        ({"width": 2.5}, "width=2.5 is not allowed: width must be a whole number, e.g. 2"),
        ({"depth": 0}, "depth=0 is not allowed: depth must be finite and at least 1"),
        ({"depth": 1.5}, "depth=1.5 is not allowed: depth must be a whole number"),
        ({"depth": "two"}, "depth must be a number, not 'two': write it in digits"),
        ({"coherence": 1.1}, "coherence=1.1 is not allowed: coherence must be finite and at least 0 and at most 1"),
        ({"coherence": -0.1}, "coherence=-0.1 is not allowed"),
        ({"coherence": NAN}, "coherence=nan is not allowed"),
        ({"truth_norm": -1}, "truth_norm=-1 is not allowed: truth_norm must be finite and above 0"),
        ({"truth_norm": 0}, "truth_norm=0 is not allowed"),
        ({"truth_kind": "ortho"}, "unknown truth_kind 'ortho': did you mean 'orthogonal'? Known: gaussian, orthogonal"),
        ({"init_scale": -1}, "init_scale=-1 is not allowed: init_scale must be finite and at least 0"),
        ({"init_kind": "gausian"}, "unknown init_kind 'gausian': did you mean 'gaussian'? Known: gaussian, identity"),
        ({"signal_to_noise": 0}, "signal_to_noise=0 is not allowed: signal_to_noise must be finite and above 0"),
        ({"seed": -1}, "seed=-1 is not allowed"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [MatrixCompletion, MatrixSensing], ids=lambda kind: kind.name())
def test_what_cannot_be_planted_is_refused(kind, change, message):
    with refusal(message):
        kind(**(SMALL | {"observed" if kind is MatrixCompletion else "measurements": 12} | change))


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (MatrixCompletion, {"observed": 21}, "observed=21 is more than the 20 entries of a matrix of shape (4, 5)"),
        (MatrixCompletion, {"observed": 0}, "observed=0 is not allowed: observed must be finite and at least 1"),
        (MatrixCompletion, {"observed": 3.5}, "observed=3.5 is not allowed: observed must be a whole number"),
        (MatrixCompletion, {"basis": "rand"}, "unknown basis 'rand': did you mean 'random'? Known: identity, random"),
        (MatrixSensing, {"measurements": 0}, "measurements=0 is not allowed"),
        (MatrixSensing, {"sensing": "rankone"}, "unknown sensing 'rankone': did you mean 'rank_one'? Known: gaussian"),
        (MatrixSensing, {"normalise": "row"}, "unknown normalise 'row': did you mean 'rows'? Known: columns, printed"),
        (
            MatrixSensing,
            {"sensing": "gaussian", "coherence": 0.5},
            "coherence=0.5 needs measurements x zᵀ: use sensing",
        ),
    ],
    ids=str,
)
def test_measurements_that_cannot_be_made_are_refused(kind, change, message):
    with refusal(message):
        kind(**(SMALL | {"observed" if kind is MatrixCompletion else "measurements": 12} | change))


PAIRS = [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize(
    ("entries", "observed", "options", "message"),
    [
        ([], [], {}, "entries is empty, nothing is observed: give at least one (row, column)"),
        (np.zeros((2, 2), dtype=bool), [], {}, "entries is empty, nothing is observed"),
        (
            np.ones((3, 2), dtype=bool),
            [1.0] * 6,
            {},
            "entries is a mask of shape (3, 2): give one of the matrix's shape, (2, 2)",
        ),
        (np.ones(4, dtype=bool), [1.0] * 4, {}, "entries is a mask of shape (4,): give one of the matrix's shape"),
        ([(1, 1), (0, 0), (1, 1)], [1, 2, 3], {}, "entry (1, 1) is given 2 times: observe each entry once, e.g. their"),
        ([(0, 2)], [1], {}, "entry (0, 2) is outside a matrix of shape (2, 2): rows and columns count from 0"),
        ([(-1, 0)], [1], {}, "entry (-1, 0) is outside a matrix of shape (2, 2)"),
        ([(0, 0.5)], [1], {}, "entries must be pairs (row, column) of whole numbers, or a Boolean mask"),
        ([(0, 0), (1,)], [1, 2], {}, "entries must be pairs (row, column) of whole numbers"),
        ([("a", "b")], [1], {}, "entries must be pairs (row, column) of whole numbers"),
        ([(0, 1e30)], [1], {}, "is outside a matrix of shape (2, 2)"),
        ([(0, 0)] * 2 + [(1, 1)] * 3, [1] * 5, {}, "entry (0, 0) is given 2 times"),
        ([(0, 0, 0)], [1], {}, "entries must be pairs (row, column) of whole numbers"),
        ([0, 1], [1], {}, "entries must be pairs (row, column) of whole numbers"),
        ([(0, NAN)], [1], {}, "entries must be pairs (row, column) of whole numbers"),
        (PAIRS, [1, 2, 3, NAN], {}, "observed has 1 entries that are NaN or infinite: clean the data first"),
        (PAIRS, [1, 2, np.inf, NAN], {}, "observed has 2 entries that are NaN or infinite"),
        (PAIRS, [1, 2, 3], {}, "observed has 3 values and entries 4 positions: give one each"),
        (PAIRS, np.ones((2, 2)), {}, "observed has shape (2, 2): observed must have 1 dimension"),
        (PAIRS, ["a", "b", "c", "d"], {}, "observed must be an array of numbers"),
        (PAIRS, [1] * 4, {"truth": np.ones((3, 2))}, "truth has shape (3, 2): truth must have shape (2, 2), like the"),
        (PAIRS, [1] * 4, {"truth": np.ones(4)}, "truth has shape (4,): truth must have 2 dimensions"),
        (PAIRS, [1] * 4, {"truth": [[1, 2], [3, NAN]]}, "truth has 1 entries that are NaN or infinite"),
        (PAIRS, [1] * 4, {"form": "symmetrical"}, "unknown form 'symmetrical': did you mean 'symmetric'"),
        (PAIRS, [1] * 4, {"init_scale": -1}, "init_scale=-1 is not allowed"),
    ],
)
def test_entries_that_cannot_be_used_are_refused(entries, observed, options, message):
    with refusal(message):
        ObservedEntries((2, 2), entries, observed, **options)


@pytest.mark.parametrize(
    ("measurements", "targets", "options", "message"),
    [
        (np.ones((2, 2)), [1, 2], {}, "measurements has shape (2, 2): measurements must have 3 dimensions"),
        (np.ones((0, 2, 2)), [], {}, "measurements is empty (shape (0, 2, 2)): give at least one entry"),
        (np.ones((2, 2, 2)), [1], {}, "targets has 1 entries and measurements 2 matrices: give one each"),
        (np.full((1, 2, 2), np.inf), [1], {}, "measurements has 4 entries that are NaN or infinite"),
        (np.ones((1, 2, 2)), [NAN], {}, "targets has 1 entries that are NaN or infinite"),
        (np.ones((1, 2, 2)), [[1]], {}, "targets has shape (1, 1): targets must have 1 dimension"),
        (np.ones((1, 2, 3)), [1], {"form": "symmetric"}, "shape=(2, 3) is not square: use form='product'"),
        (np.ones((1, 2, 3)), [1], {"truth": np.ones((3, 2))}, "truth has shape (3, 2): truth must have shape (2, 3)"),
        (np.ones((1, 2, 3)), [1], {"truth": np.full((2, 3), NAN)}, "truth has 6 entries that are NaN or infinite"),
    ],
)
def test_measurements_that_cannot_be_used_are_refused(measurements, targets, options, message):
    with refusal(message):
        MatrixRegression(measurements, targets, **options)


def test_an_unknown_form_is_an_unknown_name():
    with pytest.raises(UnknownNameError, match="Known: difference, product, symmetric"):
        completion(form="tucker")


def test_a_problem_without_a_matrix_is_told():
    assert require_matrix(completion(), "this test").shape == (6, 5)
    message = "^this test needs a problem that measures a matrix; SparseRecovery has none: use MatrixCompletion or Matr"
    with pytest.raises(CapabilityError, match=message):
        require_matrix(sparse(), "this test")


# What is never observed


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
