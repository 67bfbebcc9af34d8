"""Controls of this paper's entries: runs made anew with another penalty or method, and evidence that is exchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Evidence
from latebloom.catalog.controls import AbstractControl, Altered, Workshop


@dataclass(frozen=True)
class Remade(AbstractControl):
    """Runs are made anew from changed jobs; those of which `change` gives None stay as they are.

    Penalties change their units, so the slow clock stays that of the old run.
    """

    words: str
    change: Callable[[Any], Any]

    def __str__(self) -> str:
        return self.words

    def broken(self, entry: Entry, evidence: Evidence, workshop: Workshop) -> Evidence:
        jobs = {name: new for name, job in evidence.jobs.items() if (new := self.change(job)) is not None}
        made = {name: _clocked(run, evidence[name]) for name, run in workshop.runs(jobs).items()}
        return replace(evidence, jobs={**evidence.jobs, **jobs}, runs={**evidence.runs, **made})


def _clocked(new: Any, old: Any) -> Any:
    if "slow_time" not in old.columns or "time" not in new.columns:
        return new
    factor = float(old["slow_time"][-1] / old["time"][-1])
    return replace(new, columns=new.columns | {"slow_time": factor * new["time"]})


def uneven(job: Any) -> Any:
    """The job with weight decay that is from once to four times as strong, from the first weight to the last."""
    weights = np.linspace(1.0, 4.0, job.problem.init().size)
    return replace(job, penalty=lb.WeightedL2(job.penalty.strength, weights))


UNEVEN = Remade("weight decay is up to four times as strong on some weights as on others", uneven)


def exchanged_columns(words: str, *pairs: tuple[str, str, str]) -> Altered:
    """In a study, each column of a pair stands where the other should: pairs are (study, column, column)."""

    def change(evidence: Evidence) -> Evidence:
        tables = {name: dict(table) for name, table in evidence.tables.items()}
        for study, one, other in pairs:
            tables[study][one], tables[study][other] = tables[study][other], tables[study][one]
        return replace(evidence, tables=tables)

    return Altered(words, change)
