"""The figure of any run: errors on the left, norm on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.figures import panels
from latebloom.figures.look import canvas, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.run import Run


def draw_run(run: Run) -> Figure:
    """Errors and l2 norm against the step, milestones marked."""
    with style():
        figure, (left, right) = canvas(1, 2)
        panels.errors(left, run, test="test error", label="error")
        norm = "l2_norm" if "l2_norm" in run.columns else "norm"  # a dual flow has no weights, but their norm
        panels.norm(right, run, norm, r"norm $|w|_2$")
    return figure
