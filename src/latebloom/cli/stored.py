"""Stored runs as documents and as lines of a listing."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from latebloom.core.json import plain

if TYPE_CHECKING:
    from latebloom.engine.milestones import Milestone
    from latebloom.engine.summary import Summary
    from latebloom.store import StoredRun

HEADINGS = ("id", "when", "problem", "how", "penalty", "t1", "t2", "outcome")
ELASTIC = ("problem", "how", "penalty")  # what is cut where a terminal is narrow
# Sixty letters of numbers in one pair of parentheses: the first and the last.
_DATA = re.compile(r"\((?=[^()]{60})([^()\s]+)\s[^()]*\s([^()\s]+)\)")
LEAST = 6  # letters that are left of it


@dataclass(frozen=True)
class Told:
    """A stored run with what it says of itself; what is no run (a study's table) says nothing."""

    stored: StoredRun
    summary: Summary | None

    @property
    def dynamics(self) -> dict[str, Any]:
        found = self.stored.configuration.get("dynamics")
        return found if isinstance(found, dict) else {}

    @cached_property
    def problem(self) -> str:
        """The problem's text; the name of a study and whose it is."""
        from latebloom.store.facts import text_of

        return text_of(self.stored)

    @property
    def how(self) -> str:
        """The method, or the flow and its solver."""
        if "method" in self.dynamics:
            return str(self.dynamics["method"])
        solver = self.dynamics.get("solver")
        return str(self.stored.configuration.get("kind", "")) + (f" ({solver})" if solver else "")

    @property
    def outcome(self) -> str:
        """How it ended, in a word; of what did not come to an end, where it stands."""
        if self.summary is not None:
            return self.summary.outcome.ending.value
        return "recovered" if self.stored.summary.get("recovered") is True else self.stored.state

    def cells(self) -> list[str]:
        """The line of a listing."""
        when = datetime.fromtimestamp(self.stored.modified).strftime("%Y-%m-%d %H:%M")
        milestones = None if self.summary is None else self.summary.milestones
        both = (milestones.memorised, milestones.generalised) if milestones else (None, None)
        texts = (self.problem, self.how, str(self.dynamics.get("penalty") or ""))
        return [self.stored.id, when, *map(_without_data, texts), *map(_moment, both), self.outcome]

    def to_json(self) -> dict[str, Any]:
        """The run in the same words as `reproduce --json` has; what is not a run has nulls."""
        stored = self.stored
        document = {
            "id": stored.id,
            "state": stored.state,
            "when": datetime.fromtimestamp(stored.modified).astimezone().isoformat(timespec="seconds"),
            "configuration": plain(stored.configuration),
        }
        if self.summary is None:
            return document | dict.fromkeys(("milestones", "outcome", "sentence", "final"))
        return document | {
            "milestones": plain(self.summary.milestones.to_json(self.summary.provenance["learning_rate"])),
            "outcome": self.summary.outcome.ending.value,
            "sentence": self.summary.outcome.sentence,
            "final": plain(self.summary.final),
        }


def told(stored: StoredRun) -> Told:
    """A stored run as a listing has it; a damaged one raises as the store knows it."""
    from latebloom.engine.summary import summary_of

    return Told(stored, summary_of(stored))


def print_lines(runs: Sequence[Told]) -> None:
    """A line a run: as wide as the terminal is (or COLUMNS), and nothing cut or wrapped where there is none."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in lines([HEADINGS, *(run.cells() for run in runs)], width):
        print(line)


def lines(rows: Sequence[Sequence[str]], width: int | None) -> Iterator[str]:
    """Rows as lines with their columns below one another; ids and texts are cut where there is no room.

    >>> run = ["0123456789abcdef", "now", "sparse_recovery[30]", "flow", "l1", "9", "", "finished"]
    >>> print(*lines([HEADINGS, run], 60), sep="\\n")
    id        when  problem      how   penalty  t1  t2  outcome
    01234567  now   sparse_rec…  flow  l1       9       finished
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    if width is not None:
        columns[0] = [_short_id(name, columns[0][1:]) for name in columns[0]]
    widths = [max(map(len, column)) for column in columns]
    if width is not None:
        widths = _fitted(widths, width - 2 * (len(widths) - 1))
    for row in zip(*columns, strict=True):
        yield "  ".join(_cut(cell, room) for cell, room in zip(row, widths, strict=True)).rstrip()[:width]


def _without_data(text: str) -> str:
    """A text with the ends of what is long in parentheses: numbers that were given as data.

    >>> _without_data("weighted_l2[strength=1,weights=(0.123456789 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1 2 3 4 5.123456)]")
    'weighted_l2[strength=1,weights=(0.123456789 … 5.123456)]'
    """
    return _DATA.sub(r"(\1 … \2)", text)


def _short_id(name: str, names: Iterable[str]) -> str:
    """Eight letters, or as many as it takes to tell it from the others."""
    others = [other for other in names if other != name]
    enough = (size for size in range(8, len(name)) if not any(other.startswith(name[:size]) for other in others))
    return name[: next(enough, len(name))]


def _fitted(widths: Sequence[int], room: int) -> list[int]:
    """Widths that leave the short columns whole: the longest text gives way first."""
    fitted = list(widths)
    elastic = [HEADINGS.index(name) for name in ELASTIC]
    while sum(fitted) > room:
        longest = max(elastic, key=lambda column: fitted[column])
        if fitted[longest] <= LEAST:
            break
        fitted[longest] -= 1
    return fitted


def _cut(cell: str, room: int) -> str:
    return cell.ljust(room) if len(cell) <= room else f"{cell[: room - 1]}…"


def _moment(milestone: Milestone | None) -> str:
    """When, on the run's clock: `59`, `≤ 0` from the start on, `> 400,000` if not by the end."""
    if milestone is None:
        return ""
    if milestone.first is None:
        return f"> {_number(milestone.last_step)}"
    return f"{'≤ ' * milestone.first.at_most}{_number(milestone.first.step)}"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def flat(values: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The entries of a dictionary, those of dictionaries inside it by their path."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{above}{name}.")
        else:
            yield above + name, value
