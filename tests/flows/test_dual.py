"""The flow of a diagonal network in dual form against the flow of all parameters."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import latebloom as lb
from latebloom.flows import DualForm
from latebloom.problems import DiagonalClassifier, LabelledPoints, SparseSigns

DECAY, UNTIL = 0.02, 100.0
SMALL = SparseSigns(dimension=60, samples=12, test_samples=300, seed=3)


def end_of_dual_flow(problem, run):
    (u,), (v,) = DualForm(problem, DECAY).layers(run["dual"][-1:], run["time"][-1:])
    return np.stack([u, v])


def test_the_dual_form_is_the_flow_of_all_parameters():
    problem = DiagonalClassifier(SMALL, init_scale=0.4)
    direct = lb.flow(problem, weight_decay=DECAY, time=UNTIL, solver="tsit5", rtol=1e-9, atol=1e-11,
                     records_per_decade=1, progress=False)  # fmt: skip
    run = lb.flow(problem, solver="dual", weight_decay=DECAY, time=UNTIL, rtol=1e-9, atol=1e-12, progress=False)
    np.testing.assert_allclose(end_of_dual_flow(problem, run), direct.params, atol=1e-6)
    for column in ("train_loss", "train_error", "test_error"):
        assert run.final[column] == pytest.approx(direct.final[column], rel=1e-5)


@pytest.mark.parametrize(("degree", "loss"), [(1, "logistic"), (2, "exponential"), (3, "logistic"), (5, "logistic")])
def test_independent_dual_form_of_every_degree_against_scipy_on_all_parameters(degree, loss):
    problem = DiagonalClassifier(SMALL, init_scale=0.7, depth=degree, loss_kind=loss)
    rows = np.asarray(SMALL.signed)

    def field(t, flat):
        u, v = flat.reshape(2, -1)
        margins = rows @ (u**degree - v**degree)
        shares = (np.exp(-margins) if loss == "exponential" else 1 / (1 + np.exp(margins))) / len(rows)
        pull = degree * (shares @ rows)
        return (np.stack([pull * u ** (degree - 1), -pull * v ** (degree - 1)]) - DECAY * flat.reshape(2, -1)).ravel()

    start = np.full(120, 0.7)
    end = solve_ivp(field, (0, UNTIL), start, method="LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
    run = lb.flow(problem, solver="dual", weight_decay=DECAY, time=UNTIL, rtol=1e-9, atol=1e-12, progress=False)
    np.testing.assert_allclose(end_of_dual_flow(problem, run).ravel(), end, atol=1e-6)


def test_the_jacobian_steers_newton():
    form = DualForm(DiagonalClassifier(SMALL, init_scale=0.4), 0.02)
    point = 0.01 * np.random.default_rng(0).normal(size=12)
    for column in range(3):
        step = 1e-6 * np.eye(12)[column]
        difference = (form.velocity(5.0, point + step) - form.velocity(5.0, point - step)) / 2e-6
        np.testing.assert_allclose(form.jacobian(5.0, point)[:, column], difference, rtol=1e-4, atol=1e-6)


def test_the_columns_of_a_dual_flow_are_those_of_the_probes():
    problem = DiagonalClassifier(SMALL, init_scale=0.4)
    run = lb.flow(problem, solver="dual", weight_decay=0.02, time=50.0, progress=False)
    layers = DualForm(problem, 0.02).layers(run["dual"][-1:], run["time"][-1:])
    params = jnp.stack([layers[0][0], layers[1][0]])
    for probe in (lb.probes.NormalisedMargin(1), lb.probes.NormalisedMargin(2), lb.probes.KKTAngle()):
        assert run.final[probe.column] == pytest.approx(float(probe.measure(problem, None, params)), rel=1e-9)
    assert run.final["l2_norm"] == pytest.approx(float(jnp.linalg.norm(params)))
    assert run.final["log_train_loss"] == pytest.approx(np.log(run.final["train_loss"]))


def test_the_rich_phase_ends_at_a_kkt_point_and_the_kernel_phase_does_not():
    problem = DiagonalClassifier(SparseSigns(400, 40, test_samples=200), init_scale=1.0)
    run = lb.flow(problem, solver="dual", weight_decay=1e-3, time=1e4, progress=False)
    assert run.final["kkt_angle"] < 1e-3
    assert run.record(time=10.0)["kkt_angle"] > 0.5


def test_a_spent_budget_and_an_overflow_are_outcomes():
    problem = DiagonalClassifier(SMALL, init_scale=0.4)
    short = lb.flow(problem, solver="dual", weight_decay=0.02, time=50.0, max_gradients=20, progress=False)
    assert "budget of 20 gradients spent" in short.outcome.sentence
    assert short["time"][-1] < 50
    steep = DiagonalClassifier(SMALL, init_scale=1e60)
    run = lb.flow(steep, solver="dual", weight_decay=0.02, time=1.0, max_gradients=2000, progress=False)
    assert run.outcome.sentence
    assert np.isfinite(run["train_loss"][0])


def test_own_points_without_a_test_set_have_no_generalisation():
    problem = DiagonalClassifier(LabelledPoints(np.eye(3), [1, -1, 1]))
    run = lb.flow(problem, solver="dual", weight_decay=0.1, time=10.0, progress=False)
    assert run.milestones.generalised is None
    assert run.milestones.memorised is not None
