"""A problem, method or penalty whose parameters axes change: some are given, the others come with the cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass
from typing import Any

from latebloom.core import fields
from latebloom.core.record import Record, concrete, parse, parsed
from latebloom.engine.job import joined
from latebloom.errors import InputError, check_choice, unknown_name
from latebloom.methods import TABLE as METHODS
from latebloom.penalties import TABLE as PENALTIES
from latebloom.penalties import Sum
from latebloom.probes import TABLE as PROBES
from latebloom.problems import TABLE as PROBLEMS

TABLES: dict[str, Mapping[str, type[Record]]] = {
    "problem": PROBLEMS,
    "method": METHODS,
    "penalty": PENALTIES,
    "probes": PROBES,
}
NONE = "none"  # no penalty, where it is one value of an axis


@dataclass(frozen=True, eq=False)
class Part:
    """A class of records with the values that are always the same; `record` instead, where one was given whole."""

    cls: type[Record]
    values: Mapping[str, Any]
    record: Record | None = None

    def build(self, changes: Mapping[str, Any]) -> Record:
        """The record with these changes, by name or by path: `strength`, `data.seed`."""
        if self.record is not None:
            return self.record.but(**joined(self.record, changes)) if changes else self.record
        flat = {name: value for name, value in changes.items() if "." not in name}
        deep = {name: value for name, value in changes.items() if "." in name}
        made = self.cls.build({**self.values, **flat})
        return made.but(**joined(made, deep)) if deep else made

    def field(self, path: str) -> Field[Any] | None:
        """The parameter at a path; None where that depends on another axis, an error where there is none."""
        return _field(self.cls, self.record, self.values, path)


def part_of(kind: str, given: Any, later: Mapping[str, Any]) -> Part | None:
    """The part that a text, a record, or its plain form gives; parameters in `later` may be missing."""
    if given is None or (kind == "penalty" and given == NONE):
        return None
    if isinstance(given, str):
        names = {path.partition(".")[0] for path in later}
        return Part(*parsed(given, TABLES[kind], kind, later=names))
    record = record_of(kind, given)
    return Part(type(record), {}, record)


def record_of(kind: str, given: Any) -> Any:
    """A record as it is, from its text, from its plain form; the sum of several penalties."""
    if isinstance(given, Record):
        return given
    if isinstance(given, str):
        return None if kind == "penalty" and given == NONE else parse(given, TABLES[kind], kind)
    if isinstance(given, Mapping):
        name = check_choice(kind, str(given.get("record")), TABLES[kind])
        return TABLES[kind][name].from_plain(given)
    if kind == "penalty" and isinstance(given, list | tuple) and given:
        return Sum(*(record_of(kind, one) for one in given))
    raise InputError(f"{kind} is {given!r}: write its text, e.g. {kind} = {_example(kind)!r}")


def checked_value(field: Field[Any] | None, path: str, value: Any) -> Any:
    """A value of an axis as its parameter keeps it, refused where it is out of range."""
    if field is None:
        return value
    if field.metadata.get("kind") == "record" and isinstance(value, str):
        base = field.metadata["base"]
        return parse(value, concrete(base), path)
    return fields.checked(field, value)


def _field(cls: type[Record], record: Record | None, values: Mapping[str, Any], path: str) -> Field[Any] | None:
    name, dot, rest = path.partition(".")
    known = {fields.given_name(field): field for field in fields.parameters(cls)}
    if name not in known:
        if any(field.metadata.get("kind") == fields.OPTIONS for field in known.values()) and not dot:
            return None
        raise unknown_name(f"parameter of {cls.name()}", name, known)
    if not dot:
        return known[name]
    inner = values.get(name, getattr(record, known[name].name, None) if record is not None else known[name].default)
    if inner is MISSING or inner is None:
        return None
    if not isinstance(inner, Record):
        raise InputError(f"{name} of {cls.name()} is {inner!r} and has no parameters: give {name} itself")
    return _field(type(inner), inner, {}, rest)


def _example(kind: str) -> str:
    return {"problem": "sparse_recovery", "method": "gradient_descent[0.1]", "penalty": "l1[1e-5]"}.get(kind, "…")
