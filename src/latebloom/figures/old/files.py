"""A figure on disk: PNG for the screen, PDF for the paper, CSV of what was drawn for everyone else."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from latebloom.errors import LatebloomError
from latebloom.figures.look import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_canvas(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Writes `name.png`, `name.pdf` and `name.csv` into `folder`; each appears whole or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        with style():
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # laid out once, not once a file
            for suffix in ("png", "pdf"):
                paths.append(
                    _whole(folder / f"{name}.{suffix}", lambda path: figure.savefig(path, format=path.suffix[1:]))
                )
        paths.append(_whole(folder / f"{name}.csv", lambda path: _write_data(figure, path)))
    except OSError as error:
        raise LatebloomError(
            f"cannot write figures to {folder} ({error.strerror}): choose another with --out DIR"
        ) from None
    return paths


def _whole(path: Path, write) -> Path:
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _write_data(figure: Figure, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["panel", "x_label", "y_label", "series", "x", "y"])
        for number, axis in enumerate(figure.axes, start=1):
            labels = [number, axis.get_xlabel(), axis.get_ylabel()]
            for index, line in enumerate(axis.get_lines()):
                name = str(line.get_label())
                series = f"line {index}" if name.startswith("_") else name
                points = np.column_stack([np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)])
                table.writerows([*labels, series, repr(float(x)), repr(float(y))] for x, y in points)
            for image in axis.images:
                grid = np.asarray(image.get_array())
                table.writerows(
                    [*labels, f"row {r}", c, repr(float(v))] for r, row in enumerate(grid) for c, v in enumerate(row)
                )
