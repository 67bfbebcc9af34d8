"""Which of the two forces drives the step."""

from __future__ import annotations

import numpy as np
import pytest
from cases import sparse
from plain import moved

import latebloom as lb


def test_the_ratio_is_that_of_the_two_norms():
    """Rung 2: plain NumPy; every component of the l1 subgradient is β."""
    problem, strength = sparse(), 0.03
    params = moved(problem.init())
    design, there = np.asarray(problem.design), np.asarray(params)
    gradient = design.T @ (design @ there - np.asarray(problem.targets))
    expected = np.linalg.norm(gradient) / (strength * np.sqrt(there.size))
    assert float(lb.probes.GradientRatio().measure(problem, lb.L1(strength), params)) == pytest.approx(expected)
