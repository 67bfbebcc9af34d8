"""The claims of `dichotomy/` label-noise and sample-complexity can fail: without the mechanism they are red."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import latebloom as lb
from latebloom.catalog import Evidence
from latebloom.catalog.dichotomy.generalisation_bounds import app_e
from latebloom.catalog.dichotomy.label_noise import NOISY, WITHOUT, label_noise
from latebloom.catalog.dichotomy.sample_complexity import NAME, sample_complexity


def test_without_noise_nothing_generalises():
    s: Any = label_noise.settings
    methods = {rate: lb.LabelNoise(rate, noise=0.0, batch="full") for rate in s.learning_rates}
    still = lb.run([lb.TrainJob(s.problem(), method, steps=s.steps(rate)) for rate, method in methods.items()])
    runs = {NOISY.format(rate, k): run for rate, run in zip(methods, still, strict=True) for k in range(s.repeats)}
    evidence = Evidence(s, {}, runs | {WITHOUT: still[-1]})
    names = ("flow-interpolates", "stays-before", "generalises-at-1/η²", "population-loss-vanishes")
    found = {claim.id: claim.check(evidence).holds for claim in label_noise.claims if claim.id in names}
    assert found == dict(zip(names, (True, True, False, False), strict=True))


@pytest.fixture
def errors() -> dict[str, np.ndarray]:
    """A table as the study finds it: l1 generalises from about k² log d points, l2 hardly improves."""
    s: Any = sample_complexity.settings
    rows = np.array([(d, n, k) for d in s.dimensions for n in s.counts for k in range(s.draws)], dtype=float)
    dimension, count, draw = rows.T
    l1 = np.where(count > 9 * np.log(dimension), 0.0, 0.49)
    l2 = 0.5 - 0.28 * (count / 256) * np.sqrt(300 / dimension)
    return {"dimension": dimension, "count": count, "draw": draw, "l2": l2, "l1": l1, "gap": np.full(len(rows), 1e-8)}


def sample_verdicts(table: dict[str, np.ndarray]) -> dict[str, bool]:
    evidence = Evidence(sample_complexity.settings, {}, {}, {NAME: table})
    return {claim.id: claim.check(evidence).holds for claim in sample_complexity.claims}


def test_errors_as_the_theorems_have_them(errors):
    assert sample_verdicts(errors) == {claim.id: claim.documented for claim in sample_complexity.claims}


@pytest.mark.parametrize(("errors", "held"), [((0.0, 0.0), True), ((0.5, 0.0), False), ((0.0, 0.5), False)])
def test_a_classifier_that_guesses_is_above_the_bounds(errors, held):
    found = {"errors": {"trained": np.array(errors)}}
    claim = next(claim for claim in app_e.claims if claim.id == "bounds-hold")
    assert claim.check(Evidence(app_e.settings, {}, {}, found)).holds is held
