"""The figure of any run: errors on the left, norm on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.figures import panels
from latebloom.figures.traces import Figure

if TYPE_CHECKING:
    from latebloom.engine.run import Run


def overview(run: Run) -> Figure:
    """Errors and l2 norm against the run's clock, milestones marked."""
    errors = panels.errors(run, test="test error", label="error")
    return Figure([[errors, panels.norm(run, "l2_norm", r"norm $|w|_2$")]])
