"""The toy models: their zero-loss sets, least norms and closed forms."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.catalog.geometry.common import bend, linear_flow
from latebloom.catalog.geometry.phases import fast_path, kink_time
from latebloom.probes.trajectory import Trajectory
from latebloom.problems.vector.toy_models import KINDS, ToyModel

PLANAR = [kind for kind in KINDS if kind != "plane"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_the_square_without_a_half(kind):
    problem = ToyModel(kind)
    gap = float(problem.end_to_end(problem.init())[0] - problem.target)
    assert float(problem.loss(problem.init())) == pytest.approx(gap**2, rel=1e-14)


@pytest.mark.parametrize("kind", PLANAR)
@pytest.mark.parametrize("reach", [1.5, 2.0, 3.0, 30.0])
def test_the_lines_are_the_zero_loss_set_inside_the_window(kind, reach):
    problem = ToyModel(kind)
    for line in problem.zero_loss_lines(reach):
        between = np.concatenate([line, (line[1:] + line[:-1]) / 2]) if kind != "curved" else line
        assert max(float(problem.train_error(jnp.asarray(point))) for point in between) < 1e-12
        assert np.abs(line).max() <= reach * (1 + 1e-12)


@pytest.mark.parametrize("kind", PLANAR)
def test_the_least_norm_is_the_smallest_on_the_lines(kind):
    """Rung 2: a dense search on the polylines."""
    problem = ToyModel(kind)
    share = np.linspace(0, 1, 201)[:, None]
    points = np.concatenate(
        [a + share * (b - a) for line in problem.zero_loss_lines(4.0) for a, b in itertools.pairwise(line)]
    )
    least = np.linalg.norm(np.asarray(problem.least_norm), axis=1)
    assert np.linalg.norm(points, axis=1).min() == pytest.approx(least[0], abs=1e-3)
    np.testing.assert_allclose(least, least[0])
    for point in problem.least_norm:
        assert float(problem.train_error(point)) == 0
        assert float(problem.test_error(point)) == 0


@pytest.mark.parametrize("kind", PLANAR)
@pytest.mark.parametrize("start", [(0.3, 2.2), (2.4, -1.1), (-1.6, -0.9), (-2.0, 0.7)])
def test_the_fast_path_is_the_flow_without_decay(kind, start):
    """Rung 2: SciPy's integration to time 60; the tolerance is for its steps across the kinks."""
    from scipy.integrate import solve_ivp

    problem = ToyModel(kind)
    slope = jax.jit(lambda w: -problem.gradient(w))
    solution = solve_ivp(lambda t, w: np.asarray(slope(w)), (0, 60), start, rtol=1e-9, atol=1e-11, method="LSODA")
    np.testing.assert_allclose(fast_path(kind, start)[-1], solution.y[:, -1], atol=2e-5)


def test_the_linear_flow_solves_its_equation():
    start, decay, times = np.array([-2.0, 2.2, 0.4]), 0.05, np.array([0.0, 0.3, 7.0])
    problem, h = ToyModel("plane"), 1e-5
    for time in times:
        here, up, down = (linear_flow(start, 3.0, decay, np.array([time + d]))[0] for d in (0, h, -h))
        field = -np.asarray(problem.gradient(jnp.asarray(here))) - 2 * decay * here
        np.testing.assert_allclose((up - down) / (2 * h), field, atol=1e-7)
    np.testing.assert_array_equal(linear_flow(start, 3.0, decay, times)[0], start)


def test_a_straight_path_does_not_bend():
    assert bend(np.outer(np.linspace(0, 1, 9), [1.0, 2.0, 3.0])) < 1e-15


def test_a_landing_at_the_kink_is_there_at_once():
    assert kink_time([0.0, 2.0]) == 0


def test_training_records_its_path():
    problem = ToyModel("plane", init=[0.0, 0.0, 3.0])
    run = lb.train(problem, lb.GradientDescent(0.01), lb.L2(0.02), steps=50, probes=[Trajectory()])
    assert run["parameters"].shape == (len(run["step"]), 3)
    np.testing.assert_array_equal(run["parameters"][0], [0.0, 0.0, 3.0])
    np.testing.assert_array_equal(run["parameters"][-1], run.params)


def test_records_compare_by_kind_and_start():
    assert ToyModel("curved") == ToyModel("curved", init=KINDS["curved"].start)
    assert ToyModel("curved", init=[1, 2]) != ToyModel("singular", init=[1, 2])
    assert ToyModel("curved", init=[1, 2]) != ToyModel("curved", init=[1, 3])
    assert repr(ToyModel("curved")) == "ToyModel(kind='curved', init=<array (2,)>)"
