"""Figure 14: matrix sensing by projected subgradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.beyond_l2 import low_rank, sensing
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_most, within
from latebloom.figures.look import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.training import TrainJob

PROJECTED_AS_PRINTED = "projected, standard deviation 1/n1 as printed"
COMPARED = 20_000  # steps before most singular values have reached zero, where rounding is not amplified


def jobs(request: Request) -> dict[str, TrainJob]:
    method = lb.ProjectedSubgradient(low_rank.LEARNING_RATE)
    return sensing.jobs(request, method) | {
        sensing.AS_PRINTED: sensing.printed_job(request, lb.GradientDescent(low_rank.LEARNING_RATE)),
        PROJECTED_AS_PRINTED: sensing.printed_job(request, method, steps=COMPARED),
    }


def scale_drops_out(evidence: Evidence) -> Measured:
    """The largest difference of the singular values at the two scales, over the records that both runs have."""
    runs = [evidence.runs[name] for name in (PROJECTED_AS_PRINTED, sensing.OTHER)]
    _, *rows = np.intersect1d(runs[0]["step"], runs[1]["step"], return_indices=True)
    here, there = (run["singular_values"][row] for run, row in zip(runs, rows, strict=True))
    return at_most(float(np.abs(here - there)[1:].max()), 1e-4)


def unbiased(evidence: Evidence) -> Measured:
    """The recovery error at the end in units of αβ, the size of a step."""
    step = low_rank.LEARNING_RATE * low_rank.STRENGTH
    return at_most(evidence.runs[sensing.OTHER].final["test_error"] / step, 10)


CLAIMS = (
    Claim(
        "one-step",
        "The first projected step interpolates.",
        "Section 3.2, Appendix D.2",
        "t1 = 1",
        lambda e: within(e.runs[sensing.OTHER].t1, 1, 1),
    ),
    Claim(
        "zero-error-throughout",
        "Every iterate after the first lies in {A : X vec(A) = y}.",
        "Appendix D.2",
        "largest relative training error after step 1 at most 1e-12",
        lambda e: at_most(float(e.runs[sensing.OTHER]["train_error"][1:].max()), 1e-12),
    ),
    *sensing.SHARED_CLAIMS,
    Claim(
        "no-bias",
        "Without a loss to trade against, β only sets the length αβ of the steps: there is no bias of order β.",
        "ours, beside Appendix D.2",
        "recovery error at the end at most 10 αβ",
        unbiased,
        rate=0.5,
    ),
    sensing.PRINTED_SCALE,
    Claim(
        "scale-drops-out",
        "The projection depends on the row space of X alone, so the printed scale does not matter to this method.",
        "ours, beside Appendix D.2",
        f"largest difference of the singular values at the two scales over {COMPARED:g} steps at most 1e-4",
        scale_drops_out,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (errors, norm, singular) = canvas(1, 3, height=2.1)
    sensing.draw_common(errors, norm, singular, evidence)
    errors.set_ylim(1e-17, 10)  # the training error is at rounding
    errors.legend(loc="lower left", bbox_to_anchor=(0.0, 0.2), fontsize=6)
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig14",
    title="Matrix sensing by projected subgradient descent",
    claim="One step memorises; the generalisation time is that of the subgradient method.",
    source="Appendix D.2, Figure 14",
    seconds=11,
    settings=sensing.SETTINGS,
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    seed_reason=sensing.SEED_REASON,
    notes=sensing.NOTES,
)
