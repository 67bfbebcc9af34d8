"""How panels are laid out: letters, one height, legends that touch nothing, tags that do not touch each other."""

from __future__ import annotations

import numpy as np
import pytest

from latebloom.figures import Axis, Figure, Line, Panel, Rule, draw
from latebloom.figures.look import HEIGHTS

X = np.linspace(1.0, 10.0, 50)


def panel(*traces, **more) -> Panel:
    return Panel(traces, Axis("step"), Axis("error"), **more)


def boxes(canvas):
    """The legend of the first panel and its axes, in pixels."""
    axes = canvas.axes[0]
    return axes.get_legend().get_window_extent(), axes.get_window_extent()


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 2), (1, 3)])
def test_panels_are_as_high_in_one_figure_as_in_another(rows, columns):
    def row():
        above = panel(Line(X, X, "a curve with a long name"), Rule(3.0, "tag"), title="title", legend="above")
        return [above, *[panel(Line(X, X)) for _ in range(columns - 1)]]

    canvas = draw(Figure([row() for _ in range(rows)], caption="N = 3"))
    for axes in canvas.axes:
        assert axes.get_position().height * canvas.get_figheight() == pytest.approx(HEIGHTS[columns], rel=0.03)


def test_letters_are_on_every_panel_of_several():
    titles = [
        axes.get_title(loc="left") for axes in draw(Figure([[panel(Line(X, X)), panel(Line(X, X), title="t")]])).axes
    ]
    assert titles == [r"$\mathbf{a}$", r"$\mathbf{b}$  t"]
    assert draw(Figure([[panel(Line(X, X))]])).axes[0].get_title(loc="left") == ""


def test_a_legend_is_where_nothing_is_drawn():
    legend, axes = boxes(draw(Figure([[panel(Line(X, X, "up"), Rule(5.0, measured=True), legend="upper right")]])))
    assert legend.y0 > axes.y0 - 1
    assert legend.y1 < axes.y1 + 1
    rising = axes.y0 + (legend.x1 - axes.x0) / axes.width * axes.height  # the curve at the legend's right end
    falling = axes.y0 + (legend.x0 - axes.x0) / axes.width * axes.height
    assert legend.y0 > rising or legend.y1 < falling
    strike = axes.x0 + axes.width * (5.0 - 0.55) / (10.45 - 0.55)
    assert not legend.x0 < strike < legend.x1


def test_a_legend_without_room_is_above_the_panel():
    full = [Line(X, np.full(50, height), "line" if height == 0 else "") for height in np.linspace(0, 1, 20)]
    legend, axes = boxes(draw(Figure([[panel(*full)]])))
    assert legend.y0 >= axes.y1


def test_tags_that_would_touch_are_stacked():
    rules = Rule(5.0, "$t_2$", measured=True), Rule(5.01, "predicted $t_2$"), Rule(9.0, "far")
    canvas = draw(Figure([[panel(Line(X, X), *rules)]]))
    first, second, far = (text.get_window_extent() for text in canvas.axes[0].texts)
    assert second.y0 >= first.y1 - 1
    assert far.y0 == pytest.approx(first.y0, abs=2)


def test_levels_near_each_other_have_tags_apart():
    rules = [Rule(value, f"$s_{place}$", across="y", tag=True) for place, value in enumerate((5.0, 5.1))]
    low, high = (text.get_window_extent() for text in draw(Figure([[panel(Line(X, X), *rules)]])).axes[0].texts)
    assert high.y0 >= low.y1 - 2


def test_an_empty_panel_says_why():
    nothing = panel(Line(X, np.full(50, np.nan), "t2"), Rule(3.0), empty="no run generalised")
    axes = draw(Figure([[nothing, panel(Line(X, X))]])).axes
    assert [text.get_text() for text in axes[0].texts] == ["no run generalised"]
    assert not axes[1].texts


def test_the_caption_is_below_everything_and_set_in_italics():
    canvas = draw(Figure([[panel(Line(X, X))]], caption="N = 3, λ = 1e-05", key=[Line([], [], "shared", "grey")]))
    (text,) = canvas.texts
    assert text.get_text() == r"$N$ = 3, $\lambda$ = $10^{-5}$"
    (key,) = canvas.legends
    assert key.get_window_extent().y0 >= text.get_window_extent().y1
    assert canvas.axes[0].xaxis.label.get_window_extent().y0 >= key.get_window_extent().y1


def test_a_label_longer_than_its_axis_has_two_lines():
    tall = Panel([Line(X, X)], Axis("x"), Axis("the largest distance between the flow and the slow flow"))
    assert draw(Figure([[tall]])).axes[0].get_ylabel().count("\n") == 1
