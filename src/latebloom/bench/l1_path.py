"""The exact slow flow of the l1 norm against the compiled iteration that follows it, up to the iteration's t2."""

from __future__ import annotations

import latebloom as lb
from latebloom.bench.base import BenchResult, show_seconds
from latebloom.bench.timing import describe, take_turns

NAME = "slow-flow"
LEARNING_RATE, STRENGTH = 0.1, 1e-5  # αβ = 1e-6
THRESHOLD = 1e-3
AGREEMENT = 2e-3  # relative difference of predicted and measured t2
SLACK = 1.01  # the iteration is given one per cent more steps than predicted, so that its t2 is seen


def measure(*, repeats: int = 9, large: bool = True) -> list[BenchResult]:
    """Sparse recovery at n=100, N=30 (alone, and as a ratio), then at n=400, N=130."""
    small = lb.problems.SparseRecovery(dimension=100, sparsity=5, measurements=30)
    ratio = _compare(small, least=15, repeats=repeats)
    assert ratio.ours_seconds is not None
    alone = BenchResult.within(
        NAME,
        "l1 path, n=100, N=30, to its end",
        ours=ratio.ours_seconds,
        limit=0.01,
        note=f"best of {repeats} in turns with the iteration below, after a warm-up",
    )
    if not large:
        return [alone, ratio]
    wide = lb.problems.SparseRecovery(dimension=400, sparsity=15, measurements=130)
    return [alone, ratio, _compare(wide, least=3, repeats=max(1, repeats // 3))]


def _compare(problem: lb.problems.SparseRecovery, *, least: float, repeats: int) -> BenchResult:
    """The whole path, certificate and all, against the iteration to its t2."""
    method, penalty = lb.ProjectedSubgradient(LEARNING_RATE), lb.L1(STRENGTH)
    predicted = lb.theory.predicted_t2(problem, LEARNING_RATE, penalty, threshold=THRESHOLD)
    steps = int(SLACK * predicted.step) + 1
    contenders = {
        "path": lambda: lb.flows.l1_path(problem),
        "iteration": lambda: lb.train(problem, method, penalty, steps=steps, generalised_at=THRESHOLD, progress=False),
    }
    timed = take_turns(contenders, repeats=repeats)
    ours, theirs = timed["path"], timed["iteration"]
    path, reached = ours.answer, theirs.answer.milestones.generalised.step
    difference = abs(predicted.step / reached - 1) if reached else float("inf")
    return BenchResult.at_least(
        NAME,
        f"l1 path, n={problem.dimension}, N={problem.measurements}, against train with ProjectedSubgradient to t2",
        ours=ours.seconds,
        theirs=theirs.seconds,
        least=least,
        agree=difference <= AGREEMENT and path.converged,
        note=f"{steps:,} steps at αβ = {LEARNING_RATE * STRENGTH:.0e}, {describe(repeats, theirs)}, against "
        f"{path.events} events ({show_seconds(ours.seconds / path.events)} each) to the end; "
        f"predicted t2 is off by {difference:.0e}; duality gap {path.gap:.0e}",
    )
