"""Figure 24: the landscape, on and off the support."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.beyond_l2.common import PRINTED, problem_of, sparse_job, truth_of
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, Request, at_least, at_most
from latebloom.figures.look import NORM, TEST, TRAIN, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latebloom.engine.training import TrainJob

COUNTS = (20, 30, 40, 50, 60, 70)
STEPS = 600_000


def name_of(count: int) -> str:
    return f"N={count}"


def jobs(request: Request) -> dict[str, TrainJob]:
    return {name_of(count): sparse_job(request.seed, measurements=count, steps=STEPS) for count in COUNTS}


def passes_least_squares(evidence: Evidence) -> Measured:
    """The largest over N of the smallest relative distance of (u, v) to that of the least-squares solution."""
    closest = []
    for count in COUNTS:
        run, problem = evidence.runs[name_of(count)], problem_of(evidence, name_of(count))
        solution, truth = lb.oracles.min_norm(problem).solution, np.asarray(problem.truth)
        goal = np.array([np.linalg.norm(solution[truth != 0]), np.linalg.norm(solution[truth == 0])])
        path = np.column_stack([run["support_norm"], run["off_support_norm"]])
        closest.append(np.linalg.norm(path - goal, axis=1).min() / np.linalg.norm(goal))
    return at_most(float(max(closest)), 0.02)


def ends_at_truth(evidence: Evidence) -> Measured:
    """The largest over N ≥ 40 of the distance of (u, v) to (|a*|, 0) at the end, relative to |a*|."""
    gaps = []
    for count in COUNTS[2:]:
        run, size = evidence.runs[name_of(count)], np.linalg.norm(truth_of(evidence, name_of(count)))
        gaps.append(np.hypot(run.final["support_norm"] - size, run.final["off_support_norm"]) / size)
    return at_most(float(max(gaps)), 5e-3)


def too_few(evidence: Evidence) -> Measured:
    run, size = evidence.runs[name_of(20)], np.linalg.norm(truth_of(evidence, name_of(20)))
    return at_least(float(run.final["off_support_norm"] / size), 0.05)


CLAIMS = (
    Claim(
        "first-to-least-squares",
        "The iterate first converges to the least-squares solution (memorisation).",
        "Appendix H.1, Figure 24",
        "the path (u, v) passes that of the least-squares solution within 2 %",
        passes_least_squares,
    ),
    Claim(
        "then-to-truth",
        "Then, for N large enough, v converges to zero and u to |a*|.",
        "Appendix H.1, Figure 24",
        "end within 5e-3 of (|a*|, 0) for N of 40 and more",
        ends_at_truth,
        rate=0.8,
    ),
    Claim(
        "suboptimal-for-small-N",
        "For N too small it goes to a suboptimal solution.",
        "Appendix H.1, Figure 24",
        "v at the end at least 0.05 |a*| for N=20",
        too_few,
        rate=0.3,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, axes = canvas(2, 3, height=1.9)
    for axis, count in zip(axes, COUNTS, strict=True):
        run, problem = evidence.runs[name_of(count)], problem_of(evidence, name_of(count))
        solution, truth = lb.oracles.min_norm(problem).solution, np.asarray(problem.truth)
        axis.plot(run["support_norm"], run["off_support_norm"], color=NORM, linewidth=1.0)
        axis.plot(
            np.linalg.norm(solution[truth != 0]),
            np.linalg.norm(solution[truth == 0]),
            "s",
            color=TRAIN,
            label=r"least squares $\hat a$",
        )
        axis.plot(np.linalg.norm(truth), 0.0, "*", color=TEST, markersize=8, label="$a^*$")
        axis.set_title(f"N = {count}")
        axis.set_xlabel(r"$u = |a_I|_2$")
        axis.set_ylabel(r"$v = |a_{I^c}|_2$")
    axes[0].legend()
    return figure


EXPERIMENT = Experiment(
    id="beyond-l2/fig24",
    title="The path of the iterate: norm on the support against norm off it",
    claim="First to the least-squares solution, then along the zero-loss set to the truth, if N is large enough.",
    source="Appendix H.1, Figure 24",
    seconds=10,
    settings=PRINTED | {"measurements N": COUNTS, "steps": STEPS},
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(
        "The measurements have columns of unit norm on average (variance 1/N).",
        "Whether N=20 is too small depends on the draw: basis pursuit recovers about 60 % of them.",
    ),
)
