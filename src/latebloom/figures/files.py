"""A figure on disk: PNG for the screen, PDF for the paper, CSV of what was drawn for everyone else."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from latebloom.errors import InputError, LatebloomError
from latebloom.figures.drawing import draw
from latebloom.figures.drawn import mark_of, shows
from latebloom.figures.look import style
from latebloom.figures.text import words
from latebloom.figures.traces import Figure, Panel, Trace, letters

# Under which names a picture says where it comes from: those that the two formats know.
PNG = {"title": "Title", "settings": "Description", "runs": "Source", "software": "Software", "mark": "Comment"}
PDF = {"title": "Title", "settings": "Subject", "runs": "Keywords", "software": "Creator", "mark": "Keywords"}
PICTURES = ("png", "pdf", "svg")


def save(figure: Figure, folder: Path, name: str, told: Mapping[str, str] | None = None) -> list[Path]:
    """Writes `name.png`, `name.pdf` and `name.csv` into `folder`; each appears whole or not at all.

    `told` is what the pictures carry as metadata: their title, settings, ids of the runs, software. Pictures that are
    there and show the same are left as they are.
    """
    mark, pictures = mark_of(figure, told or {}), {suffix: folder / f"{name}.{suffix}" for suffix in ("png", "pdf")}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not all(shows(path, mark) for path in pictures.values()):
            _draw_to(pictures, figure, {**(told or {}), "mark": mark})
        table = _whole(folder / f"{name}.csv", lambda path: write_data(figure, path))
    except OSError as error:
        raise LatebloomError(
            f"cannot write figures to {folder} ({error.strerror}): choose another with --out DIR"
        ) from None
    return [*pictures.values(), table]


def _draw_to(pictures: Mapping[str, Path], figure: Figure, told: Mapping[str, str]) -> None:
    canvas = draw(figure)
    with style():
        for suffix, known in (("png", PNG), ("pdf", PDF)):
            metadata: Any = {}
            for key, text in told.items():
                metadata[known[key]] = " ".join(filter(None, (metadata.get(known[key]), text)))
            _whole(pictures[suffix], partial(canvas.savefig, format=suffix, metadata=metadata))


def save_as(figure: Figure, path: Path) -> Path:
    """Writes one picture, as its suffix says, and returns its path."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in PICTURES:
        known = ", ".join(f".{known}" for known in PICTURES)
        raise InputError(f"cannot draw to {path.name!r}: its suffix must be one of {known}; write {path.stem}.png")
    canvas = draw(figure)
    try:
        with style():
            return _whole(path, lambda draft: canvas.savefig(draft, format=kind))
    except OSError as error:
        raise LatebloomError(f"cannot write {path} ({error.strerror}): choose another file with --out FILE") from None


def _whole(path: Path, write) -> Path:
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def rows_of(figure: Figure) -> Iterator[tuple[str, Trace, str]]:
    """Every trace that has data, with its panel's letter and the name of its series."""
    for letter, panel in zip(letters(len(figure.panels)), figure.panels, strict=True):
        for trace in panel.traces:
            first = next(iter(trace.rows()), None)
            if first is not None:
                yield letter, trace, first[0] or _unnamed(trace, panel)


def _unnamed(trace: Trace, panel: Panel) -> str:
    """What a series is called that has no name: what the axis says it is, or what it is evidence of."""
    return words(panel.y.label) if trace.meaning == "measured" else trace.meaning


def write_data(figure: Figure, path: Path) -> None:
    """A row per point; a rule has one coordinate, a heat map three. `meaning` tells data from theory and guides."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["panel", "x_label", "y_label", "meaning", "trace", "series", "x", "y", "z"])
        for letter, panel in zip(letters(len(figure.panels)), figure.panels, strict=True):
            labels = [letter, words(panel.x.title), words(panel.y.title)]
            for trace in panel.traces:
                for name, *values in trace.rows():
                    shown = ["" if value is None else repr(float(value)) for value in values]
                    series = name or _unnamed(trace, panel)
                    table.writerow([*labels, trace.meaning, trace.kind, series, *shown])
