"""Parameters are declared once: laws over every class of records, read off the declarations."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from cases import METHODS, OTHERS, PENALTIES, PROBES, PROBLEMS, completion, sparse

import latebloom as lb
from latebloom import methods, penalties, probes, problems
from latebloom.core import fields
from latebloom.core.record import Record, concrete, parse
from latebloom.errors import CapabilityError, InputError, UnknownNameError
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
RECORDS: dict[str, Record] = {
    **{f"penalty {case}": case.penalty for case in PENALTIES},
    **{f"method {case}": case.method for case in METHODS},
    **{f"problem {case}": case.problem for case in PROBLEMS},
    **{f"probe {probe.column}": probe for probe in PROBES},
    **OTHERS,
}
OF_FUNCTIONS = {key: record for key, record in RECORDS.items() if isinstance(record, problems.LeastSquares)}
PLAIN = [pytest.param(record, id=key) for key, record in RECORDS.items() if key not in OF_FUNCTIONS]
READABLE = [pytest.param(record, id=key) for key, record in RECORDS.items() if "#" not in record.text]
ONE_OF_EACH = {type(record): record for record in RECORDS.values()}


def table_of(record: Record) -> dict[str, type[Record]]:
    return next(table for base, table in TABLES.items() if isinstance(record, base))


def assert_same(mine: Record, its: Record) -> None:
    """Equal in configuration, structure and every leaf."""
    assert mine == its
    assert jax.tree.structure(mine) == jax.tree.structure(its)
    for one, other in zip(jax.tree.leaves(mine), jax.tree.leaves(its), strict=True):
        np.testing.assert_array_equal(one, other)


def signatures() -> dict[str, list[str]]:
    """The positional parameters of every class in their order, and then the others by name."""

    def listed(cls: type[Record]) -> list[str]:
        given = inspect.signature(cls).parameters.values()
        named = sorted(p.name for p in given if p.kind is p.KEYWORD_ONLY)
        return [str(p).partition(":")[0] for p in given if p.kind is not p.KEYWORD_ONLY] + [f"{n}=" for n in named]

    return {cls.__name__: listed(cls) for cls in CLASSES}


def test_calls_are_the_ones_kept():
    """Positional order is what users have typed: `python tests/core/test_fields.py` writes it anew."""
    assert signatures() == json.loads(KEPT.read_text())


def test_every_class_has_a_case():
    assert set(CLASSES) == set(ONE_OF_EACH)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_class_declares_and_has_no_constructor_of_its_own(cls):
    assert cls.__init__ is Record.__init__
    for parameter in fields.describe(cls):
        assert parameter.kind, f"{parameter.name} is not declared by a helper of core/fields"
        assert parameter.note, f"{parameter.name} has no note"
        assert parameter.name != "record", "to_plain needs that word for the class"


@pytest.mark.parametrize("record", READABLE)
def test_a_text_is_read_back(record):
    assert_same(parse(record.text, table_of(record), "record"), record)


@pytest.mark.parametrize("record", PLAIN)
def test_a_plain_form_is_read_back(record):
    plain = json.loads(json.dumps(record.to_plain(), allow_nan=False))
    base = next(base for base in TABLES if isinstance(record, base))
    assert_same(base.from_plain(plain), record)


@pytest.mark.parametrize("record", [pytest.param(record, id=key) for key, record in RECORDS.items()])
def test_nothing_changed_is_the_same_record(record):
    assert_same(record.but(), record)


@pytest.mark.parametrize("record", OF_FUNCTIONS.values(), ids=OF_FUNCTIONS.keys())
def test_a_function_has_no_plain_form(record):
    with pytest.raises(CapabilityError, match=r"LeastSquares has no plain form: its residuals is a function of this"):
        record.to_plain()


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
    with pytest.raises(TypeError, match="SparseRecovery: got an unexpected keyword argument 'design'"):
        lb.problems.SparseRecovery(design=np.eye(3))


def test_what_is_missing_is_named():
    with pytest.raises(TypeError, match="L1: missing a required argument: 'strength'"):
        lb.L1()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="L1: too many positional arguments"):
        lb.L1(0.1, 0.2)  # type: ignore[call-arg]


def test_but_changes_what_is_named():
    assert completion().but(rank=1, width=3, depth=2) == completion(rank=1, width=3)
    assert lb.Optax("adam", 0.1, b1=0.8).but(b1=0.7, b2=0.9) == lb.Optax("adam", 0.1, b1=0.7, b2=0.9)
    assert lb.OnParts(lb.L1(0.1), "a").but(parts=("b", "c")) == lb.OnParts(lb.L1(0.1), "b", "c")
    with pytest.raises(UnknownNameError, match="unknown parameter of sparse_recovery 'sparcity': did you mean 'spars"):
        sparse().but(sparcity=3)
    with pytest.raises(InputError, match="observed=31 is more than the 30 entries"):
        completion().but(observed=31)


def test_a_seed_that_follows_goes_on_following():
    net = lb.problems.ModularNet(7, 24)
    assert net.but(seed=3) == lb.problems.ModularNet(7, 24, seed=3)
    assert net.but(seed=3).init_seed == 3
    apart = lb.problems.ModularNet(7, 24, init_seed=5)
    assert apart.but(seed=3) == lb.problems.ModularNet(7, 24, seed=3, init_seed=5)


def test_entries_are_the_same_in_any_order():
    entries, observed = [(1, 0), (0, 0), (0, 1)], [3.0, 1.0, 2.0]
    mine = lb.problems.ObservedEntries((2, 2), entries, observed)
    assert mine.but() == mine == lb.problems.ObservedEntries((2, 2), entries[::-1], observed[::-1])


def test_infinity_has_a_plain_form():
    quiet = sparse(signal_to_noise=math.inf)
    assert quiet.to_plain()["signal_to_noise"] == "inf"
    assert Record.from_plain(quiet.to_plain()) == quiet


def test_an_unknown_plain_form_is_refused():
    with pytest.raises(UnknownNameError, match="unknown record 'l_1': did you mean 'l1'"):
        penalties.AbstractPenalty.from_plain({"record": "l_1", "strength": 0.1})


def test_arrays_are_typed_as_tuples_and_digests_are_refused():
    typed = parse("weighted_l2[0.1,weights=(1 2.5 3)]", penalties.TABLE, "penalty")
    assert typed == lb.WeightedL2(0.1, [1.0, 2.5, 3.0])
    assert parse(typed.text, penalties.TABLE, "penalty") == typed
    many = lb.WeightedL2(0.1, np.linspace(0.0, 1.0, 65))  # more than a text carries
    with pytest.raises(InputError, match=r"weights=#[0-9a-f]{12} is the digest of an array, not the array: give"):
        parse(many.text, penalties.TABLE, "penalty")


@pytest.mark.parametrize("parts", [("a b",), ("it's", 'a "b"'), ("x,y", "u=v", "(p)", "[q]"), ("true", "1e3")], ids=str)
def test_names_of_parts_are_read_back_whatever_they_are(parts):
    record = lb.OnParts(lb.L1(0.1), *parts)
    assert_same(parse(record.text, penalties.TABLE, "penalty"), record)


def test_a_name_given_by_place_and_by_name_is_refused():
    with pytest.raises(InputError, match=r"cannot build penalty .*: strength is given by place and by name"):
        parse("l1[0.1,strength=0.2]", penalties.TABLE, "penalty")
    with pytest.raises(InputError, match=r"cannot build penalty .*: strength is given twice"):
        parse("l1[strength=0.1,strength=0.2]", penalties.TABLE, "penalty")


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


def test_a_class_of_a_users_own_may_have_a_constructor():
    class Mine(penalties.AbstractPenalty):
        size: Any

        def __init__(self, size: float):
            self.size = 2 * size

        def value(self, params):
            return self.size

        def subgradient(self, params):
            return params

        @property
        def strengths(self):
            return ()

    assert Mine(1.5).text == "mine[size=3]"
    assert list(inspect.signature(Mine).parameters) == ["size"]


def test_a_slip_in_a_declaration_is_refused():
    with pytest.raises(TypeError, match="a count is not declared with statik"):
        fields.count(default=3, statik=True)


def test_declaring_loads_no_jax():
    code = "import sys, latebloom.core.fields, latebloom.core.reading; print('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


if __name__ == "__main__":
    KEPT.write_text(json.dumps(signatures(), indent=1) + "\n")
