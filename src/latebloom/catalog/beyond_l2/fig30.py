"""Figure 30: accuracies under l1 and l2 over a grid of learning rates and strengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.beyond_l2 import networks
from latebloom.catalog.beyond_l2.fig2 import RATES, STEPS, draw_grid, power_claims
from latebloom.catalog.beyond_l2.networks import L1, L2, NOTES, PRINTED, Sizes
from latebloom.catalog.old_base import Claim, Experiment, Request

if TYPE_CHECKING:
    from latebloom.engine.training import TrainJob

KINDS = (L1, L2)
STRENGTHS: Sizes = {
    "everyday": {L1: (1e-5, 1e-4), L2: (1e-5, 1e-4)},
    "full": {L1: (3e-7, 1e-6, 1e-5), L2: (3e-7, 1e-6, 1e-5)},
}


def jobs(request: Request) -> dict[str, TrainJob]:
    return networks.grid_jobs(request, KINDS, RATES, STRENGTHS[request.size], STEPS)


CLAIMS = (
    Claim(
        "larger-rate-is-earlier",
        "Large αβ lead to faster grokking: a larger α.",
        "Appendix H.3.1, Figure 30",
        "t2 falls from each learning rate to the next larger one, for every strength of l1 and l2",
        lambda e: networks.earlier_with_rate(e, KINDS, RATES, STRENGTHS[e.request.size]),
        rate=0.6,
    ),
    Claim(
        "larger-strength-is-earlier",
        "Large αβ lead to faster grokking: a larger β.",
        "Appendix H.3.1, Figure 30",
        "t2 falls from each strength to the next larger one, for every learning rate",
        lambda e: networks.earlier_with_strength(e, KINDS, RATES, STRENGTHS[e.request.size]),
        rate=0.6,
    ),
    *power_claims("Section 2.2", STRENGTHS, rate=0.6),
)

EXPERIMENT = Experiment(
    id="beyond-l2/fig30",
    title="Accuracies under l1 and l2 over a grid of learning rates and strengths",
    claim="A larger learning rate or strength of l1 or l2 shortens the delay.",
    source="Appendix H.3.1, Figure 30",
    seconds=40,
    full_seconds=150,
    settings=PRINTED | {"learning rates α": RATES, "strengths β": STRENGTHS, "steps": STEPS},
    jobs=jobs,
    claims=CLAIMS,
    draw=lambda e: draw_grid(e, STRENGTHS),
    notes=(*NOTES, "The figure's values of α and β are not printed; these show the same."),
)
