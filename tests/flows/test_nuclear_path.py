"""Minimising movements of the nuclear norm: a step against cvxpy, the end against the oracle, t2 against descent."""

from __future__ import annotations

import numpy as np
import pytest

import latebloom as lb
from latebloom.engine.outcome import Ending
from latebloom.flows import nuclear_path
from latebloom.flows.paths.nuclear_prox import prox_step
from latebloom.oracles.nuclear.constraints import EntryConstraints, RowConstraints
from latebloom.problems import MatrixCompletion, MatrixSensing, ObservedEntries, UnobservedWarning


def random_step(shape: tuple[int, int], kind: str, seed: int):
    random = np.random.default_rng(seed)
    matrix = random.normal(size=shape)
    if kind == "entries":
        mask = (random.uniform(size=shape) < 0.5).astype(int)
        return EntryConstraints.of(mask, mask * matrix), random.normal(size=shape)
    design = random.normal(size=(shape[0] * shape[1] // 2, matrix.size))
    return RowConstraints.of(design, design @ matrix.ravel(), shape), random.normal(size=shape)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
@pytest.mark.parametrize("kind", ["entries", "rows"])
@pytest.mark.parametrize("step", [0.05, 2.0])
def test_a_step_is_the_proximal_point(shape, kind, step):
    cvxpy = pytest.importorskip("cvxpy")
    constraints, centre = random_step(shape, kind, seed=3)
    found = prox_step(constraints, centre, step)
    assert found.solved
    assert found.bound < 1e-6
    variable = cvxpy.Variable(shape)
    directions = [constraints.adjoint(row) for row in np.eye(len(constraints.values))]
    fits = [cvxpy.sum(cvxpy.multiply(d, variable)) == v for d, v in zip(directions, constraints.values, strict=True)]
    goal = cvxpy.normNuc(variable) + cvxpy.sum_squares(variable - centre) / (2 * step)
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
    cvxpy.Problem(cvxpy.Minimize(goal), fits).solve(solver="CLARABEL", **tight)
    assert np.abs(found.matrix - variable.value).max() < 5e-5  # the root of the gap it stops at


@pytest.mark.parametrize(
    "problem",
    [
        MatrixCompletion((6, 6), rank=1, observed=24, seed=2),
        MatrixCompletion((5, 7), rank=2, observed=24, seed=1),  # not recoverable: it ends at the oracle all the same
        MatrixSensing((5, 5), rank=1, measurements=16, seed=0),
    ],
    ids=["recoverable", "wide", "sensing"],
)
def test_it_ends_at_the_minimum_nuclear_norm(problem):
    path, oracle = nuclear_path(problem), lb.oracles.min_nuclear_norm(problem)
    assert path.converged
    assert path.gap < 1e-8
    assert np.linalg.norm(path.end - oracle.solution) < 1e-6 * np.linalg.norm(oracle.solution)
    assert np.linalg.norm(path.dual, 2) <= 1 + 1e-12
    assert path.infeasibility < 1e-10
    assert np.diff(path.norms).max() < 1e-9
    # Speed² is the rate at which the norm falls, up to the error of the scheme.
    speed = np.sum(np.diff(path.points, axis=0) ** 2, axis=(1, 2)) / np.diff(path.slow_times)
    assert np.sum(speed) == pytest.approx(path.norms[0] - path.norms[-1], rel=0.02)


def test_closed_form_of_one_row():
    """The nuclear norm of a row is its length: from (3, 4) the free entry obeys x' = -x / √(9 + x²)."""
    with pytest.warns(UnobservedWarning):
        problem = ObservedEntries((1, 2), [(0, 0)], [3.0])
    path = nuclear_path(problem, start=[[3.0, 4.0]], tolerance=1e-5)
    x = path.points[:, 0, 1]
    moving = x > 1e-2
    primitive = lambda x: np.sqrt(9 + x**2) - 3 * np.arctanh(3 / np.sqrt(9 + x**2))  # noqa: E731  # ds = -√(9+x²)/x dx
    np.testing.assert_allclose(path.slow_times[moving], primitive(4.0) - primitive(x[moving]), rtol=1e-3, atol=1e-4)


def test_it_predicts_descent():
    problem = MatrixCompletion(seed=10)
    path = nuclear_path(problem)
    predicted = lb.theory.predicted_t2(problem, 0.1, lb.NuclearNorm(1e-3), threshold=1e-2, path=path).step
    run = lb.train(
        problem, lb.ProjectedSubgradient(0.1), lb.NuclearNorm(1e-3), steps=10_000, generalised_at=1e-2, progress=False
    )
    assert run.milestones.generalised.step == pytest.approx(predicted, rel=2e-3)


def test_a_smaller_tolerance_is_closer():
    problem = MatrixCompletion((6, 6), rank=1, observed=24, seed=2)
    reference = nuclear_path(problem, tolerance=1e-6)
    times = np.linspace(0.05, 0.9, 7) * reference.end_time
    errors = [
        max(map(np.linalg.norm, nuclear_path(problem, tolerance=tolerance).at(times) - reference.at(times)))
        for tolerance in (1e-2, 1e-3, 1e-4)
    ]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 1e-3


def test_a_budget_is_an_outcome():
    short = nuclear_path(MatrixCompletion((6, 6), rank=1, observed=24, seed=2), max_steps=3)
    assert short.outcome.ending is Ending.BUDGET
    assert "raise max_steps" in short.outcome.sentence
