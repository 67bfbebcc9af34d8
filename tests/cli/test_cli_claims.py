"""The claims as a student reads them: number, unit, bound; findings apart from what holds; nothing too wide."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from latebloom import catalog
from latebloom.catalog.bounds import at_least, at_most, each, holds, within
from latebloom.catalog.claims import Claim, Reads
from latebloom.catalog.reproduction import Verdict
from latebloom.cli.claims import claim_lines, columns, measured, summary

RATIO = Reads("t2 predicted / measured", "within {by:.0%} of 1", lambda gap: 1 + gap)
NEAR = holds("predicted over measured t2 within {by:.0%} of 1", by=0.01)


AT_MOST_ONE = at_most(1)


def verdict(value: Any, bound: Any = AT_MOST_ONE, quantity: Any = "error,", **more: Any) -> Verdict:
    good, documented, draws = more.pop("good", True), more.pop("documented", True), more.pop("draws", 1)
    claim = Claim("an-id", "It is said.", "Section 1", quantity, bound, lambda e: value, **more)
    return Verdict(claim, value, good, int(bool(good)), draws, documented, draws)


FAILS: dict[str, Any] = {"good": False, "documented": False}
SAID = {
    "t1 in steps, at 1e-3: 59, between 40 and 90": verdict(59, within(40, 90), "t1 in steps, at 1e-3,"),
    "error: 2, not at most 1": verdict(2, fails="it is large", **FAILS),
    "error: 0.5 … 0.9, each at most 1": verdict([0.5, 0.7, 0.8, 0.9, 0.6], each(at_most(1))),
    "t2 predicted / measured: 0.9994, within 1% of 1": verdict(-0.0006, NEAR, "", reads=RATIO),
    "measured predicted 10, measured none; condition: predicted over measured t2 within 1% of 1": verdict(
        {"predicted": 10, "measured": None}, NEAR, "", reads=RATIO
    ),
    "measured 0.9; condition not met: the ratio falls": verdict(0.9, holds("the ratio falls"), "", good=False),
    "this draw has not generalised": verdict("this draw has not generalised", good=None),
    "measured: none, not at least 3": verdict(None, at_least(3), "", good=False),
}


@pytest.mark.parametrize("words", SAID)
def test_a_number_has_its_name_and_its_bound(words):
    assert measured(SAID[words]) == words


def test_the_last_line_counts_what_holds_what_is_known_and_what_is_a_surprise():
    premise = {"kind": "printed", "outside": "λ is fixed"}
    known = [verdict(2, fails="why", **FAILS), verdict(2, fails="why", **FAILS), verdict(2, **FAILS, **premise)]
    assert summary([verdict(0)]) == "1 of 1 hold; 0 unexpected"
    assert summary([verdict(0), *known]) == (
        "1 of 4 hold; 2 sentences do not hold as printed, as documented; 1 premise is not met, as documented; "
        "0 unexpected"
    )
    assert summary([verdict(2, good=False), verdict(0, documented=False, fails="why")]) == "1 of 2 hold; 2 unexpected"
    elsewhere = [verdict(2, good=False, documented=None), verdict("not recoverable", good=None)]
    assert summary(elsewhere) == (
        "0 of 2 hold; 1 does not speak of this draw; 1 does not, and nothing is documented at these settings; "
        "0 unexpected"
    )


def report(*verdicts: Verdict, documented: bool = True) -> Any:
    entry = catalog.get("beyond-l2/fig3")
    settings = entry.settings if documented else entry.settings.but(steps=7)
    return SimpleNamespace(entry=entry, settings=settings, verdicts=verdicts)


FIGURE = report(
    verdict(2, fails="the bias stops it above, " * 5, **FAILS),
    verdict(0.1),
    verdict(0.2, good=True, documented=False, fails="it was said to fail"),
    verdict([0.1, 0.2], draws=2),
)


def test_findings_come_after_what_holds_and_surprises_last():
    lines = list(claim_lines([FIGURE], None, sentences=True))
    words = [line[:7].strip() for line in lines if "an-id" in line]
    assert words == ["holds", "holds", "finding", "holds"]
    finding = next(place for place, line in enumerate(lines) if line.startswith("finding"))
    assert lines[finding - 1].startswith("Findings: ")
    assert lines[finding + 2].strip().startswith("does not hold as printed: the bias")
    assert "Unexpected: " in "\n".join(lines[finding:])
    assert "documented: it does not hold, since it was said to fail" in "\n".join(lines)
    assert not any(line.startswith("fails") or "error" in line[:9] for line in lines)
    assert "(held in 1 of 2 draws)" in "\n".join(lines)


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("sentences", [True, False])
def test_nothing_is_wider_than_the_terminal_and_nothing_is_lost(width, sentences):
    whole, broken = (list(claim_lines([FIGURE, FIGURE], columns, sentences=sentences)) for columns in (None, width))
    assert max(map(len, broken)) <= width < max(map(len, whole))
    assert " ".join(broken).split() == " ".join(whole).split()


def test_other_settings_are_said_once_and_nothing_is_a_finding():
    bad = replace(verdict(2, good=False, fails="why"), documented=None)
    lines = list(claim_lines([report(bad, documented=False)], None, sentences=False))
    assert sum("not at the documented settings" in line for line in lines) == 1
    assert not any("inding" in line for line in lines)


def test_a_pipe_is_not_broken_and_a_terminal_is_as_wide_as_columns_says(monkeypatch):
    monkeypatch.setenv("COLUMNS", "93")
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    assert columns() is None
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert columns() == 93
