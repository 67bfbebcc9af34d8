"""The register of a document: every statement it makes, where it stands, and the claims that check it.

A statement has claims, or a reason why computation cannot decide it. One that is checked `partly` says what is missing;
one with neither claims nor a reason is not covered yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latebloom.catalog.base import Entry

CHECKED, PARTLY, UNCHECKABLE, OPEN = "checked", "in part", "not checkable", "not covered"
STATES = (CHECKED, PARTLY, UNCHECKABLE, OPEN)


@dataclass(frozen=True)
class Statement:
    """One sentence of a document in our words.

    `claims` are written `entry/claim` (`fig3/grokking`), or with their paper in front (`geometry/thm4.9/stability`).
    """

    place: str
    text: str
    claims: tuple[str, ...] = ()
    partly: str = ""  # what the claims leave open
    because: str = ""  # why no computation can decide it

    def __post_init__(self):
        if self.because and (self.claims or self.partly):
            raise TypeError(f"{self.place}: what has claims can be checked; {self.because!r} is no reason")
        if self.partly and not self.claims:
            raise TypeError(f"{self.place}: nothing checks it in part")

    @property
    def state(self) -> str:
        """How far it is checked."""
        if self.claims:
            return PARTLY if self.partly else CHECKED
        return UNCHECKABLE if self.because else OPEN

    @property
    def reason(self) -> str:
        """What is left open, or why nothing can be checked."""
        return self.partly or self.because


def stated(place: str, text: str, *claims: str, partly: str = "", because: str = "") -> Statement:
    """A row of a register: `stated("Theorem 3.1", "After …", "thm3.1/delay-is-enough")`."""
    return Statement(place, text, claims, partly, because)


@dataclass(frozen=True)
class Register:
    """The statements of one document, in its order; `paper` is the prefix of its entries."""

    document: str
    paper: str
    title: str
    statements: Sequence[Statement]

    def named(self, claim: str) -> tuple[str, str]:
        """The entry's id and the claim's of a claim as the statements write it."""
        from latebloom.catalog import PAPERS

        head, _, rest = claim.partition("/")
        paper, inside = (head, rest) if head in PAPERS else (self.paper, claim)
        entry, _, name = inside.partition("/")
        return f"{paper}/{entry}", name

    @property
    def counts(self) -> dict[str, int]:
        """How many statements are in which state."""
        found = Counter(statement.state for statement in self.statements)
        return {state: found[state] for state in STATES}

    @property
    def share(self) -> float:
        """Of the statements that can be checked, those that are, as printed."""
        able = len(self.statements) - self.counts[UNCHECKABLE]
        return self.counts[CHECKED] / able if able else 1.0

    def to_json(self) -> dict[str, Any]:
        """Counts, and every statement with its claims by their whole ids."""
        rows = [
            {
                "place": statement.place,
                "text": statement.text,
                "state": statement.state,
                "claims": ["/".join(self.named(claim)) for claim in statement.claims],
                "reason": statement.reason or None,
            }
            for statement in self.statements
        ]
        counts = {state.replace(" ", "_"): count for state, count in self.counts.items()}
        told = {"document": self.document, "paper": self.paper, "title": self.title, "statements": len(rows)}
        return told | counts | {"share_checked": self.share, "list": rows}


def unregistered(registers: Sequence[Register], entries: Mapping[str, Entry]) -> list[str]:
    """The claims that no statement names."""
    named = {key for _, key in _named(registers)}
    return ["/".join(key) for key in _claims(entries) if key not in named]


def unknown(registers: Sequence[Register], entries: Mapping[str, Entry]) -> list[str]:
    """What statements name and no entry claims."""
    known = set(_claims(entries))
    return [f"{row.place}: {'/'.join(key)}" for row, key in _named(registers) if key not in known]


def _named(registers: Sequence[Register]) -> Iterator[tuple[Statement, tuple[str, str]]]:
    for register in registers:
        for row in register.statements:
            yield from ((row, register.named(claim)) for claim in row.claims)


def _claims(entries: Mapping[str, Entry]) -> Iterator[tuple[str, str]]:
    for entry in entries.values():
        yield from ((entry.id, claim.id) for claim in entry.claims)
