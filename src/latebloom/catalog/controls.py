"""Controls: changes of the mechanism under which a claim must turn, or it says nothing.

`latebloom verify --controls` gives every claim the evidence of a world in which the mechanism is broken, and says by
which change its verdict turned. Those of `USUAL` are tried on every claim, the free ones first; an entry or a claim
adds its own: `control=Instead({"l1": "without l1"})`.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from latebloom.catalog.base import Entry, Evidence, as_text
from latebloom.catalog.bounds import AbstractBound
from latebloom.catalog.claims import Claim
from latebloom.errors import LatebloomError

if TYPE_CHECKING:
    from latebloom.engine.run import Run

T = TypeVar("T")
CLOCKS = ("step", "time", "slow_time", "log_time")


@dataclass(frozen=True)
class Workshop:
    """What a control may have made anew: runs of changed jobs, by name, and the evidence of other settings."""

    runs: Callable[[Mapping[str, Any]], Mapping[str, Run]]
    evidence: Callable[[Any], Evidence]


class AbstractControl(ABC):
    """A change of what a claim is judged by."""

    @abstractmethod
    def __str__(self) -> str:
        """What is changed."""

    @abstractmethod
    def broken(self, entry: Entry, evidence: Evidence, workshop: Workshop) -> Evidence | None:
        """The evidence after the change; None where there is nothing to change."""

    def judged(self, claim: Claim) -> Claim:
        """The claim that is asked of it."""
        return claim


@dataclass(frozen=True)
class Untrained(AbstractControl):
    """Every record of a run is its first one, every row of a study its first row."""

    def __str__(self) -> str:
        return "nothing is trained: every record is the first one"

    def broken(self, entry: Entry, evidence: Evidence, workshop: Workshop) -> Evidence:
        runs = {name: _still(made, evidence.jobs[name]) for name, made in evidence.runs.items()}
        tables = {
            name: {key: _first(column) for key, column in table.items()} for name, table in evidence.tables.items()
        }
        return replace(evidence, runs=runs, tables=tables)


@dataclass(frozen=True)
class Exchanged(AbstractControl):
    """Every run stands where the next one should, every study's rows in the wrong order."""

    def __str__(self) -> str:
        return "the runs have changed places"

    def broken(self, entry: Entry, evidence: Evidence, workshop: Workshop) -> Evidence | None:
        names = list(evidence.runs)
        if len(names) < 2 and not evidence.tables:
            return None
        runs = {name: evidence.runs[other] for name, other in zip(names, names[1:] + names[:1], strict=True)}
        tables = {name: {key: column[::-1] for key, column in table.items()} for name, table in evidence.tables.items()}
        return replace(evidence, runs=runs, tables=tables)


@dataclass(frozen=True)
class AnotherDraw(AbstractControl):
    """The runs of this draw are held against data, truth and oracles of another."""

    def __str__(self) -> str:
        return "the truth is another draw's"

    def broken(self, entry: Entry, evidence: Evidence, workshop: Workshop) -> Evidence:
        settings = evidence.settings.but(seed=evidence.settings.seed + 1)
        return replace(evidence, settings=settings, jobs=entry.jobs(settings))


@dataclass(frozen=True)
class WithoutPenalty(AbstractControl):
    """Every run is made again without its penalty; the slow clock stays that of the penalty."""

    def __str__(self) -> str:
        return "the penalty is off"

    def broken(self, entry: Entry, evidence: Evidence, workshop: Workshop) -> Evidence | None:
        changed = {name: off for name, job in evidence.jobs.items() if (off := _without_penalty(job)) is not None}
        if not changed:
            return None
        made = {name: _same_clock(new, evidence[name]) for name, new in workshop.runs(changed).items()}
        return replace(evidence, runs={**evidence.runs, **made})


@dataclass(frozen=True)
class Instead(AbstractControl):
    """Some runs are replaced by others of the entry: `Instead({"l1": "without l1"})`."""

    runs: Mapping[str, str]

    def __str__(self) -> str:
        return "; ".join(f"{other!r} in the place of {name!r}" for name, other in self.runs.items())

    def broken(self, entry: Entry, evidence: Evidence, workshop: Workshop) -> Evidence:
        return replace(evidence, runs={**evidence.runs, **{name: evidence[other] for name, other in self.runs.items()}})


@dataclass(frozen=True)
class Set(AbstractControl):
    """The entry with other settings, under the same bounds: `Set(strength=0.1)`."""

    changes: Mapping[str, Any]

    def __init__(self, **changes: Any):
        object.__setattr__(self, "changes", changes)

    def __str__(self) -> str:
        return "set " + ", ".join(f"{name}={as_text(value)}" for name, value in self.changes.items())

    def broken(self, entry: Entry, evidence: Evidence, workshop: Workshop) -> Evidence:
        return workshop.evidence(evidence.settings.but(**self.changes))


@dataclass(frozen=True)
class Backwards(AbstractControl):
    """Every run goes from its end to its start, on the same clock."""

    def __str__(self) -> str:
        return "time goes backwards"

    def broken(self, entry: Entry, evidence: Evidence, workshop: Workshop) -> Evidence:
        runs = {
            name: replace(run, columns={key: x if key in CLOCKS else x[::-1] for key, x in run.columns.items()})
            for name, run in evidence.runs.items()
        }
        return replace(evidence, runs=runs)


@dataclass(frozen=True)
class Altered(AbstractControl):
    """The evidence is altered by a function: `Altered("labels are shuffled", shuffle)`."""

    words: str
    change: Callable[[Evidence], Evidence]

    def __str__(self) -> str:
        return self.words

    def broken(self, entry: Entry, evidence: Evidence, workshop: Workshop) -> Evidence:
        return self.change(evidence)


@dataclass(frozen=True)
class OtherBound(AbstractControl):
    """The same number under another bound: a sentence that fails holds with the constant put right."""

    bound: AbstractBound

    def __str__(self) -> str:
        return f"judged by {self.bound}"

    def broken(self, entry: Entry, evidence: Evidence, workshop: Workshop) -> Evidence:
        return evidence

    def judged(self, claim: Claim) -> Claim:
        return replace(claim, bound=self.bound)


USUAL: tuple[AbstractControl, ...] = (Exchanged(), AnotherDraw(), Untrained(), WithoutPenalty())


@dataclass(frozen=True)
class Turned:
    """What became of a claim under its controls: by which it turned, and what was measured then."""

    entry: Entry
    claim: Claim
    by: AbstractControl | None
    measured: Any
    tried: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        from latebloom.core.json import plain

        told = {"experiment": self.entry.id, "claim": self.claim.id, "kind": self.claim.kind}
        told |= {"turned": self.by is not None, "by": None if self.by is None else str(self.by)}
        return told | {"measured": plain(self.measured), "tried": list(self.tried)}


def try_controls(entry: Entry, evidence: Evidence, workshop: Workshop) -> list[Turned]:
    """Every claim of an entry under its own control, those of the entry, and the usual ones, until one turns it."""
    made: dict[int, Evidence | None] = {}

    def broken(control: AbstractControl) -> Evidence | None:
        if id(control) not in made:
            made[id(control)] = _measurable(lambda: control.broken(entry, evidence, workshop))
        return made[id(control)]

    return [_try(entry, claim, broken) for claim in entry.claims]


def _try(entry: Entry, claim: Claim, broken: Callable[[AbstractControl], Evidence | None]) -> Turned:
    own = () if claim.control is None else (claim.control,)
    tried = []
    for control in (*own, *entry.controls, *USUAL):
        tried.append(str(control))
        evidence = broken(control)
        found = None if evidence is None else _measurable(partial(control.judged(claim).check, evidence))
        if found is not None and found.holds is (not claim.documented) and not _undefined(found.value):
            return Turned(entry, claim, control, found.value, tried)
    return Turned(entry, claim, None, None, tried)


def _measurable(make: Callable[[], T]) -> T | None:
    """What a function gives, or None where a broken world leaves nothing to measure: that has not turned."""
    try:
        with warnings.catch_warnings():  # things are divided by zero there
            warnings.simplefilter("ignore", RuntimeWarning)
            return make()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None
    except LatebloomError as error:
        if getattr(error, "interrupted", False):
            raise
        return None


def with_columns(evidence: Evidence, name: str, **columns: np.ndarray) -> Evidence:
    """The evidence with other columns in one of its runs, for `Altered`."""
    run = evidence[name]
    return replace(evidence, runs={**evidence.runs, name: replace(run, columns=run.columns | columns)})


def with_settings(**changes: Any) -> Callable[[Evidence], Evidence]:
    """A change for `Altered`: the runs as they are, judged as if the settings were others."""
    return lambda evidence: replace(evidence, settings=evidence.settings.but(**changes))


def _undefined(value: Any) -> bool:
    """Whether the number is none: a control that leaves nothing to measure proves nothing."""
    return isinstance(value, float) and math.isnan(value)


def _first(values: np.ndarray) -> np.ndarray:
    return np.repeat(values[:1], len(values), axis=0)


def _still(run: Run, job: Any) -> Run:
    """The run, had its parameters stayed where they began."""
    if not run.columns:
        return run
    columns = {name: values if name in CLOCKS else _first(values) for name, values in run.columns.items()}
    marks = {}
    for name in ("memorised", "generalised"):
        mark = getattr(run.milestones, name)
        if mark is not None:
            there = mark.first is not None and bool(columns[mark.column][0] <= mark.threshold)
            marks[name] = mark if there else replace(mark, first=None, stable=None, lost=None)
    start = job.problem.init()
    return replace(run, columns=columns, params=start, milestones=replace(run.milestones, sharpness=None, **marks))


def _without_penalty(job: Any) -> Any | None:
    """The job without its penalty; None if it has none, or is the flow of one."""
    penalty = job.penalty
    if penalty is None or job.kind == "slow_flow" or not any(penalty.strengths):
        return None
    return replace(job, penalty=penalty.but(strength=0.0) if hasattr(penalty, "strength") else None)


def _same_clock(new: Run, old: Run) -> Run:
    """The run with slow time on the clock of another, of which it has the budget."""
    if "slow_time" not in old.columns or "time" not in new.columns:
        return new
    factor = float(old["slow_time"][-1] / old["time"][-1])
    return replace(new, columns=new.columns | {"slow_time": factor * new["time"]})
