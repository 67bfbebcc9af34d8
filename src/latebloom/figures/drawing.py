"""From a figure as data to Matplotlib: panels with their letters, what stands below them, and how high they are.

Every panel of the catalog has axes of one height (`look.HEIGHTS`): what stands around them (legends above a panel,
tags, the key, the caption) makes the page longer and not the panels smaller.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.figures.around import Surroundings
from latebloom.figures.look import HEIGHTS, PAGE, SMALL, style
from latebloom.figures.strokes import draw_trace, look_of
from latebloom.figures.text import typeset
from latebloom.figures.traces import Axis, Figure, Line, Panel, letters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

CAPTION_WIDTH = 140  # characters of its type on a page
LINE = 0.125  # inches from one line of small type to the next
EDGE = 0.04  # inches between the page's lower edge and what is lowest
PASSES = 2  # legends are placed on axes as wide as they were guessed to be, then on those that came of it
SLACK = 0.02  # of their height, by which panels of two figures may differ


def draw(figure: Figure) -> Canvas:
    """The figure on a page of a paper."""
    from matplotlib.figure import Figure as Canvas

    with style():
        rows, columns = len(figure.rows), len(figure.rows[0])
        wanted = figure.height or HEIGHTS.get(columns, HEIGHTS[3])
        canvas = Canvas(figsize=(PAGE, rows * (wanted + 0.6)))
        axes = _panels_on(canvas, figure)
        around = [Surroundings(axis, panel) for axis, panel in zip(axes, figure.panels, strict=True)]
        bottom = _draw_foot(canvas, figure)
        canvas.subplots_adjust(0.1, 0.1, 0.98, 0.9, wspace=0.32, hspace=0.6 / wanted)  # about as it will be
        for _ in range(PASSES):
            for part in around:
                part.place()
            _lay_out(canvas, bottom)
            missing = wanted - _height_of_panels(canvas, axes, figure)
            if abs(missing) > SLACK * wanted:
                canvas.set_figheight(canvas.get_figheight() + rows * missing)
                _lay_out(canvas, bottom)
    return canvas


def _panels_on(canvas: Canvas, figure: Figure) -> list[Axes]:
    """The axes of every panel, with all that is drawn inside them."""
    names = {id(panel): str(number) for number, panel in enumerate(figure.panels)}
    layout = [["." if panel is None else names[id(panel)] for panel in row] for row in figure.rows]
    in_space = {
        names[id(panel)]: {"projection": "3d", "computed_zorder": False}
        for panel in figure.panels
        if panel.z is not None
    }
    options: dict[str, Any] = {"width_ratios": figure.widths} if figure.widths else {}
    axes = canvas.subplot_mosaic(layout, per_subplot_kw=in_space, **options)  # type: ignore[arg-type]
    shown = letters(len(figure.panels)) if len(figure.panels) > 1 else [""]
    for letter, panel in zip(shown, figure.panels, strict=True):
        _draw_panel(axes[names[id(panel)]], panel, letter)
    return [axes[names[id(panel)]] for panel in figure.panels]


def _height_of_panels(canvas: Canvas, axes: Sequence[Axes], figure: Figure) -> float:
    """Inches, of those that do not span rows."""
    heights = [axis.get_position(original=True).height * canvas.get_figheight() for axis in axes]
    spans = [sum(panel in row for row in figure.rows) for panel in figure.panels]
    single = [height for height, span in zip(heights, spans, strict=True) if span == 1]
    return min(single) if single else min(heights) / len(figure.rows)


def _lay_out(canvas: Canvas, bottom: float) -> None:
    """Axes where their labels leave room, above the foot of the page.

    The canvas itself has no engine: with one, every file is drawn twice.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    share = bottom / canvas.get_figheight()
    ConstrainedLayoutEngine(rect=(0.0, share, 1.0, 1.0 - share)).execute(canvas)


def _draw_panel(axes: Axes, panel: Panel, letter: str) -> None:
    for name in ("x", "y"):
        getattr(axes, f"set_{name}scale")(getattr(panel, name).scale)
    if panel.equal:
        axes.set_aspect("equal", adjustable="box" if panel.x.low is not None else "datalim")
    first = [trace for trace in panel.traces if getattr(trace, "fits", True)]
    for trace in first:
        draw_trace(axes, trace)
    if len(first) < len(panel.traces):
        axes.set_ylim(axes.get_ylim())  # those of what has to be seen
        axes.set_xlim(axes.get_xlim())
    for trace in panel.traces:
        if trace not in first:
            draw_trace(axes, trace)
    for name in ("x", "y", "z"):
        if (axis := getattr(panel, name)) is not None:
            _draw_axis(axes, name, axis)
    axes.set_title("  ".join(filter(None, (letter and rf"$\mathbf{{{letter}}}$", typeset(panel.title)))))
    if not panel.grid:
        axes.grid(visible=False)
    if panel.view is not None:
        _look_from(axes, *panel.view)
    if not _has_data(panel):
        _say_why(axes, panel)


def _has_data(panel: Panel) -> bool:
    """Whether some line or heat map has a point that the axes can show."""
    for trace in panel.traces:
        if not isinstance(trace, Line):
            if trace.kind == "heat":
                return True
            continue
        shown = np.isfinite(trace.columns) & np.isfinite(trace.x)[:, None]
        shown &= (panel.y.scale != "log") | (trace.columns > 0)
        shown &= (panel.x.scale != "log") | (trace.x > 0)[:, None]
        if shown.any():
            return True
    return False


def _say_why(axes: Any, panel: Panel) -> None:
    """Words in place of data, and no ticks: an axis around nothing has no meaning."""
    axes.text(0.5, 0.5, textwrap.fill(panel.empty, 38), transform=axes.transAxes, ha="center", va="center", fontsize=7)
    axes.set_yticks([], minor=True)
    axes.set_yticks([])


def _draw_axis(axes: Any, name: str, axis: Axis) -> None:
    from matplotlib.ticker import MaxNLocator

    getattr(axes, f"set_{name}label")(typeset(axis.title))
    limits = {"left": axis.low, "right": axis.high} if name == "x" else {"bottom": axis.low, "top": axis.high}
    if chosen := {side: value for side, value in limits.items() if value is not None}:  # without any, it would fix both
        getattr(axes, f"set_{name}lim")(**chosen)
    lines = getattr(axes, f"{name}axis")
    if isinstance(axis.ticks, dict):
        lines.set_ticks(list(axis.ticks), [typeset(text) for text in axis.ticks.values()])
        lines.minorticks_off()
    elif axis.ticks is not None:
        lines.set_ticks(list(axis.ticks))
    elif axis.whole:
        lines.set_major_locator(MaxNLocator(nbins=6, integer=True))


def _draw_foot(canvas: Canvas, figure: Figure) -> float:
    """The caption at the lower edge of the page and the key above it; how many inches they take."""
    lines = textwrap.wrap(figure.caption, CAPTION_WIDTH) if figure.caption else []
    height = EDGE + LINE * len(lines)
    below: Any = {"fontsize": SMALL, "color": "#404040", "ha": "left", "va": "bottom"}
    for number, line in enumerate(reversed(lines)):
        _at(canvas, canvas.text(0.01, 0.0, typeset(line), **below), EDGE + LINE * number)
    return _draw_key(canvas, figure.key, height + 0.03) if figure.key else height + 0.03 * bool(lines)


def _draw_key(canvas: Canvas, key: Sequence[Line], bottom: float) -> float:
    """One legend for all panels, in as few rows as the page is wide enough for; how many inches are taken then."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    named = {line.label: line for line in key}  # what several panels name is named once
    handles = [Line2D([], [], **look_of(line)) for line in named.values()]
    lifted = canvas.transFigure + ScaledTranslation(0, bottom, canvas.dpi_scale_trans)
    options: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": lifted, "borderaxespad": 0}
    for rows in range(1, len(handles) + 1):
        columns = -(-len(handles) // rows)
        legend = canvas.legend(handles=handles, ncols=columns, columnspacing=1.2, **options)
        legend.set_in_layout(False)
        size = legend.get_window_extent()
        if size.width <= 0.98 * canvas.bbox.width:
            break
        legend.remove()
    return bottom + size.height / canvas.dpi  # type: ignore[possibly-undefined]


def _at(canvas: Canvas, text: Any, inches: float) -> None:
    """A text so many inches above the lower edge, however high the page becomes."""
    from matplotlib.transforms import ScaledTranslation

    text.set_transform(canvas.transFigure + ScaledTranslation(0, inches, canvas.dpi_scale_trans))
    text.set_in_layout(False)


def _look_from(axes: Any, elevation: float, azimuth: float) -> None:
    """A panel in space, seen from somewhere, without walls: what is in it is seen, and not the box."""
    axes.view_init(elev=elevation, azim=azimuth)
    axes.set_box_aspect((1, 1, 1), zoom=1.05)
    for wall in (axes.xaxis, axes.yaxis, axes.zaxis):
        wall.set_pane_color((1, 1, 1, 0))
        wall.labelpad = -6
    axes.tick_params(pad=-2, labelsize=6)
