"""Traces from runs, then drawing."""

from latebloom.figures.overview import draw_run
from latebloom.figures.save import save
from latebloom.figures.style import canvas, style

__all__ = ["canvas", "draw_run", "save", "style"]
