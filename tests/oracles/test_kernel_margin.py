"""The max-margin classifier on tangent features, against scikit-learn, cvxpy and closed forms."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import SVC

from latebloom.linalg.tangent import tangent_features
from latebloom.oracles import max_kernel_margin, max_l2_margin
from latebloom.problems import DiagonalClassifier, GaussianGap, LabelledPoints, ModularClassifier
from latebloom.problems.networks.margins import margin_constraints


@pytest.fixture(scope="module")
def found():
    return max_kernel_margin(NET)


def test_independent_two_classes_against_scikit_learn():
    """The tangent features of `⟨u² - v², x⟩` at u = v = α are 2α (x, -x): a linear machine without bias."""
    data = GaussianGap(12, 20, margin=3.0, seed=4)
    found = max_kernel_margin(DiagonalClassifier(data, init_scale=0.7))
    assert found.solved, found.message
    inputs, labels = np.asarray(data.inputs), np.asarray(data.labels)
    machine = SVC(C=1e8, kernel="precomputed", tol=1e-10)
    # With every point mirrored the machine's bias is zero by symmetry.
    both, signs = np.vstack([inputs, -inputs]), np.concatenate([labels, -labels])
    machine.fit(both @ both.T, signs)
    weights = (machine.dual_coef_[0] @ both[machine.support_]).ravel()
    mine = found.predict(DiagonalClassifier(data, init_scale=0.7).end_to_end)
    np.testing.assert_allclose(mine / np.linalg.norm(mine), weights / np.linalg.norm(weights), atol=1e-5)
    scale = np.sqrt(8) * 0.7  # |2α (x, -x)| over |x|
    assert found.margin == pytest.approx(scale * max_l2_margin(data).margin, rel=1e-7)


def test_independent_several_classes_against_cvxpy(found):
    """The primal program, in the parameters: 18 rows, 4 wrong classes each."""
    assert found.solved, found.message
    features = np.asarray(tangent_features(margin_constraints(NET, "test"), NET.init()))
    assert len(features) == 4 * 18
    h = cp.Variable(features.shape[1])
    program = cp.Problem(cp.Minimize(cp.sum_squares(h)), [features @ h >= 1])
    program.solve(solver=cp.CLARABEL)
    assert found.value == pytest.approx(np.sqrt(float(np.asarray(program.value))), rel=1e-6)
    np.testing.assert_allclose(found.solution, np.asarray(h.value), atol=1e-5)


def test_certificate_is_of_the_returned_point(found):
    features = np.asarray(tangent_features(margin_constraints(NET, "test"), NET.init()))
    assert (features @ found.solution).min() == pytest.approx(1.0, abs=1e-9)
    assert found.dual.min() >= 0
    assert found.dual.sum() == pytest.approx(1.0)
    bound = np.linalg.norm(found.dual @ features)
    assert (bound - found.margin) / bound == pytest.approx(found.gap, abs=1e-9)
    assert found.gap <= 1e-8
    scores = found.predict(lambda params: NET.scores(params, "train"))
    assert (scores.argmax(axis=1) == np.asarray(NET.labels("train"))).all()


def test_what_no_feature_separates():
    """One point with both labels."""
    twice = DiagonalClassifier(LabelledPoints([[1.0, 2.0], [1.0, 2.0]], [1, -1]))
    found = max_kernel_margin(twice)
    assert found.separable is False
    assert not found.solved
    assert np.isnan(found.solution).all()
    assert "not separable: a convex combination of the tangent features" in found.message
    assert "check the labels" in found.message


NET = ModularClassifier(5, 40, train_share=0.7, seed=2)
