"""How long a sweep takes, from a short trial of each program, and how it is cut into shards."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from latebloom.core.threads import one_core
from latebloom.engine.job import AbstractJob
from latebloom.sweeps.survey import Survey

SHARD_SECONDS = 30.0  # of work: what a worker that dies loses at most, beside what its runs have kept
MOST_CELLS = 256  # of a shard, whose runs are in memory together
TRIAL = 0.1  # seconds of a trial, beside compiling
PATIENCE = 2.0  # seconds of a trial that has not come to its first record
OVERHEAD = 0.004  # seconds that a run takes beside its steps: to make the job, and to keep the run


@dataclass
class Costs:
    """Seconds that cells take on one core, as far as can be told beforehand; `correction` is learnt on the way."""

    survey: Survey
    rates: dict[Hashable, float]  # seconds for a unit of length, by program
    correction: float = 1.0

    def seconds(self, numbers: Collection[int]) -> float:
        """What these cells take together."""
        wanted = set(numbers)
        return sum(
            self._mean(group, [number for number in cells if number in wanted], total=True)
            for group, cells in self.survey.groups.items()
        )

    def cut(self, numbers: Collection[int], *, workers: int, threads: int) -> list[tuple[int, ...]]:
        """The cells in shards of one program each, of about equal work and number: then one program serves them all.

        So many are wanted as powers of two go: a number that followed the estimate would be another one each time, and
        with it the size of a shard, which is part of its program.
        """
        wanted = set(numbers)
        share = SHARD_SECONDS * threads
        shards: list[tuple[int, ...]] = []
        for group, cells in self.survey.groups.items():
            left = sorted((n for n in cells if n in wanted), key=lambda number: -self.survey.lengths[number])
            if not left:
                continue
            count = 1
            while count < len(left) and (
                count < workers or len(left) > count * MOST_CELLS or self._mean(group, left) * len(left) > count * share
            ):
                count *= 2
            size = -(-len(left) // count)
            count = -(-len(left) // size)
            dealt = [number for start in range(count) for number in left[start::count]]
            shards += [tuple(dealt[start : start + size]) for start in range(0, len(dealt), size)]
        return shards

    def _mean(self, group: Hashable, numbers: Sequence[int], *, total: bool = False) -> float:
        lengths = sum(self.survey.lengths[number] for number in numbers)
        seconds = self.rates[group] * lengths * self.correction + OVERHEAD * len(numbers)
        return seconds if total else seconds / max(len(numbers), 1)


def costs(survey: Survey, numbers: Collection[int]) -> Costs:
    """What the programs of these cells cost, each tried on its shortest job."""
    wanted, rates = set(numbers), dict.fromkeys(survey.groups, 0.0)
    for group, cells in survey.groups.items():
        if wanted.intersection(cells):
            job = survey.shortest(group)
            rates[group] = trial(job) / max(survey.lengths[cells[0]] if job.kind != "train" else job.length, 1.0)
    return Costs(survey, rates)


def trial(job: AbstractJob) -> float:
    """Seconds that a job takes to its budget, on one core, from its first tenth of a second; 1 where it fails."""
    try:
        with one_core(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is to be said is said when it is run
            (batch,) = type(job).batches({0: job}, 1)
            batch.compile()
            started, over = time.perf_counter(), False
            while not over and (elapsed := time.perf_counter() - started) < PATIENCE:
                if elapsed > TRIAL and batch.done:
                    break
                over = batch.advance(TRIAL / 2, _unheard)
            elapsed = time.perf_counter() - started
    except Exception:  # the cell's failure is told when it is its turn
        return 1.0
    return elapsed if over else elapsed * batch.total / max(batch.done, 1e-3 * batch.total)


def _unheard(number: int, rows: Any) -> None:
    """Records of a trial are not kept."""
