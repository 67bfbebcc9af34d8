"""Figure 20: phase diagrams of basis pursuit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.beyond_l2 import fig19
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, Study, at_most
from latebloom.core.progress import tracked
from latebloom.figures.look import SEQUENTIAL, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "phase diagram"
TAUS = (0.0, 0.4, 0.8)
COUNTS = tuple(range(10, 101, 10))
SPARSITIES = (1, 2, 3, 5, 7, 10, 15, 20, 25, 30)


def measure(seed: int) -> dict[str, np.ndarray]:
    grid = [(tau, s, count) for tau in TAUS for s in SPARSITIES for count in COUNTS]
    errors = [fig19.recovery_error(count, s, tau, seed) for tau, s, count in tracked(grid, "basis pursuit")]
    tau, sparsity, count = (np.array(column, dtype=float) for column in zip(*grid, strict=True))
    return {"tau": tau, "sparsity": sparsity, "count": count, "error": np.array(errors)}


def studies(request: Request):
    settings = {"experiment": "beyond-l2/fig20", "version": 1, "seed": request.seed}
    sizes = {"taus": list(TAUS), "sparsities": list(SPARSITIES), "counts": list(COUNTS)}
    return (Study(NAME, settings | sizes, lambda: measure(request.seed)),)


def image(evidence: Evidence, tau: float) -> np.ndarray:
    """The errors at one τ, a row for each sparsity and a column for each number of measurements."""
    table = evidence.tables[NAME]
    return table["error"][table["tau"] == tau].reshape(len(SPARSITIES), len(COUNTS))


def recovered_shares(evidence: Evidence) -> Measured:
    shares = [float(np.mean(image(evidence, tau) <= fig19.TOLERANCE)) for tau in TAUS]
    return Measured(shares, bool(np.all(np.diff(shares) < 0)))


def monotone(evidence: Evidence) -> Measured:
    """The share of neighbours in which one more step in N loses a recovery."""
    lost = [(good[:, :-1] & ~good[:, 1:]).mean() for good in (image(evidence, t) <= fig19.TOLERANCE for t in TAUS)]
    return at_most(float(np.mean(lost)), 0.03)


def in_between(evidence: Evidence) -> Measured:
    """The share of cells whose error is neither rounding nor failure: between 1e-6 and 1e-2."""
    errors = evidence.tables[NAME]["error"]
    return at_most(float(np.mean((errors > fig19.TOLERANCE) & (errors < 1e-2))), 0.01)


CLAIMS = (
    Claim(
        "region-shrinks",
        "The region of perfect recovery shrinks as τ increases.",
        "Appendix G.1.3, Figure 20",
        "recovered share of the (N, s) grid strictly falling in τ",
        recovered_shares,
        rate=0.9,
    ),
    Claim(
        "sharp-phase",
        "There is a smallest N(s, τ) above which recovery is perfect.",
        "Appendix G.1.3, Figure 20",
        "recoveries lost by adding measurements in at most 3 % of neighbours",
        monotone,
        rate=0.9,
    ),
    Claim(
        "all-or-nothing",
        "The error is of the order of 1e-6 or less where recovery is perfect, and of order one where it is not.",
        "Appendix G.1.3",
        "share of cells with an error between 1e-6 and 1e-2 at most 1 %",
        in_between,
        rate=0.9,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(1, len(TAUS), height=2.3)
    drawn = None
    for axis, tau in zip(axes, TAUS, strict=True):
        values = np.log10(np.maximum(image(evidence, tau), 1e-8))
        drawn = axis.imshow(values, origin="lower", aspect="auto", cmap=SEQUENTIAL, vmin=-8, vmax=0)
        axis.set_xticks(range(len(COUNTS))[1::2], [str(c) for c in COUNTS[1::2]])
        axis.set_yticks(range(len(SPARSITIES)), [str(s) for s in SPARSITIES])
        axis.set_xlabel("measurements $N$")
        axis.set_ylabel("sparsity $s$")
        axis.set_title(rf"$\tau$ = {tau:g}")
        axis.grid(visible=False)
    if drawn is not None:
        figure.colorbar(drawn, ax=axes, label=r"$\log_{10}$ relative error", shrink=0.9)
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig20",
    title="Phase diagrams of basis pursuit over N, s and coherence",
    claim="The region of perfect recovery in (N, s) shrinks as the coherence τ grows.",
    source="Appendix G.1.3, Figure 20",
    seconds=3,
    settings={"dimension n": 100, "sparsity s": SPARSITIES, "measurements N": COUNTS, "coherence τ": TAUS},
    studies=studies,
    claims=CLAIMS,
    draw=draw,
    notes=("The oracle is our certified basis pursuit in place of cvxpy; no noise.",),
)
