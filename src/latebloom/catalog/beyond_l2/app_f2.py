"""Appendix F.2: deep matrix factorisation. The paper prints no figure of it; this one is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog import measures
from latebloom.catalog.beyond_l2 import deep_matrix, low_rank
from latebloom.catalog.old_base import Claim, Evidence, Experiment, at_least, at_most
from latebloom.figures.look import CYCLE, GREY, THEORY, canvas
from latebloom.figures.old import panels
from latebloom.figures.old.matrix_panels import singular_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLAIMS = (
    Claim(
        "shallow-stays",
        "In the shallow case nothing is recovered without a penalty: the unseen entries stay at zero.",
        "Appendix F.2",
        "recovery error at least 0.3, and that of the zero-filled matrix to 1e-3",
        deep_matrix.zero_filled,
    ),
    Claim(
        "depth-2",
        "With L = 2 and a small start there is no need for the nuclear norm, on a draw where the nuclear norm fails.",
        "Appendix F.2",
        "recovery error at the end at most 1e-2 from standard deviation 1e-4",
        lambda e: at_most(e.runs[deep_matrix.name_of(2)].final["test_error"], low_rank.RECOVERED),
        rate=0.7,
    ),
    Claim(
        "depth-3",
        "Nor with L = 3.",
        "Appendix F.2",
        "recovery error at the end at most 1e-2 from standard deviation 1e-2",
        lambda e: at_most(e.runs[deep_matrix.name_of(3)].final["test_error"], low_rank.RECOVERED),
        rate=0.9,
    ),
    Claim(
        "small-by-depth",
        "How small the start has to be depends on the depth: where L = 3 recovers, L = 2 does not.",
        "ours, beside Appendix F.2",
        "recovery error of L = 2 from standard deviation 1e-2 at least 1e-2",
        lambda e: at_least(e.runs[deep_matrix.LOOSE].final["test_error"], low_rank.RECOVERED),
        rate=0.9,
    ),
    Claim(
        "beyond-nuclear-norm",
        "Depth does more than stand in for the nuclear norm: it recovers draws on which the nuclear norm cannot.",
        "Appendix F.2, Arora et al. 2019",
        "share of draws recovered at N = 70 by L = 2 and L = 3 at least 0.3 above the oracle's",
        deep_matrix.beyond_oracle,
        rate=0.9,
    ),
    Claim(
        "fewer-samples",
        "Depth recovers with fewer samples than the shallow case needs, even with the nuclear norm.",
        "Appendix F.2",
        f"smallest N with {deep_matrix.ENOUGH:.0%} of draws recovered: L = 3 at most L = 2, and both below the oracle",
        deep_matrix.fewer_entries,
        rate=0.8,
    ),
    Claim(
        "deeper-is-better",
        "Increasing L biases A towards low rank, which often leads to a more accurate recovery.",
        "Appendix F.2",
        "L = 3 recovers at most 10 % fewer draws than L = 2 at every N, and at least 20 % more at some",
        deep_matrix.deeper_is_better,
        rate=0.9,
    ),
    Claim(
        "sufficiently-large-n",
        "Recovery needs N sufficiently large: at 40 entries, for 36 unknowns in a matrix of rank 2, none is enough.",
        "Appendix F.2",
        "share of draws recovered at the smallest N at most 0.2",
        deep_matrix.too_few,
        rate=0.9,
    ),
    Claim(
        "staircase",
        "From a small start the singular values appear one after the other.",
        "Appendix F.2, after Gidel et al. 2019 and Li et al. 2020",
        "L = 3: σ_2 at least 1.1 times as late as σ_1, and an effective rank of at most 1.2 in between",
        deep_matrix.staircase,
        rate=0.8,
    ),
    Claim(
        "no-delay",
        "From a small start there is no grokking: the run generalises while it memorises.",
        "ours, beside Appendix F.2",
        "t2/t1 for L = 2 and L = 3 at most 4, both at relative error 1e-2",
        deep_matrix.largest_delay,
        rate=0.8,
    ),
    Claim(
        "large-start-groks",
        "From a start far from the origin with a small weight decay, L = 2 first memorises, then finds the matrix.",
        "Appendix F.2, Lyu et al. 2023",
        "recovery error at t1 at least 1, t2/t1 at least 100",
        deep_matrix.groks,
        rate=0.7,
    ),
    Claim(
        "time-scale",
        "The generalisation time is inversely proportional to the weight decay λ.",
        "Appendix F.2, Lyu et al. 2023",
        "λ t2 at λ = 3e-4 over λ t2 at λ = 1e-3 between 0.7 and 1.3",
        deep_matrix.time_scale,
        rate=0.6,
    ),
    Claim(
        "ends-at-nuclear-norm",
        "Weight decay on two layers is the nuclear norm of their product: the run ends at the oracle's matrix.",
        "min (|U|² + |V|²)/2 over U Vᵀ = A is |A|_*",
        "relative distance to the minimum nuclear-norm interpolator at most 2e-2",
        deep_matrix.distance_to_oracle,
        rate=0.7,
    ),
    Claim(
        "weight-decay-is-needed",
        "Without weight decay the large start is never forgotten.",
        "Appendix F.2",
        "recovery error at the end over that at t1 at least 0.9",
        deep_matrix.stays,
    ),
    Claim(
        "without-understanding",
        "In the shallow case the same start and weight decay give grokking without understanding.",
        "Appendix E, Appendix F.2",
        "recovery error falls at least threefold after t1 and ends at 0.3 or more",
        deep_matrix.without_understanding,
    ),
    Claim(
        "balance-is-kept",
        "Without a penalty A1ᵀA1 - A2A2ᵀ is constant, up to the step length.",
        "Arora et al. 2018, cited in Appendix F.2",
        "relative change at the end at most 0.1",
        deep_matrix.conserved,
    ),
    Claim(
        "balance-decays",
        "Weight decay takes it to zero at the rate (1 - αλ)^(2t).",
        "ours, beside Appendix F.2",
        "|A1ᵀA1 - A2A2ᵀ| at the end over the start, over (1 - αλ)^(2T), between 0.75 and 1.3",
        deep_matrix.balance_decays,
        rate=0.9,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (small, steps, share, large, rank, balance) = canvas(2, 3, height=2.1)
    draw_small(small, evidence)
    draw_staircase(steps, evidence)
    draw_shares(share, evidence)
    draw_large(large, evidence)
    draw_ranks(rank, evidence)
    draw_balance(balance, evidence)
    return figure


def draw_small(axis: Axes, evidence: Evidence) -> None:
    names = {depth: deep_matrix.name_of(depth) for depth in deep_matrix.SCALES}
    panels.family(axis, {f"$L = {depth}$": evidence.runs[name] for depth, name in names.items()})
    axis.set_ylim(bottom=1e-8)
    axis.set_title("small start, no penalty")
    panels.family_legend(axis, bbox_to_anchor=(0.4, 0.0))


def draw_staircase(axis: Axes, evidence: Evidence) -> None:
    name = deep_matrix.name_of(3)
    truth = np.linalg.svd(measures.truth_of(evidence, name), compute_uv=False)
    singular_values(axis, evidence.runs[name], truth, milestones=False)
    axis.set_title("small start, no penalty, $L = 3$")


def draw_shares(axis: Axes, evidence: Evidence) -> None:
    """The share of draws that are recovered, against the number of entries."""
    labels = ("nuclear norm", "$L = 2$", "$L = 3$")
    styles = ((THEORY, "o--"), (CYCLE[0], "s-"), (CYCLE[1], "^-"))
    for by_count, label, (colour, line) in zip(deep_matrix.shares(evidence).values(), labels, styles, strict=True):
        axis.plot(list(by_count), list(by_count.values()), line, color=colour, label=label)
    axis.set_xlabel("observed entries $N$")
    axis.set_ylabel("share of draws recovered")
    axis.set_xlim(left=min(deep_matrix.counts(evidence.request)) - 8)
    axis.set_ylim(-0.03, 1.03)
    axis.set_title("small start, and the oracle")
    axis.legend(loc="upper left", fontsize=6, handlelength=1.6, borderaxespad=0.0)


def draw_large(axis: Axes, evidence: Evidence) -> None:
    shallow = evidence.runs[deep_matrix.LARGE_SHALLOW]
    axis.plot(shallow["step"], shallow["test_error"], color=GREY, linewidth=0.9, label="recovery, $L = 1$")
    panels.errors(axis, evidence.runs[deep_matrix.LARGE], test="recovery, $L = 2$")
    axis.set_ylim(bottom=1e-6)
    axis.set_title("large start, weight decay", pad=12)
    axis.legend(loc="lower left", fontsize=6)


def draw_ranks(axis: Axes, evidence: Evidence) -> None:
    names = {
        deep_matrix.LARGE_SHALLOW: (GREY, "large start, $L = 1$, weight decay"),
        deep_matrix.LARGE: (CYCLE[0], "large start, $L = 2$, weight decay"),
        deep_matrix.name_of(3): (CYCLE[1], "small start, $L = 3$"),
    }
    for name, (colour, label) in names.items():
        axis.plot(evidence.runs[name]["step"], evidence.runs[name]["effective_rank"], color=colour, label=label)
    axis.axhline(2, color=THEORY, linestyle="--", linewidth=0.9, label="planted rank")
    panels.log_steps(axis)
    axis.set_ylim(0, 14)
    axis.set_ylabel("effective rank")
    axis.legend(loc="upper right", fontsize=6)


def draw_balance(axis: Axes, evidence: Evidence) -> None:
    """Relative imbalance; once the layers have the size of the truth it is half of the absolute one."""
    run, without = evidence.runs[deep_matrix.LARGE], evidence.runs[deep_matrix.LARGE_WITHOUT]
    axis.plot(
        *(without["step"], without["layer_balance"][:, 0]),
        color=GREY,
        linewidth=2.4,
        alpha=0.45,
        label="no weight decay",
    )
    axis.plot(run["step"], run["layer_balance"][:, 0], color=CYCLE[0], label="weight decay")
    predicted = deep_matrix.decayed(evidence, run["step"]) / 2
    axis.plot(run["step"], predicted, "--", color=THEORY, linewidth=0.9, label=r"$|D_0|(1 - \alpha\lambda)^{2t} / 2$")
    axis.set_yscale("log")
    panels.log_steps(axis)
    axis.set_ylim(top=20)
    axis.set_ylabel("imbalance of the layers")
    axis.set_title("large start, $L = 2$", pad=12)
    axis.legend(loc="lower left", fontsize=6)


EXPERIMENT = Experiment(
    id="beyond-l2/app-f2",
    title="Deep matrix factorisation: depth instead of the nuclear norm, and weight decay from a large start",
    claim="Depth recovers low-rank matrices without a penalty and from fewer entries than the nuclear norm; from a "
    "large start, weight decay on two layers groks.",
    source="Appendix F.2",
    seconds=20,
    settings={
        "shape n1 x n2": "10 x 10",
        "rank r": 2,
        "observed N": f"{deep_matrix.SEEN}; {deep_matrix.COUNTS} for the shares",
        "depth L": tuple(deep_matrix.SCALES),
        "width d": 10,
        "small start": {f"L={depth}": scale for depth, scale in deep_matrix.SCALES.items()},
        "large start": {f"L={depth}": scale for depth, scale in deep_matrix.LARGE_SCALES.items()},
        "learning rate α": {"small start": deep_matrix.RATE, "large start": deep_matrix.LARGE_RATE},
        "weight decay λ": {"small start": 0, "large start": (deep_matrix.WEIGHT_DECAY, deep_matrix.STRONGER)},
        "draws": deep_matrix.DRAWS,
    },
    jobs=deep_matrix.jobs,
    studies=deep_matrix.studies,
    claims=CLAIMS,
    draw=draw,
    seed=low_rank.SEED,
    seed_reason=f"{low_rank.SEED_REASON}; on the next one, 11, it is not",
    notes=(
        "The oracle chooses the draws: the small start is shown on the first draw from the seed on whose minimum "
        "nuclear-norm interpolator is not the planted matrix, the large start on the first whose interpolator is.",
        "At N = 70 the minimum nuclear norm recovers 13 of the first 60 draws, L = 2 recovers 51 and L = 3 all of them "
        f"within {deep_matrix.STEPS:,} steps.",
        "The planted matrix has two equal singular values, so that the steps of the staircase are short.",
        "Shallow means the matrix itself; its best case is the nuclear norm, so that the oracle stands for it in the "
        "comparison of sample sizes.",
    ),
)
