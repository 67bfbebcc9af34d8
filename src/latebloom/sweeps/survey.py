"""Every cell of a sweep looked at once, before anything runs: its key, its program, its length, or why it cannot be."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from latebloom.core.progress import ProgressBar
from latebloom.engine.batch import structure
from latebloom.engine.grid import name_of_cell
from latebloom.engine.job import AbstractJob
from latebloom.engine.training import TrainJob
from latebloom.errors import InputError, LatebloomError
from latebloom.sweeps.definition import Sweep

SHOWN = 3  # reasons that a line gives, each with its first cell


@dataclass
class Survey:
    """What is known of the cells of a sweep."""

    sweep: Sweep
    keys: list[str | None] = field(default_factory=list)
    impossible: dict[int, str] = field(default_factory=dict)
    groups: dict[Hashable, list[int]] = field(default_factory=dict)  # cells by the compiled program that they need
    lengths: dict[int, float] = field(default_factory=dict)  # what a cell's cost goes with

    @property
    def possible(self) -> list[int]:
        """The numbers of the cells that can be run."""
        return [number for number, key in enumerate(self.keys) if key is not None]

    def shortest(self, group: Hashable) -> AbstractJob:
        """The job that shows what the jobs of a program cost."""
        job = self.sweep.cell(min(self.groups[group], key=lambda number: self.lengths[number])).job
        assert job is not None
        return job

    def tell(self, *, strict: bool) -> str:
        """What is to be said of impossible cells, an error with `strict` or where there are no others."""
        if not self.impossible:
            return ""
        reasons: dict[str, list[int]] = {}
        for number, why in self.impossible.items():
            reasons.setdefault(why, []).append(number)
        named = [self._named(why, cells) for why, cells in list(reasons.items())[:SHOWN]]
        more = "" if len(reasons) <= SHOWN else f"; {len(reasons) - SHOWN:,} more reasons"
        text = f"{len(self.impossible):,} of {len(self.keys):,} cells are impossible: {'; '.join(named)}{more}"
        if len(self.impossible) == len(self.keys):
            raise InputError(text)
        if strict:
            raise InputError(f"{text}; leave strict out to skip them")
        return f"{text}; skipped"

    def _named(self, why: str, cells: list[int]) -> str:
        others = f" and {len(cells) - 1:,} others" if len(cells) > 1 else ""
        return f"{name_of_cell(self.sweep.values(cells[0]))}{others} ({why})"


def survey(sweep: Sweep, *, progress: bool | None = None) -> Survey:
    """All cells of a sweep, each built and let go."""
    found = Survey(sweep)
    refusals: dict[Hashable, str] = {}  # what goes together is a matter of kinds and sizes, as a program is
    with ProgressBar(f"{sweep.name}: checking", len(sweep), enabled=progress) as bar:
        for cell in sweep.cells():
            bar.update(cell.number)
            group = None if cell.job is None else _program(cell.job)
            if cell.job is not None and group not in refusals:
                refusals[group] = _refusal(cell.job)
            why = cell.why or refusals[group]
            if why or cell.job is None:
                found.keys.append(None)
                found.impossible[cell.number] = why
                continue
            found.keys.append(cell.key)
            found.groups.setdefault(group, []).append(cell.number)
            found.lengths[cell.number] = float(cell.job.steps) if isinstance(cell.job, TrainJob) else 1.0
    return found


def _refusal(job: AbstractJob) -> str:
    """Why the parts of a job do not go together, if they do not."""
    try:
        if isinstance(job, TrainJob):
            job.method.check(job.problem, job.penalty)
        job.check_parts()
    except LatebloomError as error:
        return str(error)
    return ""


def _program(job: AbstractJob) -> Hashable:
    """What decides which compiled program a job needs."""
    parts: Any = (job.problem, getattr(job, "method", None), job.penalty, tuple(job.probes))
    return type(job), getattr(job, "solver", None), job.stop_at is None, structure(parts)
