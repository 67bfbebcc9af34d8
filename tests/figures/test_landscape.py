"""Landscapes: the parts of a path are where they are, in the plane and in space, and what is drawn is explained."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from latebloom.figures import Figure, Heat, draw, landscape, save

POINTS = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [2.0, 1.0, 0.0], [3.0, 1.0, 0.0]])


def loss(first, second):
    return (first * second - 1) ** 2


def rows_of(line) -> np.ndarray:
    return np.column_stack([part for part in (line.x, line.y, line.z) if part is not None])


@pytest.mark.parametrize("size", [2, 3])
def test_a_path_changes_its_look_at_the_junction(size):
    parts = {line.label: line for line in landscape.path(POINTS[:, :size], 1, "cycle 0", "run")}
    rows = {
        "run, sliding": POINTS[1:],
        "run, memorising": POINTS[:2],
        "run, start": POINTS[:1],
        "run, memorised": POINTS[1:2],
    }
    assert parts.keys() == rows.keys()
    for name, expected in rows.items():
        np.testing.assert_array_equal(rows_of(parts[name]), expected[:, :size])
    assert parts["run, sliding"].marks == parts["run, memorising"].marks == "measured"
    assert parts["run, sliding"].width >= 2 * parts["run, memorising"].width


def test_theory_leaves_the_measured_path_in_sight():
    """Over the path, which is wider, and under its marks."""
    parts = {line.label: line for line in landscape.path(POINTS, 1, "cycle 0", "run")}
    theory = landscape.predicted(POINTS, "theory")
    assert parts["run, sliding"].above < theory.above < parts["run, memorised"].above
    assert theory.width < min(parts["run, sliding"].width, parts["run, memorising"].width)


def test_a_landscape_is_square_and_labelled_and_its_lines_are_saved(tmp_path):
    traces = [
        *landscape.zero_set([POINTS[:, :2], -POINTS[:, :2]]),
        landscape.predicted(POINTS[:, :2], "theory"),
        landscape.least_norm([(1.0, 1.0), (-1.0, -1.0)]),
    ]
    panel = landscape.flat_panel(traces, loss, low=-2, high=3)
    figure = Figure([[panel]], height=3.0, key=landscape.key("theory"))
    (axes,) = draw(figure).axes
    assert axes.get_xlim() == axes.get_ylim() == (-2, 3)
    assert axes.get_aspect() == 1
    *_, data = save(figure, tmp_path, "landscape")
    with data.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["series"] for row in rows} == {"zero loss, part 1", "zero loss, part 2", "theory", "least norm"}
    assert all(row["x_label"] == "w_1" and row["y_label"] == "w_2" for row in rows)


def test_the_shading_is_the_loss_and_the_rings_are_the_norm():
    shading, rings = (
        trace for trace in landscape.flat_panel([], loss, low=-2, high=3).traces if isinstance(trace, Heat)
    )
    column, row = 30, 170
    place = shading.x[column], shading.y[row]
    assert shading.z[row, column] == pytest.approx(np.log1p(loss(*place)))
    assert rings.z[row, column] == pytest.approx(np.hypot(*place))
    assert max(rings.contours) < np.sqrt(2) * 3
    assert shading.backdrop
    assert rings.backdrop


@pytest.mark.parametrize("in_space", [False, True])
def test_the_key_names_all_that_is_drawn(in_space):
    names = {line.label for line in landscape.key("exact flow", in_space=in_space)}
    assert names >= {"start", "memorising", "memorised", "sliding", "least norm", "exact flow"}
    behind = {"zero-loss plane", "darker: larger norm"}, {"zero-loss set", "darker: larger loss", "equal norm"}
    assert names >= behind[0 if in_space else 1]
    assert not names & behind[1 if in_space else 0]


def test_the_plane_is_where_the_weights_sum_to_its_total():
    plane = landscape.plane(3.0, 2.0)
    np.testing.assert_allclose(plane.x + plane.y + plane.z, 3.0, atol=1e-12)
    norms = np.sqrt(plane.x**2 + plane.y**2 + plane.z**2)
    assert np.linalg.norm([plane.x - 1, plane.y - 1, plane.z - 1], axis=0).max() == pytest.approx(2.0)
    order = np.argsort(norms.ravel())
    assert (np.diff(np.asarray(plane.by).ravel()[order]) >= -1e-12).all()  # darker as the norm grows


def test_a_panel_in_space_is_drawn_with_its_surface():
    traces = [landscape.plane(3.0, 3.6), *landscape.path(POINTS, 1, "cycle 0", "run")]
    panel = landscape.space_panel(traces, view=(22, 22))
    np.testing.assert_array_equal(panel.z.ticks, [-2, 0, 2, 4])
    canvas = draw(Figure([[panel]], height=3.0))
    canvas.draw_without_rendering()
    (axes,) = canvas.axes
    assert len(axes.collections) == 1
    drawn = {line.get_label(): np.column_stack(line.get_data_3d()) for line in axes.get_lines()}
    np.testing.assert_array_equal(drawn["run, sliding"], POINTS[1:])
