"""Landscapes: the loss shaded, its zero set a line (or a plane in space), and the paths that training takes to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.figures.look import GREY, PAGE, THEORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ZERO = "#3A3A3A"  # the zero-loss set
SHADES = ("#FFFFFF", "#E9EDF2", "#CBD5DF", "#A9B8C6")  # the loss, white where it is zero
PATHS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")  # Okabe and Ito's, those that show on the shading
GRID = 241
HALO = 2.4  # points of white around a path, so that crossings stay legible


def stage(layout: Sequence[Sequence[str]], *, height: float, **options: Any) -> tuple[Figure, dict[str, Axes]]:
    """A figure a page wide and `height` inches high, whose panels are named and placed by `layout`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE, height), layout="constrained")
    return figure, figure.subplot_mosaic([list(row) for row in layout], **options)  # type: ignore[arg-type]


def shade(axis: Axes, loss: Callable[[np.ndarray, np.ndarray], np.ndarray], *, low: float, high: float) -> None:
    """The loss over the square [low, high]², white where it is zero and darker as it grows, and circles of equal norm.

    `loss(first, second)` takes and returns grids. Shades are evenly spaced in `log(1 + loss)`.
    """
    from matplotlib.colors import LinearSegmentedColormap

    side = np.linspace(low, high, GRID)
    first, second = np.meshgrid(side, side)
    depth = np.log1p(loss(first, second))
    colours = LinearSegmentedColormap.from_list("loss", SHADES)
    axis.pcolormesh(first, second, depth, cmap=colours, shading="gouraud", rasterized=True, zorder=0)
    reach = max(abs(low), abs(high))
    radii = np.arange(0.5, np.sqrt(2) * reach, 0.5)
    norm = np.hypot(first, second)
    axis.contour(first, second, norm, levels=radii, colors="white", linewidths=0.6, alpha=0.9, zorder=1)
    axis.set(xlim=(low, high), ylim=(low, high), aspect="equal", xlabel="$w_1$", ylabel="$w_2$")
    axis.grid(visible=False)


def zero_set(axis: Axes, lines: Sequence[np.ndarray], *, label: str = "zero loss") -> None:
    """The zero-loss set, as polylines of shape (points, 2)."""
    for number, line in enumerate(lines):
        name = label if number == 0 else "_zero loss"
        axis.plot(line[:, 0], line[:, 1], color=ZERO, linewidth=3.2, alpha=0.35, label=name, zorder=2)


def path(axis: Axes, points: np.ndarray, junction: int, *, colour: str, label: str | None = None) -> None:
    """A path in the plane or in space: thin and dotted up to row `junction`, solid from there on.

    The start is an open circle, the junction a diamond.
    """
    import matplotlib.patheffects as effects

    halo = [effects.Stroke(linewidth=1.6 + HALO, foreground="white", alpha=0.8), effects.Normal()]
    slow, fast, parts = points[junction:], points[: junction + 1], tuple(points.T)
    axis.plot(*slow.T, color=colour, linewidth=1.6, zorder=5, path_effects=halo, label=label or "_slow")
    axis.plot(*fast.T, color=colour, linewidth=1.2, linestyle=(0, (1, 1)), zorder=5, label="_fast")
    marks: Any = {"color": colour, "markeredgewidth": 1.1, "linestyle": "none", "zorder": 6}
    axis.plot(*(part[:1] for part in parts), marker="o", markerfacecolor="white", markersize=5, label="_start", **marks)
    axis.plot(*(part[[junction]] for part in parts), marker="D", markersize=3.6, label="_junction", **marks)


def end(axis: Axes, point: Sequence[float], *, label: str = "least norm") -> None:
    """The point of least norm: a star on top of everything."""
    axis.plot(
        *([value] for value in point),
        marker="*",
        color="#F0E442",
        markeredgecolor=THEORY,
        markeredgewidth=0.8,
        markersize=11,
        linestyle="none",
        zorder=8,
        label=label,
    )


def predicted(axis: Axes, points: np.ndarray, *, label: str | None = None) -> None:
    """A path that theory gives: dashed, over the measured one."""
    axis.plot(
        *points.T, color=THEORY, linewidth=0.8, linestyle="--", dashes=(3, 2.2), zorder=7, label=label or "_theory"
    )


def key(figure: Figure, *, theory: str | None = None, zero: str = "zero-loss set", **options: Any) -> None:
    """One legend for all landscapes of a figure, of the marks and not of the colours."""
    from matplotlib.lines import Line2D

    none: Any = {"linestyle": "none"}
    handles = [
        Line2D([], [], color=ZERO, linewidth=3.2, alpha=0.35, label=zero),
        Line2D([], [], color=GREY, marker="o", markerfacecolor="white", label="start", **none),
        Line2D([], [], color=GREY, linestyle=(0, (1, 1)), label="memorising"),
        Line2D([], [], color=GREY, marker="D", markersize=3.6, label="memorised", **none),
        Line2D([], [], color=GREY, linewidth=1.6, label="sliding"),
        Line2D([], [], color="#F0E442", marker="*", markeredgecolor=THEORY, markersize=10, label="least norm", **none),
    ]
    if theory is not None:
        handles.append(Line2D([], [], color=THEORY, linewidth=0.8, linestyle="--", label=theory))
    figure.legend(
        handles=handles, **({"loc": "outside lower center", "ncols": len(handles), "columnspacing": 1.2} | options)
    )


def plane(axis: Any, *, total: float, reach: float) -> None:
    """The plane `w1 + w2 + w3 = total` in space: a disc around its point of least norm, lighter as the norm falls."""
    import matplotlib as mpl

    centre = np.full(3, total / 3)
    across, up = np.array([1.0, -1.0, 0.0]) / np.sqrt(2), np.array([1.0, 1.0, -2.0]) / np.sqrt(6)
    radius, angle = np.meshgrid(np.linspace(0, reach, 25), np.linspace(0, 2 * np.pi, 73))
    grid = centre + (radius * np.cos(angle))[..., None] * across + (radius * np.sin(angle))[..., None] * up
    norm = np.linalg.norm(grid, axis=-1)
    colours = mpl.colormaps["Greys"](0.06 + 0.5 * (norm - norm.min()) / np.ptp(norm))
    axis.plot_surface(
        *np.moveaxis(grid, -1, 0), facecolors=colours, rstride=1, cstride=1, shade=False, linewidth=0,
        antialiased=False, rasterized=True,
    )  # fmt: skip
    axis.set(xlabel="$w_1$", ylabel="$w_2$", zlabel="$w_3$")
