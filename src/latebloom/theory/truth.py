"""The planted truth, for the statements that compare with it."""

from __future__ import annotations

import numpy as np

from latebloom.errors import InputError
from latebloom.problems.base import AbstractLinear


def known_truth(problem: AbstractLinear, who: str) -> np.ndarray:
    """The truth `a*` of a problem, if it has one.

    >>> from latebloom.problems import LinearRegression
    >>> known_truth(LinearRegression([[1.0, 0.0]], [1.0], truth=[1.0, 3.0]), "this")
    array([1., 3.])
    """
    truth = np.asarray(problem.truth)
    if not np.isfinite(truth).all():
        raise InputError(
            f"{who} compares with the truth and the problem has none: give one, "
            "e.g. LinearRegression(design, targets, truth=vector)"
        )
    return truth
