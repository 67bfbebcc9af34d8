"""What all cells of a sweep have in common, and how a cell's values make a job of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from latebloom.core import fields
from latebloom.core.formula import Formula
from latebloom.core.record import Record
from latebloom.core.spacing import short
from latebloom.engine.job import AbstractJob
from latebloom.engine.training import TrainJob
from latebloom.errors import InputError, LatebloomError, check_choice, unknown_name
from latebloom.flows.gradient.job import FlowJob
from latebloom.flows.slow.job import SlowFlowJob
from latebloom.sweeps.axes import whole_numbers
from latebloom.sweeps.own_problem import OwnProblem, names_a_function
from latebloom.sweeps.parts import TABLES, Part, checked_value, part_of, record_of

KINDS: dict[str, type[AbstractJob]] = {job.kind: job for job in (TrainJob, FlowJob, SlowFlowJob)}
ARGUMENTS = "problem_arguments"  # what a function that makes the problem is always given
FORMULAS = "formulas"
FOLDER = "folder"  # where the sweep's file is, and a module beside it
HELD = 64  # problems, methods and penalties that are kept for the cells to come
WHOLE = ("count", "seed")
_NOT_GIVEN = object()


@contextmanager
def concerning(*keys: str) -> Iterator[None]:
    """An error within the block is about this key of the sweep, by which a file finds its line."""
    try:
        yield
    except LatebloomError as error:
        if not hasattr(error, "keys"):
            error.keys = keys  # type: ignore[attr-defined]
        raise


class Template:
    """A kind of job, its parts, its own fields, and formulas for what depends on the axes."""

    def __init__(self, given: Mapping[str, Any], axes: Sequence[str]):
        with concerning("kind"):
            self.cls = KINDS[check_choice("kind of run", str(given.get("kind")), KINDS)]
        self.given = {name: value for name, value in given.items() if value is not None or name in TABLES}
        self.fields = {fields.given_name(field): field for field in fields.parameters(self.cls)}
        self.names = [name for name in self.fields if name in TABLES and name != "probes"]
        self._check_names(given, axes)
        self.parts = {name: self._part(name, axes) for name in self.names}
        self.own: dict[str, Any] = {}
        self.formulas: dict[str, _Computed] = {}
        for name, value in self.given.items():
            if name in self.fields and name not in self.names:
                self._read_field(name, value, axes)
        for path, text in given.get(FORMULAS, {}).items():
            with concerning(FORMULAS, path):
                self.formulas[path] = _Computed(text, self.kind_at(path), axes)
        self._check_whole(axes)
        self._built = lru_cache(HELD)(self._build)

    def job(self, values: Mapping[str, Any]) -> AbstractJob:
        """The job of a cell; an error in a sentence where there can be none."""
        own, whole = dict(self.own), {}
        changes: dict[str, dict[str, Any]] = {name: {} for name in self.names}
        for path, value in [*values.items(), *((path, formula(values)) for path, formula in self.formulas.items())]:
            head, dot, rest = path.partition(".")
            if dot:
                changes[head][rest] = value
            else:
                (whole if head in self.names else own)[head] = value
        for name in self.names:
            own[name] = self._built(name, whole.get(name, _NOT_GIVEN), tuple(changes[name].items()))
        return self.cls(**own)

    def values(self, path: str, values: Sequence[Any]) -> Sequence[Any]:
        """The values of an axis as its parameter takes them, each within its range."""
        if path in self.names:
            return values
        if path.partition(".")[0] == "problem" and isinstance(self.parts["problem"], OwnProblem):
            self.parts["problem"].check(path.partition(".")[2])
            return values
        field = self.field(path)
        if field is None:
            return values
        if field.metadata.get("kind") in WHOLE:
            values = whole_numbers(path, values)
        if isinstance(values, range):
            checked_value(field, path, values[0])
            checked_value(field, path, values[-1])
            return values
        return tuple(checked_value(field, path, value) for value in values)

    def records(self, path: str, given: Any) -> Any:
        """What is given for an axis, with records for their plain forms."""
        if path not in self.names or not isinstance(given, list | tuple):
            return given
        return [record_of(path, value) if isinstance(value, Mapping | list) else value for value in given]

    def field(self, path: str) -> dataclasses.Field[Any] | None:
        """The parameter that a path names; None where that depends on another axis."""
        head, dot, rest = path.partition(".")
        if not dot:
            return self.fields[head]
        part = self.parts[head]
        return part.field(rest) if isinstance(part, Part) else None

    def kind_at(self, path: str) -> str:
        """What kind of value a formula at this path gives."""
        if path.partition(".")[0] not in self.fields:
            raise unknown_name(f"field of a {self.cls.kind} sweep", path.partition(".")[0], self.fields)
        field = self.field(path)
        kind = "number" if field is None else field.metadata.get("kind", "")
        if kind not in ("number", *WHOLE):
            raise InputError(f"{path} is no number: give its value instead of a formula")
        return kind

    def _build(self, name: str, whole: Any, changes: tuple[tuple[str, Any], ...]) -> Any:
        """The part of a cell; cells that are near each other share most of theirs."""
        part = self.parts[name] if whole is _NOT_GIVEN else part_of(name, whole, dict(changes))
        if part is None:
            if changes:
                raise InputError(f"there is no {name} that could have a {changes[0][0]}")
            return None
        return part.build(dict(changes))

    def _part(self, name: str, axes: Sequence[str]) -> Part | OwnProblem | None:
        """The problem, method or penalty of all cells, where no axis gives it whole."""
        given = self.given.get(name)
        if name == "problem" and names_a_function(given):
            return OwnProblem(str(given), str(self.given.get(FOLDER, "")), self.given.get(ARGUMENTS) or {})
        if ARGUMENTS in self.given and name == "problem":
            with concerning(ARGUMENTS):
                raise InputError(f"{ARGUMENTS} are for a problem that a function makes, 'mymodule:make_problem'")
        paths = [*axes, *(self.given.get(FORMULAS) or {})]
        later = dict.fromkeys(path.partition(".")[2] for path in paths if path.startswith(f"{name}."))
        with concerning(name):
            return part_of(name, record_of(name, given) if isinstance(given, list | tuple) else given, later)

    def _read_field(self, name: str, value: Any, axes: Sequence[str]) -> None:
        with concerning(name):
            kind = self.fields[name].metadata.get("kind")
            if isinstance(value, str) and kind in ("number", "count"):
                self.formulas[name] = _Computed(value, kind, axes)
            elif name == "probes":
                listed = [value] if isinstance(value, str | Record) else value
                self.own[name] = fields.checked(self.fields[name], [record_of("probes", one) for one in listed])
            else:
                self.own[name] = fields.checked(self.fields[name], value)

    def _check_names(self, given: Mapping[str, Any], axes: Sequence[str]) -> None:
        for name in given:
            if name not in (*self.fields, "kind", FORMULAS, ARGUMENTS, FOLDER):
                with concerning(name):
                    raise _unknown_field(self.cls.kind, name, self.fields)
        for path in axes:
            with concerning("axes", path):
                self._check_path(path)

    def _check_path(self, path: str) -> None:
        head, dot, _ = path.partition(".")
        if head not in self.fields or (dot and head not in self.names) or head == "probes":
            known = [name for name in self.fields if name not in (*self.names, "probes")]
            known += [f"{name}.{_given(field)}" for name in self.names for field in self._parameters(name)]
            raise unknown_name("axis", path, known)

    def _parameters(self, name: str) -> Sequence[Any]:
        """The parameters of a part, to tell of; none where its text cannot be read, which is told elsewhere."""
        try:
            part = self._part(name, [])
        except LatebloomError:
            text = str(self.given.get(name)).partition("[")[0].strip().replace("-", "_")
            return fields.parameters(TABLES[name][text]) if text in TABLES[name] else ()
        return fields.parameters(part.cls) if isinstance(part, Part) else ()

    def _check_whole(self, axes: Sequence[str]) -> None:
        """Refuses a template that lacks what every job has, or says something twice."""
        for name, field in self.fields.items():
            given = name in (*axes, *self.formulas, *self.own) or self.parts.get(name) is not None
            if field.default is dataclasses.MISSING and not given:
                raise InputError(f"a {self.cls.kind} sweep needs {name}: write {name} = …, or an axis of it")
        for path in self.formulas:
            if path in axes:
                with concerning("axes", path):
                    raise InputError(f"{path} is an axis and has a formula: leave one out")


class _Computed:
    """A formula for a parameter, in the names of axes."""

    def __init__(self, text: str, kind: str, axes: Sequence[str]):
        self.formula, self.kind = Formula(text), kind
        self.paths = {name: _axis_named(name, axes, text) for name in self.formula.names}

    def __call__(self, values: Mapping[str, Any]) -> Any:
        found = self.formula({name: values[path] for name, path in self.paths.items()})
        return round(found) if self.kind in WHOLE else short(found)


def _axis_named(name: str, axes: Sequence[str], text: str) -> str:
    """The axis that a formula means: by its path, or by the end of it where no other ends alike."""
    if name in axes:
        return name
    ends = [path for path in axes if path.endswith(f".{name}")]
    if len(ends) > 1:
        raise InputError(f"{name} in {text!r} may be {' or '.join(ends)}: write it in full")
    if not ends:
        raise unknown_name(f"axis in {text!r}", name, axes)
    return ends[0]


def _unknown_field(kind: str, name: str, known: Mapping[str, Any]) -> LatebloomError:
    if name == "weight_decay":
        return InputError('weight_decay is the strength of a penalty: write penalty = "l2[1e-4]", or an axis '
                          '"penalty.strength" beside penalty = "l2"')  # fmt: skip
    return unknown_name(f"field of a {kind} sweep", name, [*known, "kind", "name", "axes", FORMULAS, ARGUMENTS])


def _given(field: dataclasses.Field[Any]) -> str:
    return fields.given_name(field)
