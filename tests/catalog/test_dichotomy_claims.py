"""The claims of `dichotomy/` can fail: without the mechanism they are red."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from latebloom.catalog import Evidence
from latebloom.catalog.dichotomy.regression import slope, thm3_9, thm3_10
from latebloom.catalog.reproduction import judge


def verdicts(claims, evidence: Any, *names: str) -> dict[str, bool]:
    return {claim.id: judge(claim, [evidence]).holds for claim in claims if claim.id in names}


def test_runs_that_do_not_depend_on_the_initial_scale_turn_the_limits_red():
    jobs = thm3_9.jobs(thm3_9.settings)
    slow = np.linspace(0.0, 20.0, 200)
    flat = {
        name: np.full(200, level)
        for name, level in (
            ("distance_to_kernel", 0.01),
            ("kernel_drift", 0.01),
            ("train_error", 0.01),
            ("test_error", 0.6),
            ("distance_to_basis_pursuit", 0.6),
            ("kkt_residual", 0.9),
            ("l2_norm", 9.0),
        )
    }
    runs: Any = dict.fromkeys(jobs, flat | {"slow_time": slow})
    evidence = Evidence(thm3_9.settings, jobs, runs)
    of_the_limit = ("kernel-limit", "kernel-limit-exponent", "kernel-keeps-its-direction")
    assert not any(verdicts(thm3_9.claims, evidence, *of_the_limit).values())
    green = ("kernel-does-not-generalise", "fits-in-the-kernel-regime", "features-are-independent")
    assert all(verdicts(thm3_9.claims, evidence, *green).values())
    assert not any(verdicts(thm3_10.claims, evidence, *(claim.id for claim in thm3_10.claims)).values())


def test_the_exponent_of_a_power_law():
    scale = np.array([1.0, 2.0, 4.0])
    assert slope(scale, 3 * scale**-1.5) == pytest.approx(-1.5)
    assert math.isnan(slope(scale, np.array([1.0, np.nan, 1.0])))
    assert math.isnan(slope(scale, np.array([1.0, 0.0, 1.0])))
