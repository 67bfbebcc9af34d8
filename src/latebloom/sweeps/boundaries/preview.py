"""What finding a boundary would take, without running anything but one short trial."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

from latebloom.engine.scheduler import cores
from latebloom.engine.storage import Place, opened
from latebloom.sweeps.boundaries.plan import plan_of
from latebloom.sweeps.plan import trial

SAVES = (
    5  # times fewer runs than the grid, as `latebloom bench boundary` has it for a transition of a tenth of the axis
)


@dataclass(frozen=True)
class Preview:
    """Counts of runs, and seconds."""

    grid_runs: int
    expected_runs: int
    first_runs: int
    stored: int
    seconds: float
    workers: int

    @property
    def sentence(self) -> str:
        """All of it in a sentence."""
        return (
            f"about {self.expected_runs:,} runs in place of the grid's {self.grid_runs:,}, "
            f"about {max(self.seconds, 1):,.0f} s on {self.workers} cores and the time to compile; "
            f"of the first {self.first_runs}, {self.stored} are in the store"
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def preview(path: str | os.PathLike[str], store: Place = True) -> Preview:
    """What `lb.boundary` of a file would do."""
    plan, kept = plan_of(path), opened(store)
    lines, search = plan.lines(), plan.search()
    first = [plan.cell(line, at, turn) for line in lines for turn, at in enumerate(search.propose())]
    jobs = [cell.identified for cell in first if cell.job is not None]
    grid = search.grid_runs * len(lines)
    expected = min(-(-grid // SAVES), plan.most * len(lines))
    seconds = trial(jobs[len(jobs) // 2]) * expected / cores() if jobs else 0.0
    there = sum(kept.has(job.key) for job in jobs)
    return Preview(grid, expected, len(jobs), there, seconds, cores())
