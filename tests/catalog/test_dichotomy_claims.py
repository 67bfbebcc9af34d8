"""The claims of `dichotomy/` can fail: without the mechanism they are red."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import latebloom as lb
from latebloom.catalog import Evidence
from latebloom.catalog.dichotomy import label_noise
from latebloom.catalog.dichotomy.regression import slope, thm3_9, thm3_10
from latebloom.catalog.old_base import Evidence as OldEvidence
from latebloom.catalog.old_base import Request
from latebloom.catalog.reproduction import judge


def verdicts(claims, evidence: Any, *names: str) -> dict[str, bool]:
    return {claim.id: judge(claim, [evidence]).holds for claim in claims if claim.id in names}


def test_without_noise_nothing_generalises():
    request = Request(0)
    problem = label_noise.problem(0)
    steps = [round(label_noise.SLOW_TIME / (8 * rate**2)) for rate in label_noise.RATES]
    methods = [lb.LabelNoise(rate, 0.0, batch="full") for rate in label_noise.RATES]
    still = lb.run([lb.TrainJob(problem, m, steps=n) for m, n in zip(methods, steps, strict=True)])
    runs = {
        label_noise.noisy(rate, repeat): run
        for rate, run in zip(label_noise.RATES, still, strict=True)
        for repeat in range(label_noise.REPEATS)
    }
    evidence = OldEvidence(request, {}, runs | {label_noise.WITHOUT: still[-1]}, {})
    names = "stays-before", "generalises-at-1/η²", "population-loss-vanishes", "flow-interpolates"
    found = verdicts(label_noise.CLAIMS, evidence, *names)
    assert found == {
        "flow-interpolates": True,
        "stays-before": True,
        "generalises-at-1/η²": False,
        "population-loss-vanishes": False,
    }


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
