"""Verdicts as sentences: what was measured, against which bound, and whether that was expected."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from latebloom.catalog.bounds import Condition
from latebloom.catalog.claims import NOT_MET
from latebloom.core.tables import short

if TYPE_CHECKING:
    from latebloom.catalog.reproduction import Report, Verdict

UNEXPECTED, FINDING = "NOT AS DOCUMENTED", "finding"
GROUPS = ("holds", "does not hold", "not asked", FINDING, UNEXPECTED)  # what needs to be looked at comes last
TITLES = {
    FINDING: "Findings: what does not hold here, as it is documented",
    UNEXPECTED: "Unexpected: another verdict than the documented one",
}
COLUMN = 9  # the verdict's, to which what follows is indented
LEGEND = (
    'Each claim: what the paper says ("ours": what we add), then what was measured and its bound. t1: memorised, the '
    "training error is below its threshold; t2: generalised, the test error is."
)
NARROWEST = 40  # columns: below it a line is broken as if it had so many


def columns() -> int | None:
    """Where lines are broken: at the terminal's width (COLUMNS); in a pipe nowhere."""
    return max(shutil.get_terminal_size().columns, NARROWEST) if sys.stdout.isatty() else None


def claim_lines(reports: Sequence[Report], width: int | None, *, sentences: bool) -> Iterator[str]:
    """What was measured of every claim, those that do not hold after those that do, and a line that counts them.

    `sentences` gives what each claim says beside its number: a student of one figure needs it, and a list of all
    claims is twice as long with it.
    """
    yield from _folded(LEGEND, width, "") if sentences else ()
    for number, report in enumerate(reports):
        yield from [""] if number or sentences else []
        yield from _folded(f"{report.entry.id}: {report.entry.title}", width, "")
        yield from _folded(report.entry.summary, width, "") if sentences else ()
        if report.entry.preset(report.settings) is None:
            yield from _folded("not at the documented settings: measured and judged, with no verdict to expect", width)
        for group in GROUPS:
            chosen = [verdict for verdict in report.verdicts if _group(verdict) == group]
            if chosen and group in TITLES:
                yield from _folded(TITLES[group], width)
            for verdict in chosen:
                yield from _claim(verdict, group, width, sentences=sentences)
    yield ""
    yield from _folded(summary([verdict for report in reports for verdict in report.verdicts]), width, "")


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many hold, and of those that do not, how many were known to: one line.

    "12 of 14 hold; 2 sentences do not hold as printed, as documented; 0 unexpected".
    """
    groups = [_group(verdict) for verdict in verdicts]
    known = [verdict for verdict, group in zip(verdicts, groups, strict=True) if group == FINDING]
    unmet = sum(verdict.word == NOT_MET for verdict in known)
    told = {
        "sentence does|sentences do not hold as printed, as documented": len(known) - unmet,
        "premise is|premises are not met, as documented": unmet,
        "does|do not speak of this draw": groups.count("not asked"),
        "does|do not, and nothing is documented at these settings": groups.count("does not hold"),
    }
    parts = [f"{sum(verdict.holds is True for verdict in verdicts)} of {len(verdicts)} hold"]
    parts += [f"{number} {_plural(words, number)}" for words, number in told.items() if number]
    return "; ".join([*parts, f"{groups.count(UNEXPECTED)} unexpected"])


def measured(verdict: Verdict) -> str:
    """The number with its name and its bound: "t2/t1: 2473, at least 300"."""
    claim, bound = verdict.claim, str(verdict.claim.bound)
    if isinstance(verdict.measured, str) and verdict.holds is None:
        return verdict.measured
    negated = "" if verdict.holds or verdict.draws > 1 else "not "
    if claim.reads is not None and claim.reads.fits(verdict.measured):
        number, limit = claim.reads.of(verdict.measured), claim.reads.bound_of(claim.bound)
        return f"{claim.reads.name}: {short(number)}, {negated}{limit}"
    if isinstance(claim.bound, Condition):
        met = "condition" if verdict.holds or verdict.draws > 1 else "condition not met"
        return f"measured {short(verdict.measured)}; {met}: {f'{claim.quantity} {bound}'.strip()}"
    return f"{claim.quantity.strip().rstrip(',') or 'measured'}: {short(verdict.measured)}, {negated}{bound}"


def _group(verdict: Verdict) -> str:
    if not verdict.as_documented:
        return UNEXPECTED
    if verdict.holds is None:
        return "not asked"
    if verdict.holds:
        return "holds"
    return "does not hold" if verdict.documented is None else FINDING


def _claim(verdict: Verdict, group: str, width: int | None, *, sentences: bool) -> Iterator[str]:
    word = {"does not hold": "no", "not asked": "–", UNEXPECTED: verdict.word}.get(group, group)
    whose = "" if verdict.claim.kind == "printed" else f" ({verdict.claim.kind})"
    head = f"{word:<{COLUMN}}{verdict.claim.id}{whose}: "
    rate = "" if verdict.draws == 1 else f" (held in {verdict.held} of {verdict.of} draws)"
    said = measured(verdict) + rate
    if sentences:
        yield from _folded(head + verdict.claim.text, width, COLUMN * " ")
        yield from _folded(COLUMN * " " + said, width, COLUMN * " ")
    else:
        yield from _folded(head + said, width, COLUMN * " ")
    if reason := _reason(verdict, group):
        yield from _folded(COLUMN * " " + reason, width, COLUMN * " ")


def _reason(verdict: Verdict, group: str) -> str:
    """Why it does not hold, of a finding; what was expected, of a surprise."""
    why = verdict.claim.fails or verdict.claim.outside
    if group == FINDING:
        told = "the premise is not met here" if verdict.word == NOT_MET else "does not hold as printed"
        return f"{told}: {why}"
    if group == UNEXPECTED:
        return f"documented: it does not hold, since {why}" if why else "documented: it holds"
    return ""


def _folded(line: str, width: int | None, indent: str = "  ") -> Iterable[str]:
    """The line in lines of this width, those that follow indented; as it is where there is no width."""
    if width is None:
        return [line.rstrip()]
    wrapped = textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return wrapped or [""]


def _plural(words: str, number: int) -> str:
    """Of "sentence does|sentences do not hold" what fits the number."""
    one, rest = words.split("|")
    many, tail = rest.split(" not", 1)
    return f"{one if number == 1 else many} not{tail}"
