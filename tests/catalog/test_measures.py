"""What the papers' entries measure alike."""

from __future__ import annotations

import numpy as np
import pytest
from cases import sparse

import latebloom as lb
from latebloom.catalog import measures


def test_one_time_over_another_or_none():
    assert measures.over(6.0, 3.0) == 2.0
    assert measures.over(6.0, None) is None
    assert measures.over(None, 3.0) is None


def test_a_power_law_has_its_exponent():
    x = np.array([1.0, 10.0, 100.0])
    assert measures.log_slope(x, 3 * x**-0.5) == pytest.approx(-0.5)
    assert np.isnan(measures.log_slope([1.0], [2.0]))


def test_a_run_that_never_memorises_has_no_times_to_a_gap():
    """Its gap is small at the start, before anything is learnt: that is no success."""
    problem, penalty = sparse(), lb.L1(1e-3)
    run = lb.train(problem, lb.GradientDescent(1e-6), penalty, steps=3, progress=False)
    assert run.t1 is None
    found, promised = measures.times_to_gap(run, np.zeros(len(run["step"])), problem, 1e-6, penalty)
    assert np.isnan(found).all()
    assert np.isnan(promised).all()


def test_a_time_to_a_gap_is_not_before_memorisation():
    """Near zero the gap is small, too: what counts begins at t1."""
    problem, penalty = sparse(), lb.L1(1e-3)
    probes = (lb.probes.Components(),)
    run = lb.train(problem, lb.GradientDescent(0.1), penalty, steps=500, memorised_at=0.1, probes=probes)
    assert run.t1 > 1
    found, promised = measures.times_to_gap(run, np.zeros(len(run["step"])), problem, 0.1, penalty)
    np.testing.assert_array_equal(found, run.t1)
    assert (promised >= run.t1).all()
