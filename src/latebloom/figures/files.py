"""A figure on disk: PNG for the screen, PDF for the paper, CSV of what was drawn for everyone else."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from latebloom.errors import InputError, LatebloomError
from latebloom.figures.drawing import draw
from latebloom.figures.look import style
from latebloom.figures.traces import Figure, words

# Under which names a picture says where it comes from: those that the two formats know.
PNG = {"title": "Title", "settings": "Description", "runs": "Source", "software": "Software"}
PICTURES = ("png", "pdf", "svg")
PDF = {"title": "Title", "settings": "Subject", "runs": "Keywords", "software": "Creator"}


def save(figure: Figure, folder: Path, name: str, told: Mapping[str, str] | None = None) -> list[Path]:
    """Writes `name.png`, `name.pdf` and `name.csv` into `folder`; each appears whole or not at all.

    `told` is what the pictures carry as metadata: their title, settings, ids of the runs, software.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        canvas = draw(figure)
        paths = []
        with style():
            canvas.draw_without_rendering()
            canvas.set_layout_engine("none")  # laid out once, not once per file
            for suffix, known in (("png", PNG), ("pdf", PDF)):
                metadata: Any = {known[key]: text for key, text in (told or {}).items()}

                def write(path: Path, suffix: str = suffix, metadata: Any = metadata) -> None:
                    canvas.savefig(path, format=suffix, metadata=metadata)

                paths.append(_whole(folder / f"{name}.{suffix}", write))
        paths.append(_whole(folder / f"{name}.csv", lambda path: _write_data(figure, path)))
    except OSError as error:
        raise LatebloomError(
            f"cannot write figures to {folder} ({error.strerror}): choose another with --out DIR"
        ) from None
    return paths


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


def _write_data(figure: Figure, path: Path) -> None:
    """A row per point; a rule has one coordinate, a heat map three."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["panel", "x_label", "y_label", "trace", "series", "x", "y", "z"])
        for number, panel in enumerate(figure.panels, start=1):
            labels = [number, words(panel.x.title), words(panel.y.title)]
            for place, trace in enumerate(panel.traces):
                for name, *values in trace.rows():
                    shown = ["" if value is None else repr(float(value)) for value in values]
                    table.writerow([*labels, trace.kind, name or f"{trace.kind} {place}", *shown])
