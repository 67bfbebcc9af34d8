"""Figures as data, drawn with Matplotlib and written to files."""

from latebloom.figures.drawing import draw
from latebloom.figures.files import save, save_as
from latebloom.figures.of_run import overview
from latebloom.figures.of_runs import comparison
from latebloom.figures.traces import Axis, Figure, Heat, Line, Note, Panel, Rule

__all__ = [
    "Axis",
    "Figure",
    "Heat",
    "Line",
    "Note",
    "Panel",
    "Rule",
    "comparison",
    "draw",
    "overview",
    "save",
    "save_as",
]
