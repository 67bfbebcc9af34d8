"""Figure 7: weight decay alone only shrinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.beyond_l2 import weight_decay
from latebloom.catalog.old_base import Evidence, Experiment
from latebloom.figures.look import GREY, THEORY, canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(evidence: Evidence) -> Figure:
    run, exact = evidence.runs[weight_decay.NAME], weight_decay.closed_form(evidence)
    figure, (errors, norm) = canvas(1, 2, height=2.4)
    panels.errors(errors, run, legend=False)
    errors.plot(run["step"], exact.test_error(run["step"]), "--", color=THEORY, linewidth=0.9, label="closed form")
    errors.legend()
    panels.norm(norm, run, "l2_norm", r"$|a|_2$")
    norm.plot(run["step"], exact.norm(run["step"]), "--", color=THEORY, linewidth=0.9, label="closed form")
    norm.axhline(float(np.linalg.norm(exact.limit)), color=GREY, linestyle=":", label=r"$|\hat a|_2$")
    norm.legend()
    norm.set_yscale("log")
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig7",
    title="Large start and weight decay: a late drop that is not generalisation",
    claim="With l2 alone the recovery error drops late, to 0.8-0.9 and not to 0: grokking without understanding.",
    source="Section 3.3, Figure 7",
    seconds=8,
    settings=weight_decay.SETTINGS | {"initial scale ζ": "|a(1)| = 10"},
    jobs=lambda request: weight_decay.jobs(request, init_kind="sphere"),
    claims=weight_decay.CLAIMS,
    draw=draw,
    notes=weight_decay.NOTES,
)
