"""The max-margin oracles against cvxpy, scikit-learn and closed forms."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import LinearSVC

from latebloom.oracles import margin, max_l1_margin, max_l2_margin
from latebloom.problems import GaussianGap, LabelledPoints, SparseSigns

CASES = {
    "sparse": SparseSigns(120, 30, test_samples=1, seed=1),
    "gap": GaussianGap(80, 20, margin=6.0, seed=2),
    "wide": GaussianGap(1500, 12, margin=4.0, seed=3),
    "tall": GaussianGap(5, 60, margin=3.0, seed=4),
    "twice": LabelledPoints(np.repeat(np.random.default_rng(0).normal(size=(4, 9)), 2, axis=0), [1, 1, -1, -1] * 2),
}
cases = pytest.mark.parametrize("data", CASES.values(), ids=CASES.keys())


def by_cvxpy(data, order):
    rows = np.asarray(data.signed)
    w = cp.Variable(rows.shape[1])
    program = cp.Problem(cp.Minimize(cp.norm(w, order)), [rows @ w >= 1])
    program.solve(solver=cp.CLARABEL)
    return 1 / float(np.asarray(program.value))


@cases
@pytest.mark.parametrize("order", [1, 2])
def test_independent_margins_against_cvxpy(data, order):
    found = (max_l1_margin if order == 1 else max_l2_margin)(data)
    assert found.solved, found.message
    assert found.margin == pytest.approx(by_cvxpy(data, order), rel=1e-6)
    assert found.gap <= 1e-6
    rows = np.asarray(data.signed)
    assert (rows @ found.solution).min() == pytest.approx(1.0)
    assert found.value == pytest.approx(np.linalg.norm(found.solution, order))
    # Weak duality, recomputed here: no unit vector has a larger margin than this.
    assert found.dual.min() >= 0
    assert found.dual.sum() == pytest.approx(1.0)
    assert np.linalg.norm(found.dual @ rows, 2 if order == 2 else np.inf) <= found.margin * (1 + 2e-6)


@cases
def test_independent_l2_direction_against_scikit_learn(data):
    found = max_l2_margin(data)
    if len(np.unique(data.labels)) < 2:
        pytest.skip("the draw has one class only, and LinearSVC needs two")
    machine = LinearSVC(C=1e5, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=2_000_000)
    machine.fit(np.asarray(data.inputs), np.asarray(data.labels))
    weights = machine.coef_[0]
    assert found.direction @ weights / np.linalg.norm(weights) == pytest.approx(1.0, abs=1e-5)


def test_closed_form_margin_of_two_points():
    found = max_l2_margin(LabelledPoints([[2.0, 1.0], [0.0, -3.0]], [1, -1]))
    # The nearest point to the origin on the segment from (2, 1) to (0, 3).
    np.testing.assert_allclose(found.solution, np.array([1.5, 1.5]) / 4.5, rtol=1e-12)
    assert found.margin == pytest.approx(np.hypot(1.5, 1.5))


def test_published_l1_margin_of_sparse_signs_is_one_over_k():
    for sparsity in (1, 3):
        data = SparseSigns(3000, 200, sparsity=sparsity, test_samples=1)
        assert max_l1_margin(data).margin == pytest.approx(1 / sparsity)


@pytest.mark.parametrize(("oracle", "solver"), [(max_l1_margin, "_largest_l1"), (max_l2_margin, "_nearest")])
def test_neither_separated_nor_proved_inseparable_is_no_verdict(oracle, solver, monkeypatch):
    """A solver that failed: its w is on the wrong side of a point, and its combination of the points is not zero.

    The data are separable, by (0.1, 1): "not separable" would be wrong.
    """
    data = LabelledPoints([[1.0, 0.0], [1.0, 0.0], [-0.5, 0.1]], [1, 1, 1])
    assert oracle(data).separable is True
    even = np.full(3, 1 / 3)
    failed = {"_largest_l1": (np.array([1.0, 0.0]), even), "_nearest": even}[solver]
    monkeypatch.setattr(margin, solver, lambda matrix: failed)
    found = oracle(data)
    assert found.separable is None
    assert not found.solved
    assert "neither separated nor proved inseparable: every margin is at most" in found.message
    assert np.isnan(found.solution).all()


@pytest.mark.parametrize("oracle", [max_l1_margin, max_l2_margin])
@pytest.mark.parametrize(
    ("inputs", "labels"),
    [
        ([[1.0, 0.0], [1.0, 0.0]], [1, -1]),
        ([[1.0, 1.0], [-1.0, 1.0], [0.0, -1.0]], [1, 1, 1]),
        (np.random.default_rng(0).normal(size=(60, 3)), np.sign(np.random.default_rng(1).normal(size=60))),
    ],
    ids=["contradiction", "triangle", "random labels"],
)
def test_data_that_no_classifier_separates_say_so(oracle, inputs, labels):
    found = oracle(LabelledPoints(inputs, labels))
    assert found.separable is False
    assert not found.solved
    assert "not separable" in found.message
    assert np.isnan(found.solution).all()
    assert found.margin == 0.0
