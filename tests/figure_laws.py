"""What every figure of the catalog has to keep: one look one name, one name one look, and words in its table."""

from __future__ import annotations

from collections.abc import Iterator

from latebloom.figures import Figure, Line, Panel, Rule
from latebloom.figures.files import rows_of
from latebloom.figures.strokes import colour_of


def looks(panel: Panel) -> Iterator[tuple[str, tuple]]:
    """The label of everything that a legend names, with how it looks."""
    for trace in panel.traces if panel.legend is not None else ():
        if isinstance(trace, Rule) and trace.label and not trace.tag:
            yield trace.label, (colour_of(trace), trace.marks, trace.to is None, trace.width)
        elif isinstance(trace, Line) and trace.label:
            points = (trace.symbol, trace.hollow, trace.size) if trace.marks in ("points", "linked") else ()
            yield trace.label, (colour_of(trace), trace.marks, trace.width, trace.opacity, *points)


def broken_laws(figure: Figure) -> list[str]:
    """A sentence for every law that a figure breaks."""
    found = [] if figure.caption else ["no caption"]
    for place, panel in enumerate(figure.panels):
        by_label: dict[str, set] = {}
        for label, look in looks(panel):
            by_label.setdefault(label, set()).add(look)
        found += [f"panel {place}: {label!r} has two looks" for label, seen in by_label.items() if len(seen) > 1]
        named: dict[tuple, str] = {}
        for label, seen in by_label.items():
            for look in seen:
                if named.setdefault(look, label) != label:
                    found.append(f"panel {place}: {label!r} looks like {named[look]!r}")
        found += [f"panel {place}: no label of an axis" for axis in (panel.x, panel.y) if not axis.label]
    series: dict[tuple, int] = {}
    for number, (letter, trace, name) in enumerate(rows_of(figure)):
        if any(sign in name for sign in "\\${}"):
            found.append(f"panel {letter}: the series {name!r} is not in words")
        if trace.meaning == "measured" and series.setdefault((letter, name), number) != number:
            found.append(f"panel {letter}: two series are called {name!r}")
    return found
