"""What Figures 27 and 28 share: descent over sparsity and number of measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.beyond_l2.common import PRINTED, loose_job
from latebloom.catalog.old_base import Claim, Evidence, Measured, Request, at_least, at_most

if TYPE_CHECKING:
    from latebloom.engine.training import TrainJob


SPARSITIES = (1, 5, 10, 15)
COUNTS = (10, 20, 30, 40, 60, 80, 100)
FULL_COUNTS = tuple(range(10, 101, 10))
STEPS = 1_000_000
SETTINGS = PRINTED | {"sparsity s": SPARSITIES, "measurements N": COUNTS, "steps": STEPS}
NOTES = (
    "Measurements of variance 1/n, as printed.",
    "Milestones at a relative error of 1e-2 instead of the printed 1e-4, which the l1 bias does not allow.",
)


def name_of(sparsity: int, count: int) -> str:
    return f"s={sparsity}, N={count}"


def counts(request: Request) -> tuple[int, ...]:
    return FULL_COUNTS if request.full else COUNTS


def jobs(request: Request) -> dict[str, TrainJob]:
    return {
        name_of(sparsity, count): loose_job(request.seed, sparsity=sparsity, measurements=count, steps=STEPS)
        for sparsity in SPARSITIES
        for count in counts(request)
    }


def smallest_count(evidence: Evidence, sparsity: int) -> float:
    """The smallest N from which on every larger one generalises, infinite if there is none."""
    smallest = np.inf
    for count in reversed(counts(evidence.request)):
        if evidence.runs[name_of(sparsity, count)].t2 is None:
            break
        smallest = count
    return float(smallest)


def smaller_sparsity(evidence: Evidence) -> Measured:
    needed = [smallest_count(evidence, s) for s in SPARSITIES]
    return Measured(needed, bool(np.all(np.diff(needed) >= 0) and needed[0] < needed[-1]))


def all_memorise(evidence: Evidence) -> Measured:
    below = [count for count in counts(evidence.request) if count < PRINTED["dimension n"]]
    steps = [evidence.runs[name_of(s, n)].t1 or np.inf for s in SPARSITIES for n in below]
    return at_most(float(max(steps)), 2000)


def sooner_with_more(evidence: Evidence) -> Measured:
    """t2 at the smallest over t2 at the largest N < n at which s=5 generalises."""
    steps = [evidence.runs[name_of(5, n)].t2 for n in counts(evidence.request) if n < 100]
    known = [step for step in steps if step is not None]
    return at_least(known[0] / known[-1] if len(known) > 1 else None, 2.0)


SMALLER = Claim(
    "smaller-s-needs-smaller-N",
    "Smaller s requires a smaller N for generalisation.",
    "Appendix H.1, Figures 27 and 28",
    "smallest N that generalises does not fall with s, and differs between s=1 and s=15",
    smaller_sparsity,
    rate=0.8,
)
MEMORISE = Claim(
    "all-memorise",
    "Memorisation does not wait for generalisation: below n it comes early for every s and N.",
    "Appendix H.1, Figure 28",
    "largest t1 over all s and N < n at most 2000 steps",
    all_memorise,
    rate=0.8,
)
SOONER = Claim(
    "more-data-is-sooner",
    "More measurements generalise sooner.",
    "Appendix H.1, Figure 28",
    "t2 at the smallest N that generalises over that at the largest at least 2, for s=5",
    sooner_with_more,
    rate=0.8,
)
