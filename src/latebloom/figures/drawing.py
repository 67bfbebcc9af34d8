"""From a figure as data to Matplotlib: the one place that chooses colours, line styles and where legends go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.figures.look import CYCLE, GREY, NORM, PAGE, TEST, THEORY, TRAIN, shades, style
from latebloom.figures.traces import Axis, Figure, Heat, Line, Note, Panel, Rule, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

COLOURS = {
    "train": TRAIN, "test": TEST, "norm": NORM, "theory": THEORY, "grey": GREY, "zero": "#3A3A3A", "goal": "#F0E442",
    "light": "#FFFFFF",
}  # fmt: skip
PALE = ("#FFFFFF", "#E9EDF2", "#CBD5DF", "#A9B8C6")  # a loss behind paths: white where it is zero
STYLES: dict[str, Any] = {"solid": "-", "dashed": "--", "dotted": ":", "dashdot": "-.", "linked": "-", "points": "none"}
WIDTHS = {"solid": 1.3, "dashed": 0.9, "dotted": 0.9, "dashdot": 0.9, "linked": 1.0}
HALO = 2.4  # points of white around a line
TAG_PAD = 10  # points between panel and title, where a tag is between them
FAMILY = 101  # shades between dark and light


def draw(figure: Figure) -> Canvas:
    """The figure on a page of a paper."""
    from matplotlib.figure import Figure as Canvas

    with style():
        canvas = Canvas(figsize=(PAGE, figure.height * len(figure.rows)), layout="constrained")
        names = {id(panel): str(number) for number, panel in enumerate(figure.panels)}
        layout = [["." if panel is None else names[id(panel)] for panel in row] for row in figure.rows]
        in_space = {
            names[id(panel)]: {"projection": "3d", "computed_zorder": False}
            for panel in figure.panels
            if panel.z is not None
        }
        options: dict[str, Any] = {"width_ratios": figure.widths} if figure.widths else {}
        axes = canvas.subplot_mosaic(layout, per_subplot_kw=in_space, **options)  # type: ignore[arg-type]
        for panel in figure.panels:
            _draw_panel(axes[names[id(panel)]], panel)
        if figure.key:
            _draw_key(canvas, figure.key)
    return canvas


def colour_of(trace: Line | Rule | Heat | Note) -> Any:
    """The colour of a role, of a place in the cycle, or of a shade."""
    shade = getattr(trace, "shade", None)
    if shade is not None:
        return shades(FAMILY)[round(shade * (FAMILY - 1))]
    name, _, number = trace.role.partition(" ")
    return CYCLE[int(number) % len(CYCLE)] if name == "cycle" else COLOURS[trace.role]


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for name in ("x", "y"):
        getattr(axes, f"set_{name}scale")(getattr(panel, name).scale)
    if panel.equal:
        axes.set_aspect("equal", adjustable="box" if panel.x.low is not None else "datalim")
    first = [trace for trace in panel.traces if getattr(trace, "fits", True)]
    for trace in first:
        _draw_trace(axes, trace)
    if len(first) < len(panel.traces):
        axes.set_ylim(axes.get_ylim())  # those of what has to be seen
        axes.set_xlim(axes.get_xlim())
    for trace in panel.traces:
        if trace not in first:
            _draw_trace(axes, trace)
    for name in ("x", "y", "z"):
        if (axis := getattr(panel, name)) is not None:
            _draw_axis(axes, name, axis)
    for trace in panel.traces:
        if isinstance(trace, Rule) and trace.tag:
            _draw_tag(axes, trace)
    tagged = any(isinstance(trace, Rule) and trace.tag and trace.across == "x" for trace in panel.traces)
    axes.set_title(panel.title, pad=TAG_PAD if tagged else None)
    if not panel.grid:
        axes.grid(visible=False)
    if panel.view is not None:
        _look_from(axes, *panel.view)
    if panel.legend is not None:
        _draw_legend(axes, panel)


def _draw_axis(axes: Any, name: str, axis: Axis) -> None:
    from matplotlib.ticker import MaxNLocator

    getattr(axes, f"set_{name}label")(axis.title)
    limits = {"left": axis.low, "right": axis.high} if name == "x" else {"bottom": axis.low, "top": axis.high}
    if chosen := {side: value for side, value in limits.items() if value is not None}:  # without any, it would fix both
        getattr(axes, f"set_{name}lim")(**chosen)
    lines = getattr(axes, f"{name}axis")
    if isinstance(axis.ticks, dict):
        lines.set_ticks(list(axis.ticks), list(axis.ticks.values()))
        lines.minorticks_off()
    elif axis.ticks is not None:
        lines.set_ticks(list(axis.ticks))
    elif axis.whole:
        lines.set_major_locator(MaxNLocator(nbins=6, integer=True))


def _draw_trace(axes: Any, trace: Trace) -> None:
    if isinstance(trace, Line):
        _draw_line(axes, trace)
    elif isinstance(trace, Rule):
        _draw_rule(axes, trace)
    elif isinstance(trace, Heat):
        _draw_heat(axes, trace)
    else:
        _draw_note(axes, trace)


def _draw_line(axes: Any, line: Line) -> None:
    if line.marks == "bars":
        axes.bar(line.x, line.y, width=line.width or 0.8, color=colour_of(line), alpha=line.opacity, label=line.label)
        return
    if line.by is not None:
        size = (line.size or 4.0) ** 2
        options: Any = {"c": line.by, "cmap": "viridis", "s": size, "marker": line.symbol, "zorder": 2 + line.above}
        options |= {"vmin": line.low, "vmax": line.high}
        axes.scatter(line.x, line.y, edgecolors="white" if line.hollow else "none", label=line.label, **options)
        return
    look = _look(line)
    if line.error is not None:
        axes.errorbar(line.x, line.y, line.error, capsize=2, elinewidth=look["linewidth"], **look)
        return
    for number, values in enumerate(line.columns.T):
        points = (line.x, values) if line.z is None else (line.x, values, line.z)
        axes.plot(*points, **(look if number == 0 else look | {"label": "_more"}))


def _look(line: Line) -> dict[str, Any]:
    """How Matplotlib's `plot` draws a line."""
    import matplotlib.patheffects as effects

    colour, width = colour_of(line), line.width or WIDTHS.get(line.marks, 1.3)
    look: dict[str, Any] = {"color": colour, "linestyle": STYLES[line.marks], "linewidth": width}
    look |= {"alpha": line.opacity, "zorder": 2 + line.above, "label": line.label or "_"}
    if line.marks in ("points", "linked"):
        look |= {"marker": line.symbol, "markersize": line.size or 4.0}
        if line.hollow:
            look |= {"markerfacecolor": "white" if line.above else "none"}
        if line.role == "goal":
            look |= {"markeredgecolor": THEORY, "markeredgewidth": 0.8}
    if line.halo:
        stroke = effects.Stroke(linewidth=width + HALO, foreground="white", alpha=0.8)
        look |= {"path_effects": [stroke, effects.Normal()]}
    return look


def _draw_rule(axes: Any, rule: Rule) -> None:
    if not np.isfinite(rule.value):  # what theory says never happens
        return
    colour, label = colour_of(rule), rule.label if rule.label and not rule.tag else "_"
    if rule.to is not None:
        span = axes.axvspan if rule.across == "x" else axes.axhspan
        span(rule.value, rule.to, color=colour, alpha=min(rule.opacity, 0.15), linewidth=0, label=label)
    else:
        line = axes.axvline if rule.across == "x" else axes.axhline
        dashes = STYLES[rule.marks] if rule.turn is None else _taking_turns(*rule.turn)
        look: Any = {"linestyle": dashes, "linewidth": rule.width or 0.9, "alpha": rule.opacity}
        line(rule.value, color=colour, label=label, zorder=1.5 + rule.above, **look)


def _draw_tag(axes: Any, rule: Rule) -> None:
    """A rule's label at the edge of the panel; of what the axes do not show there is none."""
    limits = sorted(axes.get_xlim() if rule.across == "x" else axes.get_ylim())
    ends = sorted((rule.value, rule.value if rule.to is None else rule.to))
    if not (limits[0] <= ends[1] and ends[0] <= limits[1]):  # what is not finite, too
        return
    low, high = np.clip(ends, *limits)
    scale = axes.get_xscale() if rule.across == "x" else axes.get_yscale()
    middle = np.sqrt(low * high) if scale == "log" else (low + high) / 2
    text: Any = {"color": colour_of(rule), "fontsize": 7}
    if rule.across == "x":
        axes.text(middle, 1.0, rule.label, transform=axes.get_xaxis_transform(), ha="center", va="bottom", **text)
    else:
        axes.text(1.01, middle, rule.label, transform=axes.get_yaxis_transform(), va="center", **text)


def _taking_turns(place: int, count: int) -> Any:
    """The dashes of one of several lines at one place: each shows where the others leave a gap."""
    return 4 * place, (4, 4 * (count - 1))


def _draw_heat(axes: Any, heat: Heat) -> None:
    if hasattr(axes, "plot_surface"):
        import matplotlib as mpl

        shaded = mpl.colormaps["Greys"](np.full(heat.z.shape, 0.3) if heat.by is None else np.asarray(heat.by))
        axes.plot_surface(
            heat.x, heat.y, heat.z, facecolors=shaded, rstride=1, cstride=1, shade=False, linewidth=0,
            antialiased=False, rasterized=True,
        )  # fmt: skip
        return
    if heat.shaded:
        options: Any = {"cmap": _colours(heat), "vmin": heat.low, "vmax": heat.high, "rasterized": True, "zorder": 0}
        places = (heat.x, heat.y) if heat.smooth else (_edges(heat.x), _edges(heat.y))
        picture = axes.pcolormesh(*places, heat.z, shading="gouraud" if heat.smooth else "flat", **options)
        if heat.bar:
            axes.figure.colorbar(picture, ax=axes, label=heat.label, shrink=0.95, pad=0.02)
    if len(heat.contours):
        lines = {"linewidths": 0.6, "alpha": heat.opacity, "zorder": 1 + heat.above}
        axes.contour(heat.x, heat.y, heat.z, levels=heat.contours, colors=[colour_of(heat)], **lines)


def _edges(centres: np.ndarray) -> np.ndarray:
    """Where the cells around some values end; a single one is one wide."""
    half = np.diff(centres) / 2 if len(centres) > 1 else np.array([0.5])
    return np.concatenate([centres[:1] - half[0], centres[:-1] + half[: len(centres) - 1], centres[-1:] + half[-1]])


def _colours(heat: Heat) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    if heat.colours == "pale":
        return LinearSegmentedColormap.from_list("pale", PALE)
    return {"sequential": "viridis", "warm": "magma", "diverging": "RdBu_r"}[heat.colours]


def _draw_note(axes: Any, note: Note) -> None:
    horizontal = next((word for word in ("left", "right") if word in note.align), "center")
    vertical = next((word for word in ("top", "bottom") if word in note.align), "center")
    options: Any = {"ha": horizontal, "va": vertical, "fontsize": note.size, "color": colour_of(note)}
    if note.panel:
        options |= {"transform": axes.transAxes}
    if note.boxed:
        options |= {"bbox": {"boxstyle": "round,pad=0.25", "facecolor": "white", "alpha": 0.85, "linewidth": 0}}
    axes.text(note.x, note.y, note.text, zorder=9 + note.above, **options)


def _draw_legend(axes: Axes, panel: Panel) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    options: Any = {"fontsize": panel.legend_size, "ncols": panel.legend_columns, "handlelength": 1.6}
    if panel.legend_title:
        options |= {"title": panel.legend_title, "title_fontsize": panel.legend_size}
    if isinstance(panel.legend, tuple):
        options |= {"loc": "center", "bbox_to_anchor": panel.legend}
    elif panel.legend == "outside top":
        options |= {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    else:
        options |= {"loc": panel.legend}
    axes.legend(handles, labels, **options)


def _draw_key(canvas: Canvas, key: Any) -> None:
    """One legend for all panels, below them."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **_look(line)) for line in key]
    columns = -(-len(handles) // -(-len(handles) // 7))  # rows of at most seven, as even as they can be
    canvas.legend(handles=handles, loc="outside lower center", ncols=columns, columnspacing=1.2)


def _look_from(axes: Any, elevation: float, azimuth: float) -> None:
    """A panel in space, seen from somewhere, without walls: what is in it is seen, and not the box."""
    axes.view_init(elev=elevation, azim=azimuth)
    axes.set_box_aspect((1, 1, 1), zoom=1.05)
    for wall in (axes.xaxis, axes.yaxis, axes.zaxis):
        wall.set_pane_color((1, 1, 1, 0))
        wall.labelpad = -6
    axes.tick_params(pad=-2, labelsize=6)
