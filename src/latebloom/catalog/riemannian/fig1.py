"""Figure 1: the picture of the paper: a fast phase to the zero-loss set, then a slow one along it to small norm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, at_least, at_most
from latebloom.catalog.riemannian import common
from latebloom.catalog.riemannian.common import FLOW, MEMORISED, RECOVERED, UNTIL, WEIGHT_DECAY, WITHOUT
from latebloom.figures.look import NORM, PAGE, TEST, THEORY, TRAIN, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FITTED = 10.0
FAST, SLOW = "#0072B2", "#E69F00"


def train_stays(evidence: Evidence) -> Measured:
    """The largest relative training error after memorisation."""
    run, memorised = evidence.runs[FLOW], evidence.runs[FLOW].t1
    return at_most(float(run["train_error"][run["time"] > memorised].max()) if memorised else None, MEMORISED)


def plateau(evidence: Evidence) -> Measured:
    """The test error at time 10 over that of the flow without weight decay at its end."""
    ratio = evidence.runs[FLOW].at("test_error", time=FITTED) / evidence.runs[WITHOUT].final["test_error"]
    return Measured(ratio, bool(0.9 <= ratio <= 1.1))


def fast_phase(evidence: Evidence) -> Measured:
    """The largest relative distance of the matrices with and without weight decay up to time 10."""
    run, bare = evidence.runs[FLOW], evidence.runs[WITHOUT]
    early = run["time"] <= FITTED
    gaps = np.linalg.norm(run["components"][early] - bare["components"][early], axis=1)
    return at_most(float((gaps / np.linalg.norm(bare["components"][early], axis=1)).max()), 0.05)


def drop(evidence: Evidence, column: str) -> float:
    """A column at time 10 over its end."""
    return evidence.runs[FLOW].at(column, time=FITTED) / evidence.runs[FLOW].final[column]


def monotone(evidence: Evidence) -> Measured:
    """The largest relative increase of the norm between two records after time 10."""
    run = evidence.runs[FLOW]
    norm = run["l2_norm"][run["time"] >= FITTED]
    return at_most(float((norm[1:] / norm[:-1] - 1).max()), 1e-6)


def delay(evidence: Evidence) -> Measured:
    first, second = evidence.runs[FLOW].t1, evidence.runs[FLOW].t2
    return at_least(second / first if first and second else None, 300)


CLAIMS = (
    Claim(
        "train-stays-zero",
        "First the training loss drops to zero, and it stays there.",
        "Section 1, Figure 1 (left)",
        f"relative training error at most {MEMORISED:g} from memorisation to the end",
        train_stays,
    ),
    Claim(
        "follows-unregularised-flow",
        "The trajectory initially follows the unregularised flow.",
        "Figure 1 (right), Proposition 1",
        "relative distance of the two matrices up to time 10 at most 0.05",
        fast_phase,
    ),
    Claim(
        "plateau",
        "The test loss plateaus where the unregularised flow ends.",
        "Section 1, Figure 1 (left)",
        "ratio at time 10 between 0.9 and 1.1",
        plateau,
    ),
    Claim(
        "norm-drops",
        "Then the norm of the weights drops steadily.",
        "Caption of Figure 1",
        "no increase above 1e-6 between records after time 10",
        monotone,
    ),
    Claim(
        "norm-at-the-end",
        "The drift leads to a solution of much lower norm.",
        "Caption of Figure 1, Section 5",
        "norm at time 10 over that at the end at least 1.5",
        lambda e: at_least(drop(e, "l2_norm"), 1.5),
    ),
    Claim(
        "test-improves",
        "The test loss decreases while the training loss remains zero.",
        "Section 1, Figure 1 (left)",
        "test error at time 10 over that at the end at least 3",
        lambda e: at_least(drop(e, "test_error"), 3),
        rate=0.8,
    ),
    Claim(
        "grokking",
        "Generalisation comes much later than memorisation.",
        "Section 1, Figure 1 (left)",
        "t2/t1 at relative error 1e-2 at least 300 (where the draw is recoverable)",
        common.where_recoverable(delay),
        rate=0.9,
    ),
    Claim(
        "ends-at-oracle",
        "The slow phase ends at the minimum nuclear-norm interpolator.",
        "Section 5",
        f"relative distance at most {common.AT_ORACLE:g}, on every draw",
        common.ends_at_oracle,
    ),
    Claim(
        "recovers",
        "The end is the planted matrix.",
        "Section 5",
        f"relative error at most {RECOVERED:g} (where the draw is recoverable, about 0.5 % of them)",
        common.where_recoverable(lambda e: at_most(e.runs[FLOW].final["test_error"], RECOVERED)),
        rate=0.9,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (errors, norm) = canvas(2, 1, width=0.8 * PAGE, height=1.9)
    run, bare = evidence.runs[FLOW], evidence.runs[WITHOUT]
    for axis in (errors, norm):
        shade_phases(axis)
    errors.plot(bare["time"], bare["test_error"], color=TEST, linestyle="--", linewidth=0.9)
    errors.plot(run["time"], run["train_error"], color=TRAIN, linewidth=1.8)
    errors.plot(run["time"], run["test_error"], color=TEST, linewidth=1.8)
    errors.set_yscale("log")
    errors.set_ylim(5e-5, 6)
    errors.set_ylabel("relative error")
    errors.set_xlabel("time $t$")
    errors.tick_params(labelbottom=False)
    errors.text(0.3, 2.2, "test", color=TEST)
    errors.text(0.6, 2e-2, "train", color=TRAIN)
    errors.text(8e4, 2.2, r"test, $\lambda = 0$", color=TEST, fontsize=7, ha="right")
    norm.plot(bare["time"], bare["l2_norm"] ** 2, color=NORM, linestyle="--", linewidth=0.9)
    norm.plot(run["time"], run["l2_norm"] ** 2, color=NORM, linewidth=1.8)
    least = 2 * common.oracle(common.matrix_problem(evidence, FLOW)).value
    norm.axhline(least, color=THEORY, linestyle=":", linewidth=0.9)
    norm.text(1.3e-2, 1.1 * least, r"smallest that fits: $2\,|M|_*$", fontsize=7)
    norm.set_ylim(0, 1.25 * float(bare["l2_norm"].max()) ** 2)
    norm.set_ylabel(r"$|w|^2 = |U|^2 + |V|^2$")
    norm.set_xlabel("time $t$")
    name_phases(errors)
    return figure


def shade_phases(axis: Axes) -> None:
    junction, slow = -np.log(WEIGHT_DECAY), 1 / WEIGHT_DECAY
    axis.set_xscale("log")
    axis.set_xlim(1e-2, UNTIL)
    axis.axvspan(1e-2, junction, color=FAST, alpha=0.07, linewidth=0)
    axis.axvspan(junction, UNTIL, color=SLOW, alpha=0.10, linewidth=0)
    axis.axvline(junction, color=THEORY, linewidth=0.8, linestyle="--")
    axis.axvline(slow, color=THEORY, linewidth=0.8, linestyle=":")


def name_phases(axis: Axes) -> None:
    """The phases' names and times above the panel."""
    junction, place = -np.log(WEIGHT_DECAY), axis.get_xaxis_transform()
    marks = (
        (np.sqrt(1e-2 * junction), "fast phase: fit the data", FAST),
        (junction, r"$-\ln\lambda$", THEORY),
        (np.sqrt(junction / WEIGHT_DECAY), "slow drift", "#9C6B00"),
        (1 / WEIGHT_DECAY, r"$1/\lambda$", THEORY),
        (np.sqrt(UNTIL / WEIGHT_DECAY), "small norm", "#9C6B00"),
    )
    for time, text, colour in marks:
        axis.text(time, 1.03, text, transform=place, ha="center", va="bottom", color=colour, fontsize=7.5)


EXPERIMENT = Experiment(
    id="riemannian/fig1",
    title="Fast and slow: gradient flow with small weight decay fits first and simplifies later",
    claim="The flow runs to the zero-loss set as if there were no weight decay, and then slowly along it to the "
    "smallest norm.",
    source="Section 1, Figure 1",
    seconds=20,
    settings=common.PRINTED,
    jobs=common.completion_jobs,
    claims=CLAIMS,
    draw=draw,
    seed=common.SEED,
    seed_reason=common.SEED_REASON,
    notes=(common.ORACLE_NOTE, "The runs are those of riemannian/fig2."),
)
