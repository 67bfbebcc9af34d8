"""One look for all figures: a paper's column widths, no LaTeX, colours that everyone can tell apart, one type size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PAGE = 6.75  # inches, both columns of a paper
HEIGHTS = {1: 1.65, 2: 1.65, 3: 1.45}  # inches of a panel's axes by the number of columns; of more as of three
DPI = 300  # of pictures, as journals ask
SMALL = 6.5  # points: legends, tags, notes and the caption

# Okabe and Ito's palette: told apart with every common form of colour blindness, and in grey by brightness.
TRAIN, TEST, NORM, THEORY, PRINTED, GREY = "#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#7F7F7F"
CYCLE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442"]
SEQUENTIAL = "viridis"

SETTINGS: dict[str, Any] = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "axes.titlelocation": "left",
    "legend.fontsize": SMALL,
    "legend.title_fontsize": SMALL,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "pdf.fonttype": 42,
    "figure.dpi": DPI,
    "savefig.dpi": DPI,
}


@contextmanager
def style() -> Iterator[None]:
    """Matplotlib with our settings."""
    import matplotlib as mpl
    from cycler import cycler

    with mpl.rc_context(SETTINGS | {"axes.prop_cycle": cycler(color=CYCLE)}):  # type: ignore[arg-type]
        yield


def shades(count: int) -> list[tuple[float, float, float, float]]:
    """`count` colours in order, dark to light, for a family of curves."""
    import matplotlib as mpl
    import numpy as np

    return [tuple(colour) for colour in mpl.colormaps[SEQUENTIAL](np.linspace(0.0, 0.88, max(count, 1)))]  # type: ignore[misc]
