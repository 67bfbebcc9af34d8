"""Appendix G.2.3: phase diagrams of matrix completion over N, r and τ, for the oracle and for descent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog.beyond_l2 import leverage_runs, low_rank
from latebloom.catalog.beyond_l2.leverage_runs import name_of, table_name
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, Study, at_least
from latebloom.figures.look import SEQUENTIAL, THEORY, canvas, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from latebloom.engine.training import TrainJob

RANKS = (1, 2, 3, 4)
TAUS = (0.0, 0.5, 1.0)
IMAGE: dict[str, Any] = {
    "origin": "lower",
    "aspect": "auto",
    "cmap": SEQUENTIAL,
    "vmin": 0,
    "vmax": 1,
    "interpolation": "nearest",
}
TRAINED_RANKS, TRAINED_COUNTS, TRAINED_TAUS = (1, 2, 3), (40, 60, 80), (0.0, 1.0)


def side(request: Request) -> int:
    """The side of the oracle's matrices; descent keeps to the small ones."""
    return 20 if request.full else leverage_runs.SIDE


def studies(request: Request) -> tuple[Study, ...]:
    grid = [(rank, tau) for rank in RANKS for tau in TAUS]
    return tuple(leverage_runs.study(request, tau, rank=rank, side=side(request)) for rank, tau in grid)


def cell(rank: int, count: int, tau: float) -> list[str]:
    """The names of the runs of one cell of descent's diagram."""
    return [name_of(count, tau, draw, rank) for draw in range(leverage_runs.DRAWS)]


def jobs(request: Request) -> dict[str, TrainJob]:
    return {
        name_of(count, tau, draw, rank): leverage_runs.job(request, count, tau, draw, rank)
        for rank in TRAINED_RANKS
        for count in TRAINED_COUNTS
        for tau in TRAINED_TAUS
        for draw in range(leverage_runs.DRAWS)
    }


def needed(evidence: Evidence) -> np.ndarray:
    """The oracle's smallest N, mean over draws: a row for each rank and a column for each τ."""
    return np.array([[leverage_runs.mean_needed(evidence, tau, rank) for tau in TAUS] for rank in RANKS])


def falls_with_rank(evidence: Evidence) -> Measured:
    means = needed(evidence)
    return Measured(means.round(1).tolist(), bool(np.all(np.diff(means, axis=0) < 0)))


def grows_with_rank(evidence: Evidence) -> Measured:
    means = needed(evidence)
    return Measured(means.round(1).tolist(), bool(np.all(np.diff(means, axis=0) > 0)))


def falls_with_leverage(evidence: Evidence) -> Measured:
    """The smallest N at τ=1 over that at τ=0, for each rank."""
    means = needed(evidence)
    ratios = means[:, -1] / means[:, 0]
    return Measured(ratios.round(3).tolist(), bool(np.all(ratios <= 0.95)))


def gains_most_at_rank_one(evidence: Evidence) -> Measured:
    """The share of entries that τ=1 saves, for each rank."""
    means = needed(evidence)
    saved = 1 - means[:, -1] / means[:, 0]
    return Measured(saved.round(3).tolist(), bool(np.all(np.diff(saved) < 0)))


def beyond_half(evidence: Evidence) -> Measured:
    """The smallest N at τ=1 over that at τ=0.5, at the higher ranks."""
    ratios = [mean[2] / mean[1] for mean in needed(evidence)[2:]]
    return Measured([round(float(ratio), 3) for ratio in ratios], all(0.95 <= ratio <= 1.05 for ratio in ratios))


def all_or_nothing(evidence: Evidence) -> Measured:
    """The least error one entry before recovery, over all draws."""
    return at_least(min(float(table["error_before"].min()) for table in evidence.tables.values()), 1e-5)


CLAIMS = (
    Claim(
        "rank-as-printed",
        "As r increases, the number of samples needed for perfect recovery decreases.",
        "Appendix G.2.3, linear programming",
        "smallest N (mean over draws) falling in r at every τ; fails: more degrees of freedom need more entries",
        falls_with_rank,
        documented=False,
    ),
    Claim(
        "grows-with-rank",
        "As r increases, the number of samples needed for perfect recovery increases.",
        "corrects the previous claim",
        "smallest N (mean over draws) strictly increasing in r at every τ",
        grows_with_rank,
        rate=0.9,
    ),
    Claim(
        "falls-with-leverage",
        "As τ increases, the number of samples needed for perfect recovery decreases.",
        "Appendix G.2.3, linear programming",
        "smallest N at τ=1 at most 0.95 of that at τ=0, at every r",
        falls_with_leverage,
        rate=0.8,
    ),
    Claim(
        "gains-most-at-low-rank",
        "Leverage saves the more entries the lower the rank.",
        "our measurement",
        "the share of entries that τ=1 saves falls strictly in r",
        gains_most_at_rank_one,
        rate=0.8,
    ),
    Claim(
        "half-is-enough",
        "At rank 3 and 4 the entries of highest leverage help up to τ=0.5 and no further.",
        "qualifies the sentence on τ",
        "smallest N at τ=1 over that at τ=0.5 between 0.95 and 1.05, for r=3 and r=4",
        beyond_half,
        rate=0.9,
    ),
    replace(leverage_runs.COVER, check=lambda e: leverage_runs.blocked_by_cover(e, RANKS)),
    Claim(
        "all-or-nothing",
        "Where the oracle recovers its error is rounding, and one entry less brings a visible error.",
        "Appendix G.2.3: errors of order 1e-6",
        "relative error at least 1e-5 one entry before recovery, in every draw",
        all_or_nothing,
        rate=0.9,
    ),
    leverage_runs.AGREES,
)


def oracle_image(evidence: Evidence, tau: float, counts: np.ndarray) -> np.ndarray:
    """The share of draws recovered, a row for each rank and a column for each N."""
    found = (evidence.tables[table_name(rank, tau)]["count"] for rank in RANKS)
    return np.array([(values[:, None] <= counts).mean(axis=0) for values in found])


def draw_freedom(axis: Axes, length: int, ranks: tuple[int, ...]) -> None:
    """The degrees of freedom at each rank, dashed."""
    freedom = [lb.theory.degrees_of_freedom((length, length), rank) for rank in ranks]
    heights = np.repeat(np.arange(ranks[0], ranks[-1] + 2) - 0.5, 2)[1:-1]
    axis.plot(np.repeat(freedom, 2), heights, color="white", linestyle="--", linewidth=1.0)


def label(axis: Axes, title: str, ranks: tuple[int, ...]) -> None:
    axis.set_yticks(ranks)
    axis.set_xlabel("observed entries $N$")
    axis.set_ylabel("rank $r$")
    axis.set_title(title)
    axis.grid(visible=False)


def draw_oracle(axes: list[Axes], evidence: Evidence):
    length = side(evidence.request)
    counts = np.arange(10, length**2 + 1)
    images = []
    for axis, tau in zip(axes, TAUS, strict=True):
        extent = (counts[0] - 0.5, counts[-1] + 0.5, RANKS[0] - 0.5, RANKS[-1] + 0.5)
        image = axis.imshow(oracle_image(evidence, tau, counts), extent=extent, **IMAGE)
        draw_freedom(axis, length, RANKS)
        label(axis, rf"oracle, $\tau$ = {tau:g}", RANKS)
        images.append(image)
    return images[0]


def draw_descent(axes: list[Axes], evidence: Evidence) -> None:
    """Descent's diagrams, with the oracle's answer on the same draws in a circle."""
    counts, ranks = TRAINED_COUNTS, TRAINED_RANKS
    half = (counts[1] - counts[0]) / 2
    extent = (counts[0] - half, counts[-1] + half, ranks[0] - 0.5, ranks[-1] + 0.5)
    for axis, tau in zip(axes, TRAINED_TAUS, strict=True):
        cells = [[cell(rank, count, tau) for count in counts] for rank in ranks]
        found, oracle = (
            np.array([[np.mean([judge(evidence, name) for name in names]) for names in row] for row in cells])
            for judge in (low_rank.recovered, leverage_runs.oracle_recovers)
        )
        axis.imshow(found, extent=extent, **IMAGE)
        columns, rows = np.meshgrid(counts, ranks)
        axis.scatter(columns, rows, c=oracle, s=45, edgecolors="white", cmap=SEQUENTIAL, vmin=0, vmax=1)
        draw_freedom(axis, leverage_runs.SIDE, ranks)
        axis.set_xlim(extent[0], extent[1])
        label(axis, rf"descent (circles: oracle), $\tau$ = {tau:g}", ranks)
        axis.set_xticks(counts)


def draw_needed(axis: Axes, evidence: Evidence) -> None:
    """The smallest N against the rank, above the degrees of freedom."""
    for column, tau, colour, marker in zip(needed(evidence).T, TAUS, shades(len(TAUS)), "os^", strict=True):
        axis.plot(RANKS, column, color=colour, marker=marker, label=rf"oracle, $\tau$ = {tau:g}")
    length = side(evidence.request)
    freedom = [lb.theory.degrees_of_freedom((length, length), rank) for rank in RANKS]
    axis.plot(RANKS, freedom, color=THEORY, linestyle="--", linewidth=0.9, label="$r(n_1 + n_2 - r)$")
    axis.set_xticks(RANKS)
    axis.set_xlabel("rank $r$")
    axis.set_ylabel("smallest $N$ (mean)")
    axis.set_ylim(0, length**2)
    axis.legend(fontsize=6, loc="lower right")


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(2, 3, height=2.1)
    drawn = draw_oracle(axes[:3], evidence)
    draw_descent(axes[3:5], evidence)
    draw_needed(axes[5], evidence)
    figure.colorbar(drawn, ax=axes[2], label="share recovered")
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/app-g2",
    title="Phase diagrams of matrix completion over N, r and τ: oracle and descent",
    claim="Recovery needs fewer entries when those of highest leverage come first, and more entries at a higher rank.",
    source="Appendix G.2.3",
    seconds=60,
    settings=leverage_runs.SETTINGS
    | {
        "rank r": RANKS,
        "coherence τ": TAUS,
        "observed N": "all (oracle), 40, 60, 80 (descent)",
        "shape n1 x n2": "10 x 10 (full: oracle 20 x 20)",
    },
    jobs=jobs,
    studies=studies,
    claims=CLAIMS,
    draw=draw,
    notes=(
        *leverage_runs.NOTES,
        "The appendix describes these diagrams without showing them, at a side of 100 by cvxpy; ours is 10.",
        "Over 80 draws the smallest N at τ = 0, 0.5, 1 is 63, 36, 27 (r=1), 77, 59, 55 (r=2), 87, 73, 72 (r=3) and "
        "92, 82, 82 (r=4) on average.",
        "White dashes are the degrees of freedom r(n1 + n2 - r), below which no draw is recovered.",
        "Descent misses draws that the oracle recovers where it is still on its way at the last step; a circle has the "
        "colour of the oracle's share on the draws of its cell.",
    ),
)
