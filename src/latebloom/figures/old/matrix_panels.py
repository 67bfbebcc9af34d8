"""Panels of runs that look for a matrix: its singular values against the step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.figures.look import CYCLE, GREY
from latebloom.figures.old.panels import log_steps, mark_milestones

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from latebloom.engine.run import Run

ZERO = 1e-9  # of the largest: a true singular value below this is none


def singular_values(
    axis: Axes,
    run: Run,
    truth_values: np.ndarray,
    *,
    log: bool = False,
    milestones: bool = True,
    label: str = r"singular values $\sigma_i(A)$",
) -> None:
    """Every singular value against the step: as many as the truth has coloured, theirs dashed, the others grey.

    `truth_values` are the singular values of the truth; zeros among them are ignored. `log` shows how the small ones
    go to zero, and leaves out what is exactly zero.
    """
    truth = np.sort(np.asarray(truth_values, dtype=float))[::-1]
    truth = truth[truth > ZERO * truth[0]]
    rank, sigma = len(truth), run["singular_values"]
    axis.plot(run["step"], sigma[:, rank:], color=GREY, linewidth=0.6, alpha=0.7)
    for index, value in enumerate(truth):
        (line,) = axis.plot(run["step"], sigma[:, index], color=CYCLE[index % len(CYCLE)], linewidth=1.1)
        # Equal true values give one visible line: alternating dashes show both colours.
        axis.axhline(value, color=line.get_color(), linestyle=(4 * index, (4, 4 * (rank - 1) or 3)), linewidth=0.8)
    if log:
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0)
    log_steps(axis)
    axis.set_ylabel(label)
    if milestones:
        mark_milestones(axis, run)
