"""How a trace looks: from roles and meanings to colours and line styles, the one place that chooses them."""

from __future__ import annotations

from typing import Any

import numpy as np

from latebloom.figures.look import CYCLE, GREY, NORM, PRINTED, SMALL, TEST, THEORY, TRAIN, shades
from latebloom.figures.text import typeset
from latebloom.figures.traces import Heat, Line, Note, Rule, Trace

COLOURS = {
    "train": TRAIN, "test": TEST, "norm": NORM, "theory": THEORY, "printed": PRINTED, "grey": GREY, "zero": "#3A3A3A",
    "goal": "#F0E442", "light": "#FFFFFF",
}  # fmt: skip
PALE = ("#FFFFFF", "#E9EDF2", "#CBD5DF", "#A9B8C6")  # a loss behind paths: white where it is zero
# One style, one meaning. "behind" is solid as well, and told by its width and opacity; "moment" by its place.
STYLES: dict[str, Any] = {
    "measured": "-", "behind": "-", "beside": (0, (5, 1.5, 1, 1.5)), "theory": (0, (4, 2)), "level": (0, (1, 1.5)),
    "moment": "-", "linked": "-", "points": "none",
}  # fmt: skip
WIDTHS = {"measured": 1.3, "behind": 0.6, "beside": 1.0, "theory": 0.9, "level": 0.9, "moment": 0.8, "linked": 1.0}
OPACITIES = {"behind": 0.55, "moment": 0.5}
HALO = 2.4  # points of white around a line
FAMILY = 101  # shades between dark and light


def colour_of(trace: Line | Rule | Heat | Note) -> Any:
    """The colour of a role, of a place in the cycle, or of a shade."""
    shade = getattr(trace, "shade", None)
    if shade is not None:
        return shades(FAMILY)[round(shade * (FAMILY - 1))]
    name, _, number = trace.role.partition(" ")
    return CYCLE[int(number) % len(CYCLE)] if name == "cycle" else COLOURS[trace.role]


def draw_trace(axes: Any, trace: Trace) -> None:
    if isinstance(trace, Line):
        _draw_line(axes, trace)
    elif isinstance(trace, Rule):
        _draw_rule(axes, trace)
    elif isinstance(trace, Heat):
        _draw_heat(axes, trace)
    else:
        _draw_note(axes, trace)


def look_of(line: Line) -> dict[str, Any]:
    """How Matplotlib's `plot` draws a line."""
    import matplotlib.patheffects as effects

    colour, width = colour_of(line), line.width or WIDTHS.get(line.marks, 1.3)
    above = line.above - 0.5 * (line.marks == "behind") + 0.1 * (line.marks == "theory")
    opacity = line.opacity * OPACITIES.get(line.marks, 1.0)
    look: dict[str, Any] = {"color": colour, "linestyle": STYLES[line.marks], "linewidth": width}
    look |= {"alpha": opacity, "zorder": 2 + above, "label": typeset(line.label) or "_"}
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


def _draw_line(axes: Any, line: Line) -> None:
    label = typeset(line.label)
    if line.marks == "bars":
        axes.bar(line.x, line.y, width=line.width or 0.8, color=colour_of(line), alpha=line.opacity, label=label)
        return
    if line.by is not None:
        size = (line.size or 4.0) ** 2
        options: Any = {"c": line.by, "cmap": "viridis", "s": size, "marker": line.symbol, "zorder": 2 + line.above}
        options |= {"vmin": line.low, "vmax": line.high}
        axes.scatter(line.x, line.y, edgecolors="white" if line.hollow else "none", label=label, **options)
        return
    look = look_of(line)
    if line.error is not None:
        axes.errorbar(line.x, line.y, line.error, capsize=2, elinewidth=look["linewidth"], **look)
        return
    for number, values in enumerate(line.columns.T):
        points = (line.x, values) if line.z is None else (line.x, values, line.z)
        axes.plot(*points, **(look if number == 0 else look | {"label": "_more"}))


def _draw_rule(axes: Any, rule: Rule) -> None:
    if not np.isfinite(rule.value):  # what theory says never happens
        return
    colour, label = colour_of(rule), typeset(rule.label) if rule.label and not rule.tag else "_"
    if rule.to is not None:
        span = axes.axvspan if rule.across == "x" else axes.axhspan
        span(rule.value, rule.to, color=colour, alpha=min(rule.opacity, 0.15), linewidth=0, label=label)
        return
    line = axes.axvline if rule.across == "x" else axes.axhline
    dashes = STYLES[rule.marks] if rule.turn is None else _taking_turns(*rule.turn)
    opacity = rule.opacity * OPACITIES.get(rule.marks, 1.0)
    look: Any = {"linestyle": dashes, "linewidth": rule.width or WIDTHS[rule.marks], "alpha": opacity}
    line(rule.value, color=colour, label=label, zorder=1.5 + rule.above, **look)


def _taking_turns(place: int, count: int) -> Any:
    """The dots of one of several levels at one value: each shows where the others leave a gap."""
    return 2 * place, (2, 2 * (count - 1))


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
            axes.figure.colorbar(picture, ax=axes, label=typeset(heat.label), shrink=0.95, pad=0.02, use_gridspec=False)
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
    options: Any = {"ha": horizontal, "va": vertical, "fontsize": SMALL, "color": colour_of(note)}
    if note.panel:
        options |= {"transform": axes.transAxes}
    if note.boxed:
        options |= {"bbox": {"boxstyle": "round,pad=0.25", "facecolor": "white", "alpha": 0.85, "linewidth": 0}}
    axes.text(note.x, note.y, typeset(note.text), zorder=9 + note.above, **options)
