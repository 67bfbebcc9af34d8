"""The studies of `dichotomy/` sam and linear-rate against other means, and their claims without the mechanism."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.catalog import Evidence
from latebloom.catalog.dichotomy import linear_rate as rate
from latebloom.catalog.dichotomy import sam as climb
from latebloom.core.seeds import generator


@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_steps_of_1_sam_are_those_of_automatic_differentiation(radius):
    problem = lb.problems.DiagonalRegression(6, 4, 1, init_scale=0.5, seed=3)
    found = climb.descend(problem, radius, learning_rate=0.01, steps=7, seed=5)
    data = np.asarray(problem.design) * np.sqrt(2)  # √(n/2)
    labels, truth = data @ np.asarray(problem.truth), np.asarray(problem.truth)

    def loss(params, sample):
        return (data[sample] @ (params[0] ** 2 - params[1] ** 2) - labels[sample]) ** 2

    params = problem.init()
    for sample in generator(5, "order").integers(4, size=7):
        slope = jax.grad(loss)(params, sample)
        params = params - 0.01 * jax.grad(loss)(params + radius * slope / jnp.linalg.norm(slope), sample)
    gap = np.asarray(params[0] ** 2 - params[1] ** 2) - truth
    assert found["test_loss"][-1] == pytest.approx(gap @ gap / (truth @ truth), rel=1e-9)
    assert found["train_loss"][-1] == pytest.approx(np.mean((data @ gap) ** 2) / np.mean(labels**2), rel=1e-9)


def test_linear_descent_is_that_of_the_logistic_loss():
    """In numbers that are not logarithms, while they are not small."""
    points, goal = np.array([[1.0, 0.3], [0.4, 1.0], [0.9, -0.2]]), np.array([1.0, 0.0])
    found = rate.descend(points, goal, learning_rate=0.2, steps=20)
    weights, time = np.zeros(2), 0.0
    for _ in range(20):
        margins = points @ weights
        loss = np.mean(np.log1p(np.exp(-margins)))
        weights, time = weights + 0.2 / loss * (1 / (1 + np.exp(margins))) @ points / 3, time + 0.2 / loss
    assert found["log_time"][-1] == pytest.approx(np.log(time), rel=1e-12)
    assert found["distance"][-1] == pytest.approx(np.linalg.norm(weights / np.linalg.norm(weights) - goal), rel=1e-12)


def rate_verdicts(distance):
    """Of the claims, on distances that are a function of log t."""
    clock = np.geomspace(1.0, 1e4, 200)
    tables = {name: {"log_time": clock, "distance": distance(clock)} for name in (rate.GENERIC, rate.DEGENERATE)}
    evidence = Evidence(rate.linear_rate.settings, {}, {}, tables)
    return [claim.check(evidence).holds for claim in rate.linear_rate.claims]


@pytest.mark.parametrize(
    ("distance", "verdicts"),
    [
        (lambda clock: np.log(clock) / clock, [True, True]),
        (lambda clock: 1 / clock, [True, False]),
        (lambda clock: clock**-0.5, [False, False]),
        (np.ones_like, [False, False]),
    ],
    ids=["log log t / log t", "1 / log t", "a root", "never"],
)
def test_claims_tell_rates_apart(distance, verdicts):
    assert rate_verdicts(distance)[:2] == verdicts


def test_without_climbing_nothing_generalises():
    s: Any = climb.sam.settings.but(radii=(0.1,))
    plain = {study.name: study.compute() for study in climb.sam.study_list(s) if study.name == climb.PLAIN}
    tables = plain | {climb.RADIUS.format(0.1): plain[climb.PLAIN]}
    found = {claim.id: claim.check(Evidence(s, {}, {}, tables)).holds for claim in climb.sam.claims}
    assert not found["second-phase-generalises"]
    assert not found["second-phase-is-longer"]
    assert found["plain-steps-do-not"]
