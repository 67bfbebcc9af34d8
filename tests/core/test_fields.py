"""Parameters are declared once: laws over every class of records, read off the declarations."""

from __future__ import annotations

import dataclasses
import inspect
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cases import RECORDS

import latebloom as lb
from latebloom import methods, penalties, probes, problems
from latebloom.core import fields
from latebloom.core.record import Record, concrete
from latebloom.errors import CapabilityError, InputError
from latebloom.problems.data.labelled_points import AbstractPoints
from latebloom.problems.data.modular import ModularTable

KEPT = Path(__file__).with_name("signatures.json")
TABLES = {
    penalties.AbstractPenalty: penalties.TABLE,
    methods.AbstractMethod: methods.TABLE,
    probes.AbstractProbe: probes.TABLE,
    problems.AbstractProblem: problems.TABLE,
    AbstractPoints: concrete(AbstractPoints),
}
CLASSES = [cls for table in TABLES.values() for cls in table.values()]
ONE_OF_EACH = {type(record): record for record in RECORDS.values()}


def signatures() -> dict[str, list[str]]:
    """The positional parameters of every class in their order, and then the others by name."""

    def listed(cls: type[Record]) -> list[str]:
        given = inspect.signature(cls).parameters.values()
        named = sorted(p.name for p in given if p.kind is p.KEYWORD_ONLY)
        return [str(p).partition(":")[0] for p in given if p.kind is not p.KEYWORD_ONLY] + [f"{n}=" for n in named]

    return {cls.__name__: listed(cls) for cls in CLASSES}


def test_calls_are_the_ones_kept(kept):
    """Positional order is what users have typed: `pytest tests/core/test_fields.py --keep` writes it anew."""
    kept(KEPT, signatures())


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_class_declares_and_has_no_constructor_of_its_own(cls):
    assert cls.__init__ is Record.__init__
    for parameter in fields.describe(cls):
        assert parameter.kind, f"{parameter.name} is not declared by a helper of core/fields"
        assert parameter.note, f"{parameter.name} has no note"
        assert parameter.name != "record", "to_plain needs that word for the class"


def outside(parameter: fields.Parameter) -> list[float]:
    """Numbers just outside of a range."""
    step = 1 if parameter.kind == "count" else 1e-9
    limits = parameter.limits
    beyond = [limits["least"] - step] if "least" in limits else []
    beyond += [limits["most"] + step] if "most" in limits else []
    return beyond + [limits[key] for key in ("above", "below") if key in limits]


REFUSED = [
    pytest.param(record, parameter.name, value, id=f"{record.name()}-{parameter.name}-{value}")
    for record in ONE_OF_EACH.values()
    for parameter in fields.describe(type(record))
    for value in (*outside(parameter), *([math.nan, "much"] if parameter.kind in ("count", "number") else []))
]


@pytest.mark.parametrize(("record", "name", "value"), REFUSED)
def test_what_is_out_of_range_is_refused(record, name, value):
    with pytest.raises(InputError, match=rf"^{name}(={value!r} is not allowed| must be a number)"):
        record.but(**{name: value})


WRONG = {"choice": "no such thing", "flag": 1, "seed": -1, "text": 3, "record": 3, "array": [math.inf], "shape": "x"}


@pytest.mark.parametrize(
    ("record", "name", "wrong"),
    [
        pytest.param(record, parameter.name, WRONG[parameter.kind], id=f"{record.name()}-{parameter.name}")
        for record in ONE_OF_EACH.values()
        for parameter in fields.describe(type(record))
        if parameter.kind in WRONG and parameter.name != "chosen"
    ],
)
def test_what_is_of_another_kind_is_refused(record, name, wrong):
    with pytest.raises((InputError, CapabilityError), match=r": |, or |must be"):
        record.but(**{name: wrong})


def test_what_is_derived_cannot_be_given():
    for record in ONE_OF_EACH.values():
        derived = [f.name for f in dataclasses.fields(record) if f.metadata.get("derived")]
        assert not set(derived) & set(inspect.signature(type(record)).parameters)
    with pytest.raises(TypeError, match="SparseRecovery has no argument 'design'"):
        lb.problems.SparseRecovery(design=np.eye(3))


def test_what_is_missing_is_named():
    with pytest.raises(TypeError, match="L1: missing a required argument: 'strength'"):
        lb.L1()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="L1 takes 1 value by place, not 2"):
        lb.L1(0.1, 0.2)  # type: ignore[call-arg]


def test_a_record_is_described_for_listings():
    rank, *_ = (p for p in fields.describe(problems.MatrixCompletion) if p.name == "rank")
    assert (rank.default, rank.allowed, rank.note) == (2, "finite and at least 1", "r, of the truth")
    (basis,) = (p for p in fields.describe(problems.MatrixCompletion) if p.name == "basis")
    assert basis.allowed == "identity, random"
    assert fields.describe(lb.L1)[0].default is dataclasses.MISSING


def test_the_helpers_serve_plain_dataclasses():
    @dataclasses.dataclass(frozen=True)
    class Settings:
        rates: tuple[float, ...] = fields.numbers(default=(0.1, 1), above=0, note="η")
        steps: int = fields.count(default=100, note="how many")
        __post_init__ = fields.check_all

    assert Settings(rates=[1, 2], steps=5.0).rates == (1.0, 2.0)
    assert isinstance(Settings(steps=5.0).steps, int)
    with pytest.raises(InputError, match="rates=-1 is not allowed: rates must be finite and above 0"):
        Settings(rates=(0.1, -1))
    with pytest.raises(InputError, match="rates must be a tuple of numbers"):
        Settings(rates=0.1)
    assert [p.name for p in fields.describe(ModularTable)] == ["modulus", "operation", "ordered", "train_share", "seed"]


def test_a_slip_in_a_declaration_is_refused():
    with pytest.raises(TypeError, match="a count is not declared with statik"):
        fields.count(default=3, statik=True)


def test_declaring_loads_no_jax():
    code = "import sys, latebloom.core.fields, latebloom.core.reading; print('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
