"""Landscapes: the loss shaded, its zero set a line (or a plane in space), and the paths that training takes to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from latebloom.figures.traces import Axis, Heat, Line, Panel, Trace

GRID = 241  # points per side of the shading
RINGS = 0.35  # opacity
MEMORISING = 1.1  # points: half as wide as what follows
ZERO: dict[str, Any] = {"role": "zero", "width": 3.2, "opacity": 0.35}
STAR: dict[str, Any] = {"role": "goal", "marks": "points", "symbol": "*", "size": 11.0}
THEORY: dict[str, Any] = {"role": "theory", "width": 0.5}  # thin: the path beneath stays in sight


def line(points: Any, label: str = "", **look: Any) -> Line:
    """Rows of two weights as a line in the plane, of three as one in space."""
    x, y, *rest = np.atleast_2d(np.asarray(points, float)).T
    return Line(x, y, label, z=rest[0] if rest else None, **look)


def zero_set(lines: Iterable[np.ndarray]) -> list[Line]:
    """The zero-loss set, as polylines of shape (points, 2)."""
    return [line(points, f"zero loss, part {part}", **ZERO, above=0) for part, points in enumerate(lines, start=1)]


def path(points: np.ndarray, junction: int, role: str, name: str) -> list[Line]:
    """A path, thin up to row `junction` and wide from there on; its start a circle, its junction a diamond."""
    dots: dict[str, Any] = {"role": role, "marks": "points", "above": 5}
    return [
        line(points[junction:], f"{name}, sliding", role=role, width=2.2, halo=True, above=2),
        line(points[: junction + 1], f"{name}, memorising", role=role, width=MEMORISING, above=2),
        line(points[0], f"{name}, start", symbol="o", size=5, hollow=True, **dots),
        line(points[junction], f"{name}, memorised", symbol="D", size=3.6, **dots),
    ]


def predicted(points: np.ndarray, label: str, **look: Any) -> Line:
    """A path, or a curve, that theory gives: dashes thin enough to leave the colour beneath in sight."""
    return line(points, label, **THEORY, above=3, **look)


def least_norm(points: Any) -> Line:
    """The points of least norm: stars on top of everything."""
    return line(points, "least norm", **STAR, above=6)


def plane(total: float, reach: float) -> Heat:
    """The plane `w1 + w2 + w3 = total` in space: a disc around its point of least norm, darker as the norm grows."""
    centre = np.full(3, total / 3)
    across, up = np.array([1.0, -1.0, 0.0]) / np.sqrt(2), np.array([1.0, 1.0, -2.0]) / np.sqrt(6)
    radius, angle = np.meshgrid(np.linspace(0, reach, 25), np.linspace(0, 2 * np.pi, 73))
    grid = centre + (radius * np.cos(angle))[..., None] * across + (radius * np.sin(angle))[..., None] * up
    norm = np.linalg.norm(grid, axis=-1)
    shade = 0.06 + 0.5 * (norm - norm.min()) / np.ptp(norm)
    x, y, z = np.moveaxis(grid, -1, 0)
    return Heat(x, y, z, "zero-loss plane", by=shade, backdrop=True)


def flat_panel(
    traces: Sequence[Trace],
    loss: Callable[[np.ndarray, np.ndarray], np.ndarray],
    *,
    low: float,
    high: float,
    **panel: Any,
) -> Panel:
    """Traces over [low, high]²: the loss, white where it is zero, darker as it grows, and rings of equal norm.

    `loss(first, second)` takes and returns grids. Shades are evenly spaced in `log(1 + loss)`.
    """
    side = np.linspace(low, high, GRID)
    first, second = np.meshgrid(side, side)
    reach = max(abs(low), abs(high))
    spacing = 0.5 * max(1, round(reach / 4))
    radii = [float(radius) for radius in np.arange(spacing, np.sqrt(2) * reach, spacing)]
    shading = Heat(
        side, side, np.log1p(loss(first, second)), "log(1 + loss)", colours="pale", smooth=True, backdrop=True
    )
    norms = np.hypot(first, second)
    rings = Heat(side, side, norms, "norm", contours=radii, opacity=RINGS, shaded=False, backdrop=True)
    axes = Axis("$w_1$", low=low, high=high), Axis("$w_2$", low=low, high=high)
    return Panel([shading, rings, *traces], *axes, equal=True, grid=False, legend=None, **panel)


def space_panel(traces: Sequence[Line | Heat], *, view: tuple[float, float], **panel: Any) -> Panel:
    """Traces in space, with ticks at even numbers."""
    drawn = np.concatenate([np.ravel(part) for trace in traces for part in (trace.x, trace.y, trace.z)])
    low, high = np.floor(drawn.min() / 2), np.ceil(drawn.max() / 2)
    ticks = 2 * np.arange(low, high + 1, max(1, round((high - low) / 6)))
    x, y, z = (Axis(f"$w_{number}$", ticks=ticks) for number in (1, 2, 3))
    return Panel(traces, x, y, z=z, view=view, legend=None, **panel)


def key(theory: str, *, in_space: bool = False) -> list[Line]:
    """What the marks of a landscape stand for, not the colours: the `key` of a figure."""
    grey: dict[str, Any] = {"role": "grey"}
    dots: dict[str, Any] = {**grey, "marks": "points"}
    rings = [] if in_space else [Line([], [], "equal norm", **grey, width=0.6, opacity=2 * RINGS)]
    return [
        Line([], [], "zero-loss plane" if in_space else "zero-loss set", **ZERO),
        Line([], [], f"darker: larger {'norm' if in_space else 'loss'}", **dots, symbol="s", size=7, opacity=0.5),
        *rings,
        Line([], [], "start", **dots, hollow=True),
        Line([], [], "memorising", **grey, width=MEMORISING),
        Line([], [], "memorised", **dots, symbol="D", size=3.6),
        Line([], [], "sliding", **grey, width=2.2),
        Line([], [], "least norm", **STAR),
        Line([], [], theory, **THEORY),
    ]
