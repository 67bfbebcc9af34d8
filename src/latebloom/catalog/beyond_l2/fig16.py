"""Figure 16: what a linear axis hides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.beyond_l2 import weight_decay
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, within
from latebloom.figures.look import NORM, THEORY, canvas
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def looks_like_zero(evidence: Evidence) -> Measured:
    """The error at the end as a share of the axis: it looks like zero and is not."""
    run = evidence.runs[weight_decay.NAME]
    return within(run.final["test_error"] / float(run["test_error"].max()), 0.0, 0.05)


CLAIMS = (
    Claim(
        "looks-like-grokking",
        "Without a logarithmic scale of the error it looks like grokking has occurred, whereas this is not the case.",
        "Appendix E, Figure 16",
        "the error at the end is under 5 % of the height of a linear axis",
        looks_like_zero,
    ),
    *weight_decay.CLAIMS,
)


def draw(evidence: Evidence) -> Figure:
    run, exact = evidence.runs[weight_decay.NAME], weight_decay.closed_form(evidence)
    figure, (linear, logarithmic, norm) = canvas(1, 3, height=2.2)
    panels.errors(linear, run, log=False)
    linear.set_title("linear axis", pad=12)
    panels.errors(logarithmic, run, legend=False)
    theory = exact.test_error(run["step"])
    logarithmic.plot(run["step"], theory, "--", color=THEORY, linewidth=0.9, label="closed form")
    logarithmic.set_title("logarithmic axis", pad=12)
    logarithmic.legend()
    norm.plot(run["step"], run["l1_norm"], color=NORM)
    panels.log_steps(norm)
    norm.set_ylabel(r"$|a|_1$")
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig16",
    title="Grokking without understanding on a linear and on a logarithmic axis",
    claim="On a linear axis weight decay alone seems to grok; on a logarithmic one it does not.",
    source="Appendix E, Figure 16",
    seconds=8,
    settings=weight_decay.SETTINGS | {"initial scale ζ": 10},
    jobs=lambda request: weight_decay.jobs(request, init_kind="gaussian"),
    claims=CLAIMS,
    draw=draw,
    notes=weight_decay.NOTES,
)
