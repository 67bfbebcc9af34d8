"""Descent over sparsity and number of measurements (Figures 27 and 28)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.beyond_l2.draws import ROWS_NOTE, LooseSettings
from latebloom.catalog.bounds import at_least, at_most, holds
from latebloom.catalog.measures import ends_and_times
from latebloom.core.fields import numbers
from latebloom.figures import Figure, panels

NAME = "s={sparsity}, N={measurements}"


class SizeSettings(LooseSettings):
    sparsities: tuple[int, ...] = numbers(default=(1, 5, 10, 15), whole=True, least=1, note="s")
    counts: tuple[int, ...] = numbers(
        default=(10, 20, 30, 40, 60, 80, 100), whole=True, least=1, note="N, measurements"
    )


NOTES = (
    ROWS_NOTE,
    "Milestones at a relative error of 1e-2 instead of the printed 1e-4, which the l1 bias does not allow.",
)
FULL = {"counts": tuple(range(10, 101, 10))}
fig27 = Entry(
    "beyond-l2/fig27",
    "Training and recovery error against the step, for each sparsity and number of measurements",
    "Smaller s needs a smaller N for generalisation.",
    source="Appendix H.1, Figure 27",
    seconds=30,
    settings=SizeSettings(),
    full=FULL,
    notes=NOTES,
)
fig28 = Entry(
    "beyond-l2/fig28",
    "Errors, memorisation and generalisation steps against the number of measurements, for each sparsity",
    "Smaller s needs a smaller N, and more measurements generalise sooner.",
    source="Appendix H.1, Figure 28",
    seconds=30,
    settings=SizeSettings(),
    full=FULL,
    notes=(*NOTES, "A missing point was not reached within the steps of its run."),
)


@fig27.runs
@fig28.runs
def size_runs(s):
    def job(sparsity, measurements):
        return s.job(sparsity=sparsity, measurements=measurements)

    return lb.Grid(job, {"sparsity": s.sparsities, "measurements": s.counts}, name=NAME)


def runs_of(e, sparsity):
    """The runs of a sparsity, by number of measurements."""
    return {n: e[NAME.format(sparsity=sparsity, measurements=n)] for n in e.settings.counts}


def smallest_count(e, sparsity):
    """The smallest N from which on every larger one generalises, infinite if there is none."""
    smallest = np.inf
    for n, run in reversed(runs_of(e, sparsity).items()):
        if run.t2 is None:
            break
        smallest = n
    return float(smallest)


SMALLEST = holds("smallest N that generalises does not fall with s, and differs between the smallest and largest s")
BOTH = "Appendix H.1, Figures 27 and 28"


@fig27.claim(SMALLEST, id="smaller-s-needs-smaller-N", source=BOTH, rate=0.8)
@fig28.claim(SMALLEST, id="smaller-s-needs-smaller-N", source=BOTH, rate=0.8)
def smaller_sparsity(e):
    """Smaller s requires a smaller N for generalisation."""
    needed = [smallest_count(e, sparsity) for sparsity in e.settings.sparsities]
    rises = all(after - before >= 0 for before, after in pairwise(needed))  # false where neither generalises
    return needed, rises and needed[0] < needed[-1]


@fig27.claim(at_most(2000), "largest t1 in steps over all s and N < n", source="Figure 28", kind="ours", rate=0.8)
def all_memorise(e):
    """Memorisation does not wait for generalisation: below n it comes early for every s and N."""
    runs = [run for s in e.settings.sparsities for n, run in runs_of(e, s).items() if n < e.settings.dimension]
    return float(max(run.t1 or np.inf for run in runs))


@fig28.claim(
    at_least(2), "t2 at the smallest N that generalises over that at the largest N < n, for s=5,", kind="ours", rate=0.8
)
def more_data_is_sooner(e):
    """More measurements generalise sooner."""
    steps = [run.t2 for n, run in runs_of(e, 5).items() if n < e.settings.dimension and run.t2 is not None]
    return steps[0] / steps[-1] if len(steps) > 1 else None


@fig27.figure
def fig27_figure(e):
    shown = [
        panels.family_errors({f"N = {n}": run for n, run in runs_of(e, s).items()}, title=f"s = {s}", legend=None)
        for s in e.settings.sparsities
    ]
    key = panels.family_key([f"N = {n}" for n in e.settings.counts], "train")
    return Figure(panels.in_rows(shown, 2), key=key)


@fig28.figure
def fig28_figure(e):
    families = {f"s = {s}": ends_and_times(list(runs_of(e, s).values())) for s in e.settings.sparsities}
    shown = panels.against_count(e.settings.counts, families, legend=None)
    return Figure(panels.in_rows(shown, 2), key=panels.key_of(shown[0]))
