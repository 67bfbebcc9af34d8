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
        panels.norm(right, run, "l2_norm", r"norm $|w|_2$")
    return figure
