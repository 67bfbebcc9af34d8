"""Figure 2: accuracies under the nuclear norm over a grid of learning rates and strengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latebloom.catalog.beyond_l2 import networks
from latebloom.catalog.beyond_l2.networks import NOTES, NUCLEAR, PRINTED, SYMBOLS, Sizes, name_of
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request
from latebloom.figures.look import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.training import TrainJob

RATES = (3e-3, 1e-2, 3e-2)
STRENGTHS: Sizes = {"everyday": {NUCLEAR: (1e-4, 1e-3)}, "full": {NUCLEAR: (3e-6, 1e-5, 1e-4)}}
STEPS = 12_000


def jobs(request: Request) -> dict[str, TrainJob]:
    return networks.grid_jobs(request, (NUCLEAR,), RATES, STRENGTHS[request.size], STEPS)


def power_claims(source: str, strengths: Sizes, rate: float) -> tuple[Claim, Claim]:
    """The delay in powers of αβ, as printed and as it is; `rate` is the share of draws in which the latter holds."""

    def between(evidence: Evidence, low: float, high: float) -> Measured:
        kinds = strengths[evidence.request.size]
        exponents = networks.power(evidence, tuple(kinds), RATES, kinds)
        inside = all(low <= exponent <= high for exponent in exponents.values())
        return Measured(exponents, inside and len(exponents) == len(kinds))

    printed = Claim(
        "proportional-as-printed",
        "The grokking time is proportional to 1/(αβ).",
        source,
        "exponent of t2 - t1 in αβ between -1.2 and -0.8; fails under Adam",
        lambda e: between(e, -1.2, -0.8),
        documented=False,
    )
    corrected = Claim(
        "grows-slower",
        "Corrected: under Adam the delay grows as a smaller power of 1/(αβ).",
        "Adam's steps, measured",
        "exponent between -0.8 and -0.2",
        lambda e: between(e, -0.8, -0.2),
        rate=rate,
    )
    return printed, corrected


def draw_grid(evidence: Evidence, strengths: Sizes) -> Figure:
    """A row a penalty, a panel a learning rate, a curve a strength."""
    kinds = strengths[evidence.request.size]
    figure, axes = canvas(len(kinds), len(RATES), height=2.1)
    cells = [(kind, rate) for kind in kinds for rate in RATES]
    for axis, (kind, rate) in zip(axes, cells, strict=True):
        runs = {rf"$\beta$ = {b:g}": evidence.runs[name_of(kind, rate, b)] for b in kinds[kind]}
        networks.accuracies(axis, runs, rf"{SYMBOLS[kind]}, $\alpha$ = {rate:g}")
    return figure


CLAIMS = (
    Claim(
        "larger-rate-is-earlier",
        "When α increases, the generalisation delay decreases.",
        "Caption of Figure 2",
        "t2 falls from each learning rate to the next larger one, for every strength",
        lambda e: networks.earlier_with_rate(e, (NUCLEAR,), RATES, STRENGTHS[e.request.size]),
        rate=0.8,
    ),
    Claim(
        "larger-strength-is-earlier",
        "The smaller αβ is, the longer the delay between memorisation and generalisation.",
        "Section 2.1, Figure 2",
        "t2 falls from each strength to the next larger one, for every learning rate",
        lambda e: networks.earlier_with_strength(e, (NUCLEAR,), RATES, STRENGTHS[e.request.size]),
        rate=0.8,
    ),
    *power_claims("Section 2.2, which refers to Figure 2", STRENGTHS, rate=0.8),
)

EXPERIMENT = Experiment(
    id="beyond-l2/fig2",
    title="Accuracies under the nuclear norm over a grid of learning rates and strengths",
    claim="A larger learning rate or strength of the nuclear norm shortens the delay.",
    source="Section 2.1, Figure 2",
    seconds=30,
    full_seconds=150,
    settings=PRINTED | {"learning rates α": RATES, "strengths β": STRENGTHS, "steps": STEPS},
    jobs=jobs,
    claims=CLAIMS,
    draw=lambda e: draw_grid(e, STRENGTHS),
    notes=(*NOTES, "The figure's values of α and β are not printed; these show the same."),
)
