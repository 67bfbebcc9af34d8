"""Landscapes: the parts of a path are drawn where they are, in the plane and in space."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from latebloom.figures import save
from latebloom.figures.look import style
from latebloom.figures.old import landscape

POINTS = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [2.0, 1.0, 0.0], [3.0, 1.0, 0.0]])


@pytest.mark.parametrize("size", [2, 3])
def test_a_path_changes_its_look_at_the_junction(size):
    options = {"per_subplot_kw": {"a": {"projection": "3d"}}} if size == 3 else {}
    figure, axes = landscape.stage(["a"], height=2.0, **options)
    landscape.path(axes["a"], POINTS[:, :size], 1, colour="#0072B2", label="run")
    lines = {line.get_label(): line for line in axes["a"].get_lines()}
    drawn = {
        name: np.column_stack(line.get_data_3d() if size == 3 else line.get_data()) for name, line in lines.items()
    }
    np.testing.assert_array_equal(drawn["run"], POINTS[1:, :size])
    np.testing.assert_array_equal(drawn["_fast"], POINTS[:2, :size])
    np.testing.assert_array_equal(drawn["_start"], POINTS[:1, :size])
    np.testing.assert_array_equal(drawn["_junction"], POINTS[1:2, :size])
    figure.draw_without_rendering()


def test_a_landscape_is_square_and_labelled_and_its_lines_are_saved(tmp_path):
    with style():
        figure, axes = landscape.stage(["a"], height=3.0)
        landscape.shade(axes["a"], lambda first, second: (first * second - 1) ** 2, low=-2, high=3)
        landscape.zero_set(axes["a"], [POINTS[:, :2], -POINTS[:, :2]])
        landscape.predicted(axes["a"], POINTS[:, :2], label="theory")
        landscape.end(axes["a"], (1.0, 1.0))
        landscape.key(figure, theory="theory")
        *_, data = save(figure, tmp_path, "landscape")
    assert axes["a"].get_xlim() == axes["a"].get_ylim() == (-2, 3)
    with data.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["series"] for row in rows} >= {"zero loss", "theory", "least norm"}
    assert all(row["x_label"] == "$w_1$" and row["y_label"] == "$w_2$" for row in rows)


def test_the_plane_is_where_the_weights_sum_to_its_total():
    _, axes = landscape.stage(["a"], height=2.0, per_subplot_kw={"a": {"projection": "3d"}})
    landscape.plane(axes["a"], total=3.0, reach=2.0)
    (surface,) = axes["a"].collections
    corners = np.asarray(surface._vec)[:3] if hasattr(surface, "_vec") else np.concatenate(surface._faces).T
    np.testing.assert_allclose(corners.sum(axis=0), 3.0, atol=1e-12)
