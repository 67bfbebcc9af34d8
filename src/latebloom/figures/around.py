"""What stands around the data of a panel: tags of its rules, and a legend where nothing is drawn.

A legend goes to a place inside the panel that no line, point or text touches; where there is none it goes above it.
Tags are written above the panel (moments) or beside it (levels); those that would touch are stacked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.figures.look import SMALL
from latebloom.figures.strokes import colour_of
from latebloom.figures.text import in_two, typeset
from latebloom.figures.traces import Note, Panel, Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNERS = {
    "upper right": (1, 1), "upper left": (0, 1), "lower left": (0, 0), "lower right": (1, 0), "center right": (1, 0.5),
    "center left": (0, 0.5), "upper center": (0.5, 1), "lower center": (0.5, 0), "center": (0.5, 0.5),
}  # fmt: skip
MEANINGS = ("measured", "comparison", "theory", "guide")
GRID = 9  # places tried from low to high, after the corners; twice as many from right to left
CLEAR = 2.5  # points between a legend and what is drawn
ROW = 8.5  # points from one row of tags to the next
GAP = 3.0  # points between two tags of a row
LONG = 1.1  # of an axis: what a label of one line may be as long as
OVERHANG = 8.0  # points by which a tag may stand out beside its panel


class Surroundings:
    """The tags and the legend of one panel, placed anew whenever its axes have changed."""

    def __init__(self, axes: Axes, panel: Panel):
        self.axes, self.panel = axes, panel
        self.title = axes.get_title(loc="left")
        rules = [trace for trace in panel.traces if isinstance(trace, Rule) and trace.tag and _seen(axes, trace)]
        self.moments = [(rule, self._tag(rule)) for rule in rules if rule.across == "x"]
        self.levels = [self._beside(rule) for rule in rules if rule.across == "y"]
        self.legend: Any = None

    def place(self) -> None:
        """Tags first, the legend where they and the data leave room, the title on top."""
        self._fit_labels()
        self._spread_levels()
        top = ROW * self._stack_tags() + 3.0
        if self.legend is not None:
            self.legend.remove()
        top += self._place_legend(top)
        self.axes.set_title(self.title, loc="left", pad=top)

    def _fit_labels(self) -> None:
        """A label that is longer than its axis is set in two lines."""
        frame = self.axes.get_window_extent()
        for axis, room in ((self.axes.xaxis, frame.width), (self.axes.yaxis, frame.height)):
            size = axis.label.get_window_extent()
            if max(size.width, size.height) > LONG * room and "\n" not in axis.label.get_text():
                axis.label.set_text(in_two(axis.label.get_text()))

    def _tag(self, rule: Rule) -> Any:
        """The label of a moment or of a band of time, above the panel."""
        options: Any = {"xycoords": self.axes.get_xaxis_transform(), "textcoords": "offset points"}
        options |= {"ha": "center", "va": "bottom", "fontsize": SMALL, "color": colour_of(rule)}
        return self.axes.annotate(typeset(rule.label), (_middle(self.axes, rule), 1.0), (0, 0), **options)

    def _beside(self, rule: Rule) -> Any:
        """The label of a level, on the right of the panel."""
        options: Any = {"xycoords": self.axes.get_yaxis_transform(), "textcoords": "offset points"}
        options |= {"ha": "left", "va": "center", "fontsize": SMALL, "color": colour_of(rule)}
        return self.axes.annotate(typeset(rule.label), (1.0, _middle(self.axes, rule)), (2, 0), **options)

    def _spread_levels(self) -> None:
        """Labels of levels from low to high, each at least a row above the one before."""
        points = self.axes.figure.dpi / 72  # type: ignore[union-attr]
        heights = {tag: self.axes.get_yaxis_transform().transform(tag.xy)[1] / points for tag in self.levels}
        last = -np.inf
        for tag, height in sorted(heights.items(), key=lambda pair: pair[1]):
            last = max(height, last + ROW)
            tag.set_position((2, last - height))

    def _stack_tags(self) -> int:
        """Every tag in the lowest row where it touches no other, what was measured first; the number of rows."""
        points = self.axes.figure.dpi / 72  # type: ignore[union-attr]
        frame, rows = self.axes.get_window_extent(), []
        for _, tag in sorted(self.moments, key=lambda pair: not pair[0].measured):
            tag.set_position((0, 0))
            box = tag.get_window_extent()
            left = np.clip(box.x0, frame.x0 - OVERHANG * points, frame.x1 + OVERHANG * points - box.width)
            ends = left - GAP * points, left + box.width + GAP * points
            taken = [any(low < ends[1] and ends[0] < high for low, high in row) for row in rows]
            row = taken.index(False) if False in taken else len(rows)
            rows[row:] = rows[row:] or [[]]
            rows[row].append((left, left + box.width))
            tag.set_position(((left - box.x0) / points, 1.5 + ROW * row))
        return len(rows)

    def _place_legend(self, top: float) -> float:
        """The legend inside the panel, or above it; how many points it takes there."""
        handles, labels = _named(self.axes, self.panel)
        if not labels or self.panel.legend is None:
            self.legend = None
            return 0.0
        if self.panel.legend != "above":
            self.legend = self._legend(handles, labels, 1)
            place = self._free_place(self.legend.get_window_extent())
            if place is not None:
                self.legend.remove()
                self.legend = self._legend(handles, labels, 1, loc="lower left", bbox_to_anchor=place, borderaxespad=0)
                return 0.0
            self.legend.remove()
        return self._legend_above(handles, labels, top)

    def _legend(self, handles: Any, labels: Any, columns: int, **options: Any) -> Any:
        look: Any = {"handlelength": 1.8, "labelspacing": 0.35, "handletextpad": 0.6, "columnspacing": 1.2}
        if self.panel.legend_title:
            options |= {"title": typeset(self.panel.legend_title), "alignment": "left"}
        return self.axes.legend(handles, labels, ncols=columns, **look | options)

    def _legend_above(self, handles: Any, labels: Any, top: float) -> float:
        from matplotlib.transforms import ScaledTranslation

        dpi, frame = self.axes.figure.dpi, self.axes.get_window_extent()  # type: ignore[union-attr]
        lifted = self.axes.transAxes + ScaledTranslation(0, top / 72, self.axes.figure.dpi_scale_trans)  # type: ignore[union-attr]
        options: Any = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "bbox_transform": lifted, "borderpad": 0}
        for columns in range(len(labels), 0, -1):
            self.legend = self._legend(handles, labels, columns, borderaxespad=0, **options)
            size = self.legend.get_window_extent()
            if size.width <= 1.05 * frame.width or columns == 1:
                return size.height * 72 / dpi + 3.0
            self.legend.remove()
        return 0.0

    def _free_place(self, size: Any) -> tuple[float, float] | None:
        """The lower left corner, in parts of the axes, of a place where a legend of this size touches nothing."""
        from matplotlib.transforms import Bbox

        frame, points = self.axes.get_window_extent(), self.axes.figure.dpi / 72  # type: ignore[union-attr]
        room = frame.width - size.width, frame.height - size.height
        if min(room) < 0:
            return None
        wanted = CORNERS.get(str(self.panel.legend))
        between = [(x, y) for y in np.linspace(0, 1, GRID) for x in np.linspace(1, 0, 2 * GRID)]
        obstacles = list(_obstacles(self.axes))
        for x, y in [*([wanted] if wanted else []), *CORNERS.values(), *between]:
            left, low = frame.x0 + x * room[0], frame.y0 + y * room[1]
            box = Bbox.from_bounds(left, low, size.width, size.height).padded(CLEAR * points)
            if not any(touches(box) for touches in obstacles):
                return (left - frame.x0) / frame.width, (low - frame.y0) / frame.height
        return None


def _named(axes: Axes, panel: Panel) -> tuple[list[Any], list[str]]:
    """What a legend names, what was measured before theory and guides; one label stands once."""
    handles, labels = axes.get_legend_handles_labels()
    found = dict(zip(reversed(labels), reversed(handles), strict=True))
    order = {
        typeset(trace.label): MEANINGS.index(trace.meaning) for trace in panel.traces if not isinstance(trace, Note)
    }
    kept = sorted(dict.fromkeys(labels), key=lambda label: order.get(label, 0))
    return [found[label] for label in kept], kept


def _obstacles(axes: Axes) -> Iterator[Any]:
    """For everything that is drawn in the axes a function that says whether it touches a box."""
    for line in axes.get_lines():
        path = line.get_transform().transform_path(line.get_path())
        if line.get_linestyle() != "None":
            yield lambda box, path=path: path.intersects_bbox(box, filled=False)
        if line.get_marker() not in ("None", "", None):
            yield lambda box, path=path: _inside(path.vertices, box)
    for group in axes.collections:
        offsets = group.get_offset_transform().transform(np.ma.filled(group.get_offsets(), np.nan))
        if len(offsets) > 1:
            yield lambda box, offsets=offsets: _inside(offsets, box)
        if hasattr(group, "get_segments"):
            paths = [group.get_transform().transform_path(path) for path in group.get_paths()]
            yield lambda box, paths=paths: any(path.intersects_bbox(box, filled=False) for path in paths)
    for patch in axes.patches:
        if (patch.get_alpha() or 1.0) > 0.2:  # not the bands behind the data
            path = patch.get_transform().transform_path(patch.get_path())
            yield lambda box, path=path: path.intersects_bbox(box, filled=True)
    for text in axes.texts:
        extent = text.get_window_extent()
        yield lambda box, extent=extent: box.overlaps(extent)


def _inside(points: Any, box: Any) -> bool:
    x, y = np.asarray(points).T
    return bool(((box.x0 < x) & (x < box.x1) & (box.y0 < y) & (y < box.y1)).any())


def _limits(axes: Any, rule: Rule) -> list[float]:
    return sorted(axes.get_xlim() if rule.across == "x" else axes.get_ylim())


def _ends(rule: Rule) -> list[float]:
    return sorted((rule.value, rule.value if rule.to is None else rule.to))


def _seen(axes: Any, rule: Rule) -> bool:
    """Whether the axes show a rule; of what they do not show there is no tag."""
    limits, ends = _limits(axes, rule), _ends(rule)
    return limits[0] <= ends[1] and ends[0] <= limits[1]  # what is not finite is not seen, either


def _middle(axes: Any, rule: Rule) -> float:
    limits = _limits(axes, rule)
    low, high = np.clip(_ends(rule), limits[0], limits[1])
    scale = axes.get_xscale() if rule.across == "x" else axes.get_yscale()
    return float(np.sqrt(low * high) if scale == "log" else (low + high) / 2)
