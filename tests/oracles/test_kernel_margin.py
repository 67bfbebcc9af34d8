"""The max-margin classifier on tangent features and KKT residuals, against scikit-learn, cvxpy and closed forms."""

from __future__ import annotations

import cvxpy as cp
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.svm import SVC

import latebloom as lb
from latebloom.errors import CapabilityError, InputError
from latebloom.linalg.nonnegative import nonnegative_quadratic
from latebloom.linalg.tangent import tangent_features
from latebloom.oracles import kernel_margin, max_kernel_margin, max_l2_margin
from latebloom.probes import HomogeneousMargin, KKTAngle
from latebloom.problems import DiagonalClassifier, GaussianGap, LabelledPoints, ModularClassifier, SparseRecovery
from latebloom.problems.networks.margins import margin_constraints
from latebloom.theory import averaged_kkt, margin_kkt

RATE = 0.01
NET = ModularClassifier(5, 40, train_share=0.7, seed=2)


@pytest.fixture(scope="module")
def found():
    return max_kernel_margin(NET)


@pytest.fixture(scope="module")
def fitted():
    """A network that fits its training set, early and long after."""
    probes = [KKTAngle(), HomogeneousMargin()]
    early, late = lb.run([lb.TrainJob(NET, lb.LogLossDescent(RATE), steps=n, probes=probes) for n in (1_400, 12_000)])
    assert early.final["train_error"] == 0
    return early, late


@pytest.mark.parametrize(("count", "size"), [(12, 30), (40, 9), (25, 25)])
def test_independent_quadratic_against_nnls(count, size):
    """`|Zᵀλ - w|²/2` over λ ≥ 0."""
    random = np.random.default_rng(count)
    rows, target = random.normal(size=(count, size)), random.normal(size=size)
    mine = nonnegative_quadratic(rows @ rows.T, rows @ target)
    theirs, distance = nnls(rows.T, target)
    assert np.linalg.norm(rows.T @ mine - target) == pytest.approx(distance, rel=1e-8, abs=1e-9)
    assert mine.min() >= 0
    if count <= size:  # otherwise λ is not unique
        np.testing.assert_allclose(mine, theirs, atol=1e-7)


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
    """One point with both labels; and a network whose units are all off, so that it has no features at all."""
    twice = DiagonalClassifier(LabelledPoints([[1.0, 2.0], [1.0, 2.0]], [1, -1]))
    found = max_kernel_margin(twice)
    assert found.separable is False
    assert not found.solved
    assert np.isnan(found.solution).all()
    assert "not separable: a convex combination of the tangent features" in found.message
    assert "check the labels" in found.message
    off = {name: -jnp.ones_like(leaf) for name, leaf in NET.init().items()}
    with pytest.raises(InputError, match="all tangent features are zero"):
        max_kernel_margin(NET, off)


def test_kkt_residuals_fall(fitted):
    """At a point the best multipliers are no worse than those of the loss; along the path the residual goes to zero."""
    early, late = (margin_kkt(NET, run.params, slack=0.3) for run in fitted)
    assert late.residual < 0.8 * early.residual
    assert late.margin > 20 * early.margin
    for run, kkt in zip(fitted, (early, late), strict=True):
        assert kkt.margin == pytest.approx(run.final["homogeneous_margin"], rel=1e-9)
        assert 0 <= kkt.complementarity <= 0.3
        assert kkt.multipliers.min() >= 0
        every = margin_kkt(NET, run.params, slack=1e9)
        assert every.residual <= kkt.residual + 1e-9
        assert 1 - every.cosine <= run.final["kkt_angle"] + 1e-9
    averaged = [averaged_kkt(NET, run.params, learning_rate=RATE) for run in fitted]
    assert averaged[0] > 0.3
    assert averaged[1] < 0.05
    # Kinks: without the average the residual stays, however late.
    assert late.residual > 0.5


def test_closed_form_kkt_of_a_diagonal_net():
    """`u² - v²` on one point: a KKT point is on one coordinate; off it the rest is the residual."""
    problem = DiagonalClassifier(LabelledPoints([[2.0, 0.0]], [1]))
    point = jnp.array([[3.0, 4.0], [0.0, 0.0]])
    kkt = margin_kkt(problem, 1e200 * point)
    assert kkt.residual == pytest.approx(0.8)
    assert kkt.cosine == pytest.approx(0.6)
    assert kkt.margin == pytest.approx(2 * 9 / 25)
    assert float(HomogeneousMargin().measure(problem, None, point)) == pytest.approx(2 * 9 / 25)
    assert margin_kkt(problem, jnp.array([[3.0, 0.0], [0.0, 0.0]])).residual == pytest.approx(0.0, abs=1e-9)


def test_class_margins_are_differences_of_scores():
    params = NET.init()
    scores, labels = np.asarray(NET.scores(params, "test")), np.asarray(NET.labels("test"))
    expected = [sorted(row[y] - np.delete(row, y)) for row, y in zip(scores, labels, strict=True)]
    np.testing.assert_allclose(np.sort(NET.class_margins(params, "test"), axis=1), expected, rtol=1e-12)


def test_refusals(monkeypatch):
    with pytest.raises(CapabilityError, match=r"max_kernel_margin needs a classifier .* SparseRecovery is none"):
        max_kernel_margin(SparseRecovery())
    with pytest.raises(CapabilityError, match="HomogeneousMargin needs a"):
        HomogeneousMargin().check(SparseRecovery(), None)
    with pytest.raises(InputError, match=r"the smallest margin is .* until train_error is 0"):
        margin_kkt(NET, NET.init())
    with pytest.raises(InputError, match="needs parameters with a direction"):
        margin_kkt(NET, {name: 0 * leaf for name, leaf in NET.init().items()})
    with pytest.raises(InputError, match=r"did not grow by a share 0\.1 in 5 steps"):
        averaged_kkt(NET, NET.init(), learning_rate=1e-6, most=5)
    monkeypatch.setattr(kernel_margin, "MOST", 50)
    with pytest.raises(InputError, match=r"72 x 72 .* use a smaller modulus"):
        max_kernel_margin(NET)
