"""The claims of `dichotomy/` label-noise and sample-complexity can fail: without the mechanism they are red."""

from __future__ import annotations

from typing import Any

import latebloom as lb
from latebloom.catalog import Evidence
from latebloom.catalog.dichotomy.label_noise import NOISY, WITHOUT, label_noise


def test_without_noise_nothing_generalises():
    s: Any = label_noise.settings
    methods = {rate: lb.LabelNoise(rate, 0.0, batch="full") for rate in s.learning_rates}
    still = lb.run([lb.TrainJob(s.problem(), method, steps=s.steps(rate)) for rate, method in methods.items()])
    runs = {NOISY.format(rate, k): run for rate, run in zip(methods, still, strict=True) for k in range(s.repeats)}
    evidence = Evidence(s, {}, runs | {WITHOUT: still[-1]})
    names = ("flow-interpolates", "stays-before", "generalises-at-1/η²", "population-loss-vanishes")
    found = {claim.id: claim.check(evidence).holds for claim in label_noise.claims if claim.id in names}
    assert found == dict(zip(names, (True, True, False, False), strict=True))
