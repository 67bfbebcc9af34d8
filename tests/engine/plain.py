"""The engine's numbers once more, in plain NumPy: what the runs are compared with."""

from __future__ import annotations

from functools import cache

import jax
import numpy as np
from cases import sparse

import latebloom as lb
from latebloom.run import Run

RATE = 0.1  # the learning rate of most tests


def same_run(first: Run, second: Run) -> bool:
    """Whether every number of two runs is the same to the last bit."""
    return (
        first.columns.keys() == second.columns.keys()
        and all(np.array_equal(first[name], second[name], equal_nan=True) for name in first.columns)
        and jax.tree.all(jax.tree.map(np.array_equal, first.params, second.params))
        and (first.milestones, first.outcome) == (second.milestones, second.outcome)
    )


def subgradient_iterates(problem, rate: float, strength: float, steps: int) -> np.ndarray:
    """Rung 2: every iterate of subgradient descent with l1, in plain NumPy, from step 0."""
    design, targets = np.asarray(problem.design), np.asarray(problem.targets)
    w = np.asarray(problem.init())
    path = [w]
    for _ in range(steps):
        w = w - rate * (design.T @ (design @ w - targets) + strength * np.sign(w))
        path.append(w)
    return np.array(path)


def errors_along(problem, path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Train and test error of every iterate, in plain NumPy."""
    design, targets, truth = (np.asarray(a) for a in (problem.design, problem.targets, problem.truth))
    train = np.linalg.norm(path @ design.T - targets, axis=1) / np.linalg.norm(targets)
    return train, np.linalg.norm(path - truth, axis=1) / np.linalg.norm(truth)


def first_below(values: np.ndarray, threshold: float) -> int | None:
    below = np.flatnonzero(values <= threshold)
    return int(below[0]) if len(below) else None


def stable_below(values: np.ndarray, threshold: float) -> int | None:
    above = np.flatnonzero(~(values <= threshold))
    after = int(above[-1]) + 1 if len(above) else 0
    return after if after < len(values) else None


@cache
def reference():
    """A problem, a run of 3,000 steps on it, and every iterate of the same run in NumPy."""
    problem = sparse()
    run = lb.train(problem, lb.GradientDescent(RATE), lb.L1(2e-4), steps=3_000, memorised=0.02, generalised=0.1)
    return problem, run, subgradient_iterates(problem, RATE, 2e-4, 3_000)
