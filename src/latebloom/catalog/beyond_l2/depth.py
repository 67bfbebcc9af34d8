"""What Figures 9, 17 and 18 share: depth instead of l1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.beyond_l2.common import LEARNING_RATE, PRINTED
from latebloom.catalog.old_base import Claim, Evidence, Measured, Request, at_least, at_most

if TYPE_CHECKING:
    from latebloom.engine.training import TrainJob
    from latebloom.penalties import AbstractPenalty


DEPTHS = (1, 2, 3, 4)
COUNTS = (20, 30, 50, 80)
FULL_COUNTS = tuple(range(10, 101, 10))
STEPS = {1: 20_000, 2: 300_000, 3: 3_000_000, 4: 1_000_000}
LARGE, LARGE_SHALLOW = "large start, L=2, l2", "large start, L=1, l2"
WEIGHT_DECAY = 1e-4
SETTINGS = {k: v for k, v in PRINTED.items() if "strength" not in k} | {
    "measurements N": COUNTS,
    "depth L": DEPTHS,
    "regularisation": "none",
    "initial scale ζ": "1e-6 for L=1, 1e-2 for L>1",
    "steps": STEPS,
}
NOTES = (
    "Measurements of variance 1/n, as printed.",
    "The start is the printed Gaussian: an all-equal positive start would keep a ≥ 0 at even depth.",
    "Depth 4 sits at the saddle for more than 1e6 steps, as the caption of Figure 18 admits.",
)


def name_of(depth: int, count: int) -> str:
    return f"L={depth}, N={count}"


def counts(request: Request) -> tuple[int, ...]:
    return FULL_COUNTS if request.full else COUNTS


def jobs(request: Request) -> dict[str, TrainJob]:
    method, probes = lb.GradientDescent(LEARNING_RATE), (lb.probes.VectorL1(),)

    def job(count: int, depth: int, *, scale: float, steps: int, penalty: AbstractPenalty | None = None) -> TrainJob:
        problem = lb.problems.SparseRecovery(
            measurements=count, depth=depth, init_scale=scale, normalise="rows", seed=request.seed
        )
        return lb.TrainJob(problem, method, penalty, steps=steps, probes=probes)

    grid = {
        name_of(depth, count): job(count, depth, scale=1e-6 if depth == 1 else 1e-2, steps=STEPS[depth])
        for depth in DEPTHS
        for count in counts(request)
    }
    large = {
        name: job(50, depth, scale=10.0, steps=2_000_000, penalty=lb.L2(WEIGHT_DECAY))
        for name, depth in ((LARGE, 2), (LARGE_SHALLOW, 1))
    }
    return grid | large


def final_errors(evidence: Evidence, depth: int) -> dict[int, float]:
    """The recovery error at the end, by number of measurements."""
    return {n: evidence.runs[name_of(depth, n)].final["test_error"] for n in counts(evidence.request)}


def recovered(evidence: Evidence, depth: int, tolerance: float = 1e-2) -> list[int]:
    """The numbers of measurements at which a depth recovers the truth."""
    return [n for n, error in final_errors(evidence, depth).items() if error <= tolerance]


def shallow_fails(evidence: Evidence) -> Measured:
    errors = final_errors(evidence, 1)
    return at_least(min(error for n, error in errors.items() if n <= 80), 0.25)


def deep_recovers(evidence: Evidence) -> Measured:
    errors = final_errors(evidence, 2)
    return at_most(max(errors[50], errors[80]), 1e-2)


def deeper_approaches(evidence: Evidence) -> Measured:
    errors = final_errors(evidence, 3)
    return at_most(max(errors[50], errors[80]), 0.25)


def fewer_measurements(evidence: Evidence) -> Measured:
    """The numbers of measurements below n at which depth 2 recovers and depth 1 does not."""
    gained = sorted(set(recovered(evidence, 2)) - set(recovered(evidence, 1)))
    return Measured(gained, bool(gained) and gained[0] <= 50)


def saddle(evidence: Evidence) -> Measured:
    return at_most(min(final_errors(evidence, 4).values()), 0.5)


def large_start_groks(evidence: Evidence) -> Measured:
    return at_most(evidence.runs[LARGE].final["test_error"], 1e-2)


def large_start_shallow(evidence: Evidence) -> Measured:
    return at_least(evidence.runs[LARGE_SHALLOW].final["test_error"], 0.3)


def later_with_depth(evidence: Evidence) -> Measured:
    """The step at which depth 3 has halved the recovery error over that of depth 2, at N=50 and N=80."""
    ratios = []
    for count in (50, 80):
        runs = [evidence.runs[name_of(depth, count)] for depth in (2, 3)]
        shallow, deep = (run.first(run["test_error"] <= 0.5) for run in runs)
        ratios += [deep / shallow] if deep and shallow else []
    return at_least(float(np.min(ratios)) if ratios else None, 10.0)


SHALLOW_FAILS = Claim(
    "shallow-fails",
    "Without l1 the shallow model cannot recover: there is no mechanism to enforce sparsity.",
    "Section 3.5, Appendix F.1",
    "smallest recovery error at depth 1 over N of at most 80 at least 0.25 (a random vector leaves √(1-N/n))",
    shallow_fails,
)
DEEP_RECOVERS = Claim(
    "depth-recovers",
    "Depth can replace l1 when the initialisation is small.",
    "Section 3.5, Figure 9",
    "recovery error of depth 2 at N=50 and 80 at most 1e-2",
    deep_recovers,
    rate=0.9,
)
DEEPER = Claim(
    "depth-3-approaches",
    "So does depth 3, one component after the other; the small ones take longest.",
    "Appendix F.1: the loss decreases in a staircase",
    "recovery error of depth 3 at N=50 and 80 at most 0.25 within 3e6 steps",
    deeper_approaches,
    rate=0.8,
)
FEWER = Claim(
    "fewer-measurements",
    "Depth aids in finding the signal with a smaller number of measures.",
    "Appendix F.1",
    "depth 2 recovers to 1e-2 at some N of at most 50 at which depth 1 does not",
    fewer_measurements,
    rate=0.8,
)
SADDLE = Claim(
    "depth-4-as-printed",
    "The generalisation error decreases with increasing depth L, up to L=4.",
    "Section 3.5, Figure 9",
    "depth 4 below 0.5 for some N within 1e6 steps; fails: the start is a saddle of order 4",
    saddle,
    documented=False,
)
LONGER = Claim(
    "longer-training",
    "Depth helps at the expense of a longer training time.",
    "Appendix F.1",
    "steps to halve the recovery error at L=3 over L=2 at least 10",
    later_with_depth,
    rate=0.9,
)
LARGE_GROKS = Claim(
    "large-start-groks",
    "For L ≥ 2 a large-scale start with a small l2 term results in grokking.",
    "Section 3.5, Appendix F.1",
    "recovery error of depth 2 at the end at most 1e-2",
    large_start_groks,
    rate=0.8,
)
LARGE_SHALLOW_FAILS = Claim(
    "large-start-shallow",
    "Unlike the shallow case, where it is grokking without understanding.",
    "Section 3.5, Appendix F.1",
    "recovery error of depth 1 at the end at least 0.3",
    large_start_shallow,
)
