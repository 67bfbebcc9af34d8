"""Runs that several files look at."""

from __future__ import annotations

import pytest
from cases import sparse
from plain import RATE, subgradient_iterates

import latebloom as lb


@pytest.fixture(scope="session")
def reference():
    """A run of 3,000 steps and the same in NumPy."""
    problem = sparse()
    run = lb.train(problem, lb.GradientDescent(RATE), lb.L1(2e-4), steps=3_000, memorised=0.02, generalised=0.1)
    return problem, run, subgradient_iterates(problem, RATE, 2e-4, 3_000)
