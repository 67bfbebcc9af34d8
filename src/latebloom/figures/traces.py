"""A figure as data: rows of panels, each with axes and traces of four kinds. Nothing here knows how it is drawn.

A trace names a *role* (what it is), never a colour: "train", "test", "norm", "theory", "printed" (as a paper prints
it, beside what holds), "grey", "zero" (the zero-loss set), "goal" (where theory says it ends), "light" (over a heat
map), or "cycle 0", "cycle 1", … for what has no role; a `shade` from 0 (dark) to 1 (light) places it in a family.

Nor does it name a line style: `marks` are what it is evidence of, and one meaning has one style in the whole catalog.
A line is "measured" (solid), "behind" (measured, too: thin and pale, the training curve behind a test curve), "beside"
(another run for comparison), "theory" (a law, a prediction, a fit: dashed) or a "level" (dotted). A rule across the
panel is a measured moment, a moment of theory, or a level, as its axis and `measured` say.

Labels may hold formulas between dollars (`figures/text.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any

import numpy as np

from latebloom.core.json import plain
from latebloom.errors import InputError, check_choice
from latebloom.figures.text import words

ROLES = ("train", "test", "norm", "theory", "printed", "grey", "zero", "goal", "light")
FROM_THEORY = ("theory", "printed")  # roles whose lines are no measurement, unless they say so
MARKS = ("measured", "behind", "beside", "theory", "level", "points", "linked", "bars")
SCALES = ("linear", "log")


@dataclass(frozen=True, eq=False)
class Line:
    """Points in order: a curve, or with other `marks` the points alone, joined points ("linked") or bars.

    `y` may have several columns: curves of one look, named once. A panel in space needs `z`. `error` is the half length
    of the bars across the points, `by` a value per point that shades it, on a scale from `low` to `high`. `name` is
    what the table beside the figure calls it, the label by default. Without `marks` they follow from the role.
    """

    x: Any
    y: Any
    label: str = ""
    role: str = "cycle 0"
    marks: str = ""
    _: KW_ONLY
    name: str = ""
    z: Any = None
    error: Any = None
    by: Any = None
    low: float | None = None
    high: float | None = None
    shade: float | None = None
    width: float | None = None  # of the line or of a bar's foot, in points; of the style by default
    opacity: float = 1.0
    symbol: str = "o"  # of points: o s ^ D v P X * x
    size: float | None = None  # of points, in points
    hollow: bool = False
    halo: bool = False  # white around it, so that crossings stay legible
    fits: bool = True  # whether the axes are made to show it
    above: int = 0  # drawn over traces of lower numbers

    def __post_init__(self):
        object.__setattr__(self, "marks", self.marks or ("theory" if self.role in FROM_THEORY else "measured"))
        _check_role(self.role)
        check_choice("marks of a trace", self.marks, MARKS)
        object.__setattr__(self, "x", np.atleast_1d(np.asarray(self.x, float)))
        object.__setattr__(self, "y", np.atleast_1d(np.asarray(self.y, float)))
        for name in ("z", "error", "by"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, np.atleast_1d(np.asarray(getattr(self, name), float)))
        if len(self.x) != len(self.y):
            raise InputError(f"a line of {len(self.x)} x and {len(self.y)} y: give as many of each")

    @property
    def kind(self) -> str:
        return {"points": "points", "linked": "points", "bars": "bars"}.get(self.marks, "line")

    @property
    def meaning(self) -> str:
        """What the points are evidence of: "measured", "comparison", "theory", or none ("guide")."""
        if self.marks in ("theory", "beside", "level"):
            return {"theory": "theory", "beside": "comparison", "level": "guide"}[self.marks]
        return "theory" if self.role in FROM_THEORY and self.kind != "line" else "measured"

    @property
    def columns(self) -> np.ndarray:
        """`y` as a matrix of one column per curve, also of a line without points."""
        return self.y if self.y.ndim > 1 else self.y[:, None]

    def rows(self) -> Iterable[tuple[str, Any, Any, Any]]:
        """Name, x, y and z (or what shades it) of every point and end of a bar, for the table beside the figure."""
        name = words(self.name or self.label)
        for number, values in enumerate(self.columns.T):
            part = name if self.columns.shape[1] == 1 else f"{name}[{number}]"
            third = next((given for given in (self.z, self.by) if given is not None), [None] * len(self.x))
            yield from ((part, x, y, z) for x, y, z in zip(self.x, values, third, strict=True))
        if self.error is not None:
            for end, heights in (("low", self.y - self.error), ("high", self.y + self.error)):
                yield from ((f"{name} {end}", x, y, None) for x, y in zip(self.x, heights, strict=True))


@dataclass(frozen=True, eq=False)
class Rule:
    """A value of one axis, drawn across the panel; with `to` a band between two. `across` names the axis it is on.

    On the x axis it is a moment, of theory unless it was `measured`; on the y axis it is a level. A `tag` writes its
    label at the edge of the panel, and not in the legend: moments do, levels do not, unless it is said. Of rules at one
    value `turn` is the place and how many they are: their dashes take turns, so that every colour is seen.
    """

    value: float
    label: str = ""
    role: str = "theory"
    _: KW_ONLY
    name: str = ""
    across: str = "x"
    measured: bool = False
    to: float | None = None
    tag: bool | None = None
    turn: tuple[int, int] | None = None
    shade: float | None = None
    width: float | None = None
    opacity: float = 1.0
    above: int = 0

    def __post_init__(self):
        _check_role(self.role)
        check_choice("axis of a rule", self.across, ("x", "y"))
        if self.tag is None:
            object.__setattr__(self, "tag", bool(self.label) and self.across == "x")

    @property
    def kind(self) -> str:
        return "rule" if self.to is None else "band"

    @property
    def marks(self) -> str:
        """What it is, and so how it is drawn: "moment", "theory" or "level"."""
        return "level" if self.across == "y" else "moment" if self.measured else "theory"

    @property
    def meaning(self) -> str:
        return {"moment": "measured", "theory": "theory", "level": "guide"}[self.marks]

    def rows(self) -> Iterable[tuple[str, Any, Any, Any]]:
        for value in (self.value,) if self.to is None else (self.value, self.to):
            x, y = (value, None) if self.across == "x" else (None, value)
            yield words(self.name or self.label), x, y, None


@dataclass(frozen=True, eq=False)
class Heat:
    """A value on a grid: `z[i, j]` at `(x[j], y[i])`, shaded; a surface where the panel has a third axis.

    `contours` are levels drawn as lines of the role; `smooth` shades between the points. With `bar` a scale beside the
    panel, named by the label, tells the values. A `backdrop` only says where one is: it is not part of the data. A
    surface has x and y of z's shape, too, and is shaded by `by`, a value from 0 (light) to 1 (dark) per point.
    """

    x: Any
    y: Any
    z: Any
    label: str = ""
    role: str = "grey"
    _: KW_ONLY
    low: float | None = None
    high: float | None = None
    contours: Sequence[float] = ()
    opacity: float = 0.9  # of the contours
    shaded: bool = True
    colours: str = "sequential"  # sequential, warm (beside a sequential one of another scale), diverging, pale
    smooth: bool = False
    bar: bool = False
    backdrop: bool = False
    by: Any = None
    above: int = 0

    kind = "heat"
    meaning = "measured"

    def __post_init__(self):
        check_choice("colours of a heat map", self.colours, ("sequential", "warm", "diverging", "pale"))
        for name in ("x", "y", "z"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), float))
        if self.x.ndim == 1 and self.z.shape != (len(self.y), len(self.x)):
            raise InputError(f"a heat map of shape {self.z.shape} on {len(self.y)} y and {len(self.x)} x")

    def rows(self) -> Iterable[tuple[str, Any, Any, Any]]:
        if not self.backdrop:
            for y, row in zip(self.y, self.z, strict=True):
                yield from ((words(self.label), x, y, value) for x, value in zip(self.x, row, strict=True))


@dataclass(frozen=True)
class Note:
    """A short text at a place: of the data, or with `panel` of the panel, (0, 0) being its lower left corner.

    `align` says which point of the text is there: "left top", "center", "right bottom", … `boxed` puts it on white.
    """

    text: str
    x: float
    y: float
    role: str = "theory"
    _: KW_ONLY
    panel: bool = False
    align: str = "left bottom"
    boxed: bool = False
    above: int = 0

    kind = "note"
    meaning = "guide"

    def rows(self) -> Iterable[tuple[str, Any, Any, Any]]:
        return ()


Trace = Line | Rule | Heat | Note


@dataclass(frozen=True)
class Axis:
    """What an axis shows: label, unit, scale, ends (those of the data by default), and ticks where they are chosen.

    `ticks` are values, or texts by value; `whole` keeps to whole numbers.
    """

    label: str
    scale: str = "linear"
    low: float | None = None
    high: float | None = None
    _: KW_ONLY
    unit: str = ""
    ticks: Sequence[float] | Mapping[float, str] | None = None
    whole: bool = False

    def __post_init__(self):
        check_choice("scale of an axis", self.scale, SCALES)

    @property
    def title(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True, eq=False)
class Panel:
    """Traces on two axes, or in space with a third.

    `legend` is where it is put if there is room ("best", "lower left", …; above the panel if there is none anywhere, or
    if it is "above"), None for none. `empty` says why, where there is nothing to draw.
    """

    traces: Sequence[Trace]
    x: Axis
    y: Axis
    _: KW_ONLY
    z: Axis | None = None
    title: str = ""
    legend: str | None = "best"
    legend_title: str = ""
    empty: str = "nothing to show"
    equal: bool = False  # one unit of x is as long as one of y
    grid: bool = True
    view: tuple[float, float] | None = None  # of a panel in space: elevation and azimuth in degrees


@dataclass(frozen=True, eq=False)
class Figure:
    """Rows of panels. A panel that stands in several places spans them; None leaves one empty.

    Panels are as high in one figure as in another; `height` (inches) is for what has to be square. `key` names what all
    panels share, below them: lines without points. `caption` says with what settings, below that. `widths` are the
    columns' relative widths.
    """

    rows: Sequence[Sequence[Panel | None]]
    _: KW_ONLY
    height: float | None = None
    widths: Sequence[float] | None = None
    key: Sequence[Line] = field(default_factory=tuple)
    caption: str = ""

    @property
    def panels(self) -> list[Panel]:
        """Every panel once, in reading order."""
        found: dict[int, Panel] = {id(panel): panel for row in self.rows for panel in row if panel is not None}
        return list(found.values())

    def to_json(self) -> dict[str, Any]:
        """The figure for a page: panels with axes and traces, arrays as lists."""
        places = {id(panel): number for number, panel in enumerate(self.panels)}
        return {
            "rows": [[None if panel is None else places[id(panel)] for panel in row] for row in self.rows],
            "panels": [_panel_json(panel) for panel in self.panels],
            "key": [_plain(trace) for trace in self.key],
            "caption": self.caption,
        }


def letters(count: int) -> list[str]:
    """What panels are called, in reading order: a, b, …, z, aa, ab, …"""
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return [alphabet[number // 26 - 1] * (number >= 26) + alphabet[number % 26] for number in range(count)]


def _panel_json(panel: Panel) -> dict[str, Any]:
    axes = {name: _plain(getattr(panel, name)) for name in ("x", "y", "z") if getattr(panel, name) is not None}
    return axes | {"title": panel.title, "traces": [_plain(trace) for trace in panel.traces]}


def _plain(part: Any) -> dict[str, Any]:
    """A trace or an axis with its kind, without what was left as it is by default."""
    told = {f.name: getattr(part, f.name) for f in fields(part) if getattr(part, f.name) is not f.default}
    if isinstance(told.get("ticks"), Mapping):
        told["ticks"] = {f"{value:g}": text for value, text in told["ticks"].items()}
    if isinstance(part, Rule):
        told |= {"marks": part.marks}
    return {"kind": getattr(part, "kind", "axis")} | plain(told)


def _check_role(role: str) -> None:
    name, _, number = role.partition(" ")
    if not (role in ROLES or (name == "cycle" and number.isdecimal())):
        raise InputError(f"unknown role {role!r} of a trace: one of {', '.join(ROLES)}, cycle 0, cycle 1, …")
