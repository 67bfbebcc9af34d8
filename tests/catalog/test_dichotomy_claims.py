"""The claims of `dichotomy/` can fail: without the mechanism they are red."""

from __future__ import annotations

import math

import numpy as np
import pytest

import latebloom as lb
from latebloom.catalog import Evidence, Request
from latebloom.catalog.dichotomy import label_noise, regression, thm3_9, thm3_10
from latebloom.reproduce import judge


def verdicts(module, evidence: Evidence, *names: str) -> dict[str, bool]:
    return {claim.id: judge(claim, [evidence]).holds for claim in module.CLAIMS if claim.id in names}


def test_without_noise_nothing_generalises():
    request = Request(0)
    problem = label_noise.problem(0)
    steps = [round(label_noise.SLOW_TIME / (8 * rate**2)) for rate in label_noise.RATES]
    methods = [lb.LabelNoise(rate, 0.0, batch="full") for rate in label_noise.RATES]
    still = lb.train_batch(problem, methods, steps=steps)
    runs = {
        label_noise.noisy(rate, repeat): run
        for rate, run in zip(label_noise.RATES, still, strict=True)
        for repeat in range(label_noise.REPEATS)
    }
    evidence = Evidence(request, {}, runs | {label_noise.WITHOUT: still[-1]}, {})
    found = verdicts(
        label_noise, evidence, "stays-before", "generalises-at-1/η²", "population-loss-vanishes", "flow-interpolates"
    )
    assert found == {
        "flow-interpolates": True,
        "stays-before": True,
        "generalises-at-1/η²": False,
        "population-loss-vanishes": False,
    }


def test_without_a_large_start_there_is_no_kernel_regime():
    """The runs of α = 4 in the place of all others: no limit, no exponent, no KKT point."""
    request = Request(0)
    jobs = regression.jobs(request)
    small = next(iter(jobs.values()))
    (run,) = lb.flow_batch(
        small.problem,
        until=small.until,
        penalties=small.penalty,
        probes=small.probes,
        rtol=1e-3,
    )
    evidence = Evidence(request, jobs, dict.fromkeys(jobs, run), {})
    assert not any(verdicts(thm3_9, evidence, "kernel-limit", "kernel-limit-exponent").values())
    assert not any(verdicts(thm3_10, evidence, "tends-to-a-kkt-point", "becomes-feasible", "rich-predictor").values())


def test_the_exponent_of_a_power_law():
    scale = np.array([1.0, 2.0, 4.0])
    assert regression.slope(scale, 3 * scale**-1.5) == pytest.approx(-1.5)
    assert math.isnan(regression.slope(scale, np.array([1.0, np.nan, 1.0])))
    assert math.isnan(regression.slope(scale, np.array([1.0, 0.0, 1.0])))
