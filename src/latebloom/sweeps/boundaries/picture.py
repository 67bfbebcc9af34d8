"""The picture of a boundary: a probability along one axis, or a phase diagram of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.figures.traces import Axis, Figure, Heat, Line, Panel, Rule
from latebloom.laws.search import Search

if TYPE_CHECKING:
    from latebloom.sweeps.boundaries.result import Boundary, Found

POINTS = 201


def picture(boundary: Boundary) -> Figure:
    """One panel: the probability where there is one line, else the phases."""
    axis = Axis(_short(boundary.along), boundary.lines[0].search.scale)
    caption = f"{boundary.name}: {boundary.runs:,} runs"
    panel = _probability(boundary, axis) if boundary.other is None else _phases(boundary, axis)
    return Figure([[panel]], caption=caption)


def _probability(boundary: Boundary, axis: Axis) -> Panel:
    line = boundary.lines[0]
    if not line.is_there:
        return Panel(_tried(line.search), axis, _share(boundary), empty="no run was made")
    search = line.search
    places = np.linspace(0, 1, POINTS)
    values = np.array([search.value(place) for place in places])
    mean, low, high = search.known.band(places)
    from_, to = line.interval
    traces = [
        Rule(from_, "", "test", name="interval of 95 %", to=to, opacity=0.15, measured=True),
        Line(values, np.stack([low, high], axis=1), "95 %", "test", "behind", name="band of 95 %"),
        Line(values, mean, "probability", "test"),
        *_tried(search),
        Rule(0.5, "", "grey", name="half", across="y"),
    ]
    if line.oracle is not None and line.asked is not None:
        traces.append(Line(values, line.asked.known.band(places)[0], "oracle", "goal", "theory", fits=False))
    if line.theory is not None:
        traces.append(Rule(line.theory, "theory"))
    return Panel(traces, axis, _share(boundary))


def _share(boundary: Boundary) -> Axis:
    return Axis(f"share of runs: {boundary.crosses}", low=-0.03, high=1.03)


def _tried(search: Search) -> list[Line]:
    """The share that crossed at each value that was tried."""
    seen = search.tried > 0
    if not seen.any():
        return []
    return [Line(search.values[seen], search.crossed[seen] / search.tried[seen], "runs", "grey", "points", size=3.5)]


def _phases(boundary: Boundary, axis: Axis) -> Panel:
    """The probability shaded over both axes, the boundary with its intervals, and what theory and the oracle say."""
    across, horizontal = _across(boundary)
    lines = [(at, line) for at, line in zip(across, boundary.lines, strict=True) if line.tries]
    first = boundary.lines[0].search
    values = np.array([first.value(place) for place in np.linspace(0, 1, POINTS)])
    shades = np.full((POINTS, len(across)), np.nan)
    for column, line in enumerate(boundary.lines):
        if line.tries:
            shades[:, column] = line.search.known.band(line.search.place(values))[0]
    traces: list = [Heat(across, values, shades, "probability", bar=True, colours="pale")]
    traces += [
        Line(
            np.full(int((line.search.tried > 0).sum()), at), line.search.values[line.search.tried > 0],
            "" if number else "values tried", "grey", "points", name="values tried", size=1.6,
        )
        for number, (at, line) in enumerate(lines)
    ]  # fmt: skip
    there = [(at, line) for at, line in lines if line.is_there]
    traces += _boundary(there) + _beside(there)
    return Panel(traces, horizontal, axis, legend="above")


def _boundary(there: list[tuple[float, Found]]) -> list[Line]:
    """The crossings with bars from the lower to the upper end of the interval."""
    if not there:
        return []
    at = [place for place, _ in there]
    low, high = np.array([line.interval for _, line in there]).T
    return [
        Line(at, [line.crossing for _, line in there], "boundary", "test", "linked", name="boundary"),
        Line(at, (low + high) / 2, "", "test", "points", name="interval of 95 %", error=(high - low) / 2, size=0.1),
    ]


def _beside(there: list[tuple[float, Found]]) -> list[Line]:
    """What the oracle and theory say."""
    found = []
    if asked := [(at, line.oracle[0]) for at, line in there if line.oracle is not None]:
        found.append(Line(*np.array(asked).T, label="oracle", role="goal", marks="theory"))
    if told := [(at, line.theory) for at, line in there if line.theory is not None]:
        found.append(Line(*np.array(told, float).T, label="theory", role="theory"))
    return found


def _across(boundary: Boundary) -> tuple[np.ndarray, Axis]:
    """Where the lines stand on the horizontal axis: at their values if these are numbers, else one after the other."""
    values = [line.value for line in boundary.lines]
    assert boundary.other is not None
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        from latebloom.sweeps.boundaries.plan import scale_of

        return np.array(values, float), Axis(_short(boundary.other), scale_of(sorted(values)))
    texts = {float(place): str(getattr(value, "text", value)) for place, value in enumerate(values)}
    return np.arange(len(values), dtype=float), Axis(_short(boundary.other), ticks=texts)


def _short(path: str) -> str:
    """The name of an axis: the end of its path."""
    return path.rpartition(".")[2]
