"""What entries of geometry measure, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import latebloom as lb
from latebloom.catalog import ENTRIES
from latebloom.catalog.geometry import appendix_b, circles, controls, cost
from latebloom.core.seeds import generator
from latebloom.probes.fourier import circle


@pytest.mark.parametrize("frequency", [1, 2, 3])
def test_a_circle_is_met_in_the_order_of_the_inverse_of_its_frequency(frequency):
    angles = 2 * np.pi * frequency * np.arange(7) / 7
    points = circle(np.column_stack([np.cos(angles), np.sin(angles), np.ones(7)]), frequency)
    assert circles.goes_round(points, pow(frequency, -1, 7))
    assert circles.goes_round(points, frequency) == (frequency**2 % 7 in (1, 6))
    assert circles.perfect(frequency, points) == pytest.approx(points)


def test_the_hyperbola_at_its_vertex_has_one_tangent_and_curvature_four():
    found = appendix_b.local(lb.problems.ToyModel("curved"), np.array([[1.0, 1.0]]), generator(0, "test"))
    assert (found["nullity"], found["expected"]) == (1, 1)
    assert found["least"] == pytest.approx(4.0)
    # On the diagonal the gradient is normal by symmetry, and (w² - 1)² has the third derivative 24 along w.
    assert found["cosine"] == pytest.approx(0.0, abs=1e-9)
    moved = 1 + np.array(appendix_b.NEAR)[:3] / np.sqrt(2)  # nearer, differences are rounding
    slope = 2 * (moved**2 - 1) * moved * np.sqrt(2)
    reference = np.abs(slope - 4 * np.array(appendix_b.NEAR)[:3]) / np.array(appendix_b.NEAR)[:3] ** 2
    assert found["remainder"][0, :3] == pytest.approx(reference, rel=0.1)


def test_the_crossing_of_two_axes_has_a_null_space_larger_than_its_tangents():
    found = appendix_b.at_the_crossing(0)
    assert (found["nullity"], found["expected"]) == (2, 1)
    assert np.isinf(found["least"]).all()


def test_nearest_points_are_at_a_right_angle_and_gauss_newton_leads_elsewhere():
    found = appendix_b.nearest(0, 3)
    assert found["nearest"].max() < 1e-6 < found["retracted"].min()
    assert (found["longer"] >= 1 - 1e-9).all()


def test_ridge_of_a_scalar():
    assert float(cost.ridge(np.array([[2.0]]), np.array([[3.0]]), 1.0)[0, 0]) == pytest.approx(6 / 5)


def test_uneven_decay_is_from_one_to_four():
    entry = ENTRIES["geometry/fig2"]
    job = controls.uneven(next(iter(entry.jobs(entry.settings).values())))
    assert np.asarray(job.penalty.weights).tolist() == [1.0, 2.5, 4.0]
