"""What a run is asked for: a job is a value, with a text that identifies it and a key under which it is stored."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from latebloom.core.fields import check_all, choice, number, own, record_of
from latebloom.core.functions import digest
from latebloom.core.precision import precision
from latebloom.core.record import Record, own_function, parse
from latebloom.engine.milestones import Watch
from latebloom.engine.run import CLOCKS
from latebloom.errors import InputError, check_choice, check_number, unknown_argument, unknown_name
from latebloom.penalties import L2, AbstractPenalty
from latebloom.penalties import TABLE as PENALTIES
from latebloom.probes import ALWAYS, AbstractProbe
from latebloom.probes import TABLE as PROBES
from latebloom.problems import TABLE as PROBLEMS
from latebloom.problems import AbstractProblem
from latebloom.store import run_key

if TYPE_CHECKING:
    from latebloom.engine.batch import AbstractBatch

EVENTS = ("memorised", "generalised")


# How a record's text names a function of one's own: by a number that holds for this process.
_OWN_FUNCTION = re.compile(r"#[0-9a-f]{8}-\d+")


class AbstractJob(ABC):
    """Everything that decides one run's numbers: a frozen dataclass; two are equal if they would give the same run.

    The configuration has three parts, because a run is continued with the same dynamics and records and a larger
    budget: `dynamics` (what is integrated, and how), `records` (what is written down), `budget` (how far).
    """

    kind: ClassVar[str]
    clock: ClassVar[str]  # what the run counts: one of its columns
    kinds: ClassVar[dict[str, type[AbstractJob]]] = {}
    extends: ClassVar[str | None] = None  # the part of the budget of which more continues a finished run
    called: ClassVar[Mapping[str, str]] = {}  # how functions of one's own are called, if not by their number

    problem: AbstractProblem
    penalty: AbstractPenalty | None
    stop_at: str | None
    memorised_at: float
    generalised_at: float
    probes: Sequence[AbstractProbe]
    records_per_decade: Any

    def __new__(cls, *args: Any, **named: Any) -> Self:
        known = [field.name for field in fields(cls)] if is_dataclass(cls) else list(named)
        for name in named:
            if name not in known:
                raise unknown_argument(cls.__name__, name, known)
        return super().__new__(cls)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.kinds[cls.kind] = cls

    @property
    @abstractmethod
    def engine(self) -> int:
        """Raised when the numbers of an unchanged configuration change: stored runs of older engines are not served."""

    @abstractmethod
    def dynamics(self) -> dict[str, Any]:
        """What is integrated, and how, as plain JSON values."""

    @abstractmethod
    def budget(self) -> dict[str, Any]:
        """How far, as plain JSON values."""

    @classmethod
    @abstractmethod
    def batches(cls, jobs: Mapping[int, Any], workers: int) -> list[AbstractBatch]:
        """The jobs, by their numbers, in batches that threads advance."""

    def records(self) -> dict[str, Any]:
        """What is written down, as plain JSON values."""
        return {
            "probes": sorted(probe.text for probe in self.all_probes),
            "memorised_at": self.memorised_at,
            "generalised_at": self.generalised_at,
            "records_per_decade": self.records_per_decade,
        }

    def configuration(self) -> dict[str, Any]:
        """The run's identity, as plain JSON values."""
        head = {"kind": self.kind, "engine": self.engine}
        told = {"dynamics": self.dynamics(), "records": self.records(), "budget": self.budget()}
        return head | (_called(told, self.called) if self.called else told)

    @cached_property
    def text(self) -> str:
        """The configuration in one line."""
        return json.dumps(self.configuration(), sort_keys=True, ensure_ascii=False)

    @cached_property
    def key(self) -> str:
        """The id under which the run is stored."""
        return run_key(self.configuration())

    @cached_property
    def lineage(self) -> str | None:
        """What a run has in common with those that differ in length only; None if a longer one starts anew."""
        if self.extends is None:
            return None
        budget = {name: value for name, value in self.budget().items() if name != self.extends}
        return run_key(self.configuration() | {"budget": budget})

    @property
    def length(self) -> float:
        """How far, of a job that can be extended."""
        return getattr(self, str(self.extends))

    @property
    def portable(self) -> bool:
        """Whether the text means the same in another process: not with functions of one's own that have no name."""
        return _OWN_FUNCTION.search(self.text) is None

    @property
    def identified(self) -> Self:
        """The same job with functions of one's own called by what they compute; as it is where that cannot be told."""
        marks = {mark: own_function(mark) for mark in sorted(set(_OWN_FUNCTION.findall(self.text)))}
        known = {mark: digest(function, self.problem.init()) for mark, function in marks.items() if function}
        if not marks or len(known) < len(marks) or None in known.values():
            return self
        same = replace(self)  # type: ignore[type-var]
        same.set(called={mark: f"#{told}" for mark, told in known.items()})
        return same

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractJob) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def but(self, changes: Mapping[str, Any]) -> Self:
        """The same job with other values: of its own (`steps`), or of its parts (`method.learning_rate`)."""
        known = {f.name for f in fields(self)}  # type: ignore[arg-type]  # every kind is a dataclass
        for path in changes:
            if path.partition(".")[0] not in known:
                raise unknown_name(f"field of a {self.kind} job", path.partition(".")[0], known)
        return replace(self, **joined(self, changes))  # type: ignore[type-var]

    @staticmethod
    def read(configuration: Mapping[str, Any]) -> AbstractJob:
        """The job with this configuration: the inverse of `configuration`, for another process."""
        kind = check_choice("kind of job", str(configuration.get("kind")), AbstractJob.kinds)
        job = AbstractJob.kinds[kind].from_parts(*(configuration[part] for part in ("dynamics", "records", "budget")))
        if job.configuration() != dict(configuration):
            raise InputError(
                f"this configuration was made by another version (engine {configuration.get('engine')}, here "
                f"{job.engine}): make the job anew"
            )
        return job

    @classmethod
    @abstractmethod
    def from_parts(cls, dynamics: Mapping[str, Any], records: Mapping[str, Any], budget: Mapping[str, Any]) -> Self:
        """The job that has these three parts."""

    @property
    def watches(self) -> tuple[Watch, Watch]:
        """The two milestones with the job's thresholds."""
        memorised = Watch("memorised", "train_error", self.memorised_at)
        return memorised, Watch("generalised", "test_error", self.generalised_at)

    @property
    def all_probes(self) -> tuple[AbstractProbe, ...]:
        """The probes of every run and those asked for, a column once."""
        return tuple({probe.column: probe for probe in (*ALWAYS, *self.probes)}.values())

    @cached_property
    def precision(self) -> str:
        """That of the problem, found once: it takes a trace."""
        return precision(self.problem)

    def check_parts(self) -> None:
        """Refuses probes and penalties that do not go with the problem."""
        # By the class: a method that is looked up on a record is a record itself, and takes 30 µs to make.
        for probe in self.all_probes:
            type(probe).check(probe, self.problem, self.penalty)
        if self.penalty is not None and type(self.penalty).check is not AbstractPenalty.check:
            self.penalty.check(self.problem.init())

    def check_fields(self) -> None:
        """Checks every field as it is declared, and what is asked of the problem."""
        check_all(self)
        if self.stop_at == "generalised" and not self.problem.has_test:
            raise InputError(
                f"stop_at='generalised' needs a test measure and {self.problem!r} has none: give it a truth"
            )

    def set(self, **values: Any) -> None:
        """Completes a field at construction."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


def _called(value: Any, names: Mapping[str, str]) -> Any:
    """JSON values with other names for functions in their texts."""
    if isinstance(value, dict):
        return {key: _called(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_called(item, names) for item in value]
    return _OWN_FUNCTION.sub(lambda mark: names[mark[0]], value) if isinstance(value, str) else value


def joined(whole: Any, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes of a job or record, those of its parts (`data.seed`) as whole parts."""
    flat = {path: value for path, value in changes.items() if "." not in path}
    nested: dict[str, dict[str, Any]] = {}
    for path, value in changes.items():
        name, dot, rest = path.partition(".")
        if dot:
            nested.setdefault(name, {})[rest] = value
    for name, values in nested.items():
        part = flat.get(name, getattr(whole, name, None))
        if not isinstance(part, Record):
            raise InputError(f"{name} is {part!r} and has no parameters: give {name} itself")
        flat[name] = part.but(**joined(part, values))
    return flat


def the_problem() -> Any:
    """The field of a job that holds its problem."""
    return record_of(AbstractProblem, "problem must be a problem record, not {kind}", note="what is learned")


def a_penalty(note: str = "what is preferred") -> Any:
    """The field of a job that holds its penalty, or None."""
    sentence = "penalty must be a penalty record such as L1(1e-5), not {kind}"
    return record_of(AbstractPenalty, sentence, default=None, note=note)


def an_event() -> Any:
    """The field of a job that says at which event it ends."""
    return choice(EVENTS, default=None, what="event", note="the event at which the run ends, if any")


def threshold(error: str) -> Any:
    """The field of a job that says at which error a milestone is reached."""
    return number(default=1e-3, above=0, note=f"the threshold on the {error} error")


def more_probes() -> Any:
    """The field of a job that holds what is measured beside the usual columns."""
    return own(lambda _, given: check_probes(given), default=(), note="what is measured beside the usual columns")


def preferred(weight_decay: float, penalty: AbstractPenalty | None) -> AbstractPenalty | None:
    """The penalty that was given, or that a weight decay is short for."""
    if weight_decay and penalty is not None:
        raise InputError("give weight_decay or penalty, not both: penalty=L2(weight_decay) is the same")
    weight_decay = check_number("weight_decay", weight_decay, least=0)
    return L2(weight_decay) if penalty is None and weight_decay > 0 else penalty


def check_probes(probes: AbstractProbe | Sequence[AbstractProbe]) -> tuple[AbstractProbe, ...]:
    """Probes that write different columns."""
    probes = (probes,) if isinstance(probes, AbstractProbe) else probes
    columns: dict[str, AbstractProbe] = {probe.column: probe for probe in ALWAYS}
    for probe in probes:
        if not isinstance(probe, AbstractProbe):
            raise InputError(f"probes must be probe records such as GradientRatio(), not {probe!r}")
        if probe.column in CLOCKS or columns.setdefault(probe.column, probe) != probe:
            raise InputError(
                f"two probes would write the column {probe.column!r}: leave one out, or name it differently"
            )
    return tuple(probes)


def read_parts(dynamics: Mapping[str, Any], records: Mapping[str, Any]) -> dict[str, Any]:
    """Problem, penalty, probes and thresholds, as every kind of job has them."""
    kept = ("memorised_at", "generalised_at", "records_per_decade")
    probes = [parse(text, PROBES, "probe") for text in records["probes"]]
    usual = {probe.text for probe in ALWAYS}
    return {
        "problem": parse(dynamics["problem"], PROBLEMS, "problem"),
        "penalty": None if dynamics["penalty"] is None else parse(dynamics["penalty"], PENALTIES, "penalty"),
        "probes": tuple(probe for probe in probes if probe.text not in usual),
    } | {name: records[name] for name in kept}
