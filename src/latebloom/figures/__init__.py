"""Traces from runs, then drawing."""

from latebloom.figures.look import canvas, style
from latebloom.figures.output import save
from latebloom.figures.overview import draw_run

__all__ = ["canvas", "draw_run", "save", "style"]
