"""A sweep as a value: a job, what is varied in it, and a name; its cells are made one by one, as they are asked for."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any

from latebloom.core.json import plain
from latebloom.core.record import Record
from latebloom.engine.grid import name_of_cell
from latebloom.engine.job import AbstractJob
from latebloom.errors import InputError, LatebloomError
from latebloom.sweeps.axes import MOST, read_axis, values_at
from latebloom.sweeps.template import FORMULAS, Template, concerning

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")


@dataclass(frozen=True)
class Cell:
    """One combination of values; `why` says why there is no job for it."""

    number: int
    values: dict[str, Any]
    job: AbstractJob | None
    why: str = ""

    @property
    def name(self) -> str:
        """The values by their short names: `learning_rate=0.1, seed=0`."""
        return name_of_cell(self.values)

    @cached_property
    def key(self) -> str | None:
        """The id under which the cell's run is stored."""
        return None if self.job is None else self.identified.key

    @cached_property
    def identified(self) -> AbstractJob:
        """The job as a store knows it."""
        assert self.job is not None
        return self.job if self.job.portable else self.job.identified


class Sweep:
    """A job for every combination of the axes' values, the last axis first, as `lb.grid` has them.

    An axis is a field of the job (`steps`), of one of its parts (`method.learning_rate`), or a part (`penalty`); its
    values are a list, or `{"from": 0.01, "to": 0.1, "count": 5, "scale": "log"}`. A formula gives a number that
    depends on them. Computed numbers have twelve digits, so that every machine makes the same keys.

    >>> import latebloom as lb
    >>> problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12)
    >>> job = lb.TrainJob(problem, lb.GradientDescent(0.1), lb.L1(1e-3), steps=1)
    >>> axes = {"method.learning_rate": [0.1, 0.05], "problem.seed": {"from": 0, "to": 2}}
    >>> sweep = Sweep(job, axes, name="rates", formulas={"steps": "100 / learning_rate"})
    >>> len(sweep), sweep.cell(3).values, sweep.cell(3).job.steps
    (6, {'method.learning_rate': 0.05, 'problem.seed': 0}, 2000)
    """

    def __init__(
        self, job: AbstractJob, axes: Mapping[str, Any], *, name: str, formulas: Mapping[str, str] | None = None
    ):
        if not isinstance(job, AbstractJob):
            raise InputError(f"a sweep varies a TrainJob, FlowJob or SlowFlowJob, not {type(job).__name__}")
        given = {field.name: getattr(job, field.name) for field in fields(job)}  # type: ignore[arg-type]
        given = {key: value for key, value in given.items() if key not in (*(formulas or {}), *axes)}
        self._read({"name": name, "kind": job.kind, **given, FORMULAS: dict(formulas or {}), "axes": dict(axes)})

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Sweep:
        """The sweep of a document: what a file holds, or what `document` gave."""
        sweep = cls.__new__(cls)
        sweep._read(document)
        return sweep

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Sweep:
        """The sweep that a TOML file describes; what is wrong in it is said with its line."""
        from latebloom.sweeps.file import read_file

        return read_file(path)

    def _read(self, document: Mapping[str, Any]) -> None:
        self._given = dict(document)
        with concerning("name"):
            self.name = _checked_name(document.get("name"))
        axes = document.get("axes", {})
        with concerning("axes"):
            if not isinstance(axes, Mapping) or not axes:
                raise InputError("a sweep needs axes: what is varied, and the values it takes")
        told = {key: value for key, value in document.items() if key not in ("name", "axes")}
        self._template = Template(told, list(axes))
        self.axes: dict[str, Sequence[Any]] = {}
        for path, values in axes.items():
            with concerning("axes", path):
                read = read_axis(path, self._template.records(path, values))
                self.axes[path] = self._template.values(path, read)
        self._sizes = [len(values) for values in self.axes.values()]
        self._count = math.prod(self._sizes)
        with concerning("axes"):
            if self._count > MOST:
                raise InputError(f"a sweep of {self._count:,} cells: at most {MOST:,}; shorten an axis")

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        told = " x ".join(f"{len(values)} {path}" for path, values in self.axes.items())
        return f"<Sweep {self.name}: {self._template.cls.kind}, {told}>"

    def values(self, number: int) -> dict[str, Any]:
        """The values of a cell by the paths of the axes."""
        if not 0 <= number < self._count:
            raise InputError(f"cell {number} of {self._count:,}: they are numbered from 0")
        return values_at(self.axes, number)

    def cell(self, number: int) -> Cell:
        """One cell, whatever their number."""
        values = self.values(number)
        try:
            return Cell(number, values, self._template.job(values))
        except LatebloomError as error:
            return Cell(number, values, None, str(error))

    def cells(self, numbers: Sequence[int] | None = None) -> Iterator[Cell]:
        """These cells, or all."""
        return (self.cell(number) for number in (range(self._count) if numbers is None else numbers))

    @property
    def kind(self) -> str:
        """What its cells are: train, flow or slow_flow."""
        return self._template.cls.kind

    @property
    def clock(self) -> str:
        """What its runs count."""
        return self._template.cls.clock

    @cached_property
    def document(self) -> dict[str, Any]:
        """The sweep as JSON, from which another process reads it; refused for functions of this process."""
        return {name: _to_json(value, name) for name, value in self._given.items()}

    @cached_property
    def text(self) -> str:
        """The document in one line."""
        return json.dumps(self.document, sort_keys=True, ensure_ascii=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sweep) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


@lru_cache(8)
def read_text(text: str) -> Sweep:
    """The sweep of a document in one line, read once for all shards of it."""
    return Sweep.read(json.loads(text))


def _to_json(value: Any, name: str) -> Any:
    if isinstance(value, Record):
        return value.to_plain()
    if isinstance(value, range):
        return {"from": value[0], "to": value[-1]} if len(value) and value.step == 1 else list(value)
    if isinstance(value, Mapping):
        return {str(key): _to_json(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(item, name) for item in value]
    return plain(value, name, lossless=True)


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise InputError(f"name={name!r} is not allowed: a sweep's name is of letters, digits, '-', '_' and '.'")
    return name
