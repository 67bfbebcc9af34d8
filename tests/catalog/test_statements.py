"""The registers: every statement has a claim or a reason, every claim a statement."""

from __future__ import annotations

import pytest

from latebloom.catalog import ENTRIES, REGISTERS
from latebloom.catalog.statements import (
    CHECKED,
    OPEN,
    STATES,
    UNCHECKABLE,
    Register,
    Statement,
    stated,
    unknown,
    unregistered,
)

MINE = Register(
    "mine",
    "beyond-l2",
    "Mine",
    (
        stated("Figure 3", "It groks.", "fig3/grokking", "geometry/fig1/floor"),
        stated("Figure 4", "It is proportional.", "fig4/inverse-law", partly="one draw"),
        stated("Section 1", "A definition.", because="a definition"),
        stated("Section 9", "Something else."),
    ),
)


def test_a_statement_is_checked_in_part_not_checkable_or_not_covered():
    assert [row.state for row in MINE.statements] == ["checked", "in part", "not checkable", "not covered"]
    assert MINE.counts == dict.fromkeys(STATES, 1)
    assert MINE.share == pytest.approx(1 / 3)
    told = MINE.to_json()
    assert (told["statements"], told["checked"], told["not_covered"]) == (4, 1, 1)
    assert told["list"][0]["claims"] == ["beyond-l2/fig3/grokking", "geometry/fig1/floor"]
    assert told["list"][1]["reason"] == "one draw"


@pytest.mark.parametrize(
    "given", [{"claims": ("a/b",), "because": "a definition"}, {"partly": "one draw"}], ids=["both", "nothing"]
)
def test_a_row_that_contradicts_itself_is_refused(given):
    with pytest.raises(TypeError, match="Section 1"):
        Statement("Section 1", "Something.", **given)


def test_what_is_missing_is_named():
    assert "beyond-l2/fig3/grokking" not in unregistered([MINE], ENTRIES)
    assert "beyond-l2/fig3/memorises-first" in unregistered([MINE], ENTRIES)
    assert not unknown([MINE], ENTRIES)
    wrong = Register("x", "beyond-l2", "X", (stated("Figure 3", "It groks.", "fig3/groks"),))
    assert unknown([wrong], ENTRIES) == ["Figure 3: beyond-l2/fig3/groks"]


def test_statements_name_claims_that_there_are():
    assert not unknown(list(REGISTERS.values()), ENTRIES)


def test_every_claim_is_named_by_a_statement():
    missing = unregistered(list(REGISTERS.values()), ENTRIES)
    assert not missing, "name them in their paper's register"


@pytest.mark.parametrize("register", REGISTERS.values(), ids=REGISTERS)
def test_every_statement_has_a_claim_or_a_reason(register):
    assert register.statements
    assert not [row.place for row in register.statements if row.state == OPEN]
    texts = [(row.place, row.text) for row in register.statements]
    assert len(set(texts)) == len(texts), "a statement stands twice"
    for row in register.statements:
        assert row.text.endswith("."), row.text
        assert len(set(row.claims)) == len(row.claims), row.place


def test_nearly_all_that_can_be_checked_is_checked_as_printed():
    rows = [row for register in REGISTERS.values() for row in register.statements]
    able = [row for row in rows if row.state != UNCHECKABLE]
    assert sum(row.state == CHECKED for row in able) / len(able) >= 0.95
