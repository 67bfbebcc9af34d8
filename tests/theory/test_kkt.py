"""KKT residuals of margins: they fall along a run, and a closed form."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import latebloom as lb
from latebloom.probes import HomogeneousMargin, KKTAngle
from latebloom.problems import DiagonalClassifier, LabelledPoints, ModularClassifier
from latebloom.theory import averaged_kkt, margin_kkt

RATE = 0.01


NET = ModularClassifier(5, 40, train_share=0.7, seed=2)


@pytest.fixture(scope="module")
def fitted():
    """A network that fits its training set, early and long after."""
    probes = [KKTAngle(), HomogeneousMargin()]
    early, late = lb.run([lb.TrainJob(NET, lb.LogLossDescent(RATE), steps=n, probes=probes) for n in (1_400, 12_000)])
    assert early.final["train_error"] == 0
    return early, late


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
