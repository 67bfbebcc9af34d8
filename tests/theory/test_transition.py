"""The law of the transition, junction times, and degrees of homogeneity that are measured."""

from __future__ import annotations

import numpy as np
import pytest
from plain import moved

from latebloom.problems import DiagonalClassifier, GaussianGap, ModularClassifier
from latebloom.theory import fit_transition, homogeneity_degree, junction_time, transition_time


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_the_degree_of_homogeneity_is_measured(degree):
    problem = DiagonalClassifier(GaussianGap(80, 20, margin=6.0, seed=2), depth=degree)
    for factor in (0.5, 3.0):
        assert homogeneity_degree(problem, factor=factor) == pytest.approx(degree, abs=1e-10)


def test_the_law_of_the_transition():
    scales = np.array([1.0, 3.0, 9.0])
    law = fit_transition(list(scales), list(np.log(scales) - 2.0))
    assert (law.slope, law.offset, law.spread) == (pytest.approx(1), pytest.approx(-2), pytest.approx(0, abs=1e-12))
    assert transition_time(128.0, 1e-3, offset=-2.0).time == pytest.approx((np.log(128) - 2) / 1e-3)


def test_the_junction_is_a_time():
    assert junction_time(1e-4, rate=2.0).time == pytest.approx(-np.log(1e-4) / 2)


def test_the_degree_of_a_network_is_measured_where_its_bias_is_not_zero():
    problem = ModularClassifier(7, 16, train_share=0.6, seed=1)
    assert homogeneity_degree(problem, moved(problem.init())) == pytest.approx(2, abs=1e-12)
