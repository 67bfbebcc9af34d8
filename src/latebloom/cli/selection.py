"""Which of the stored runs are meant: by problem, outcome and date."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from latebloom.cli.stored import Told
from latebloom.errors import InputError, check_choice

SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
UNFINISHED = ("partial", "abandoned")


@dataclass(frozen=True)
class Selection:
    """Conditions on a stored run, all of which it must meet; none is met by every run."""

    problem: str | None = None
    outcome: str | None = None
    since: str | None = None
    before: str | None = None
    unfinished: bool = False

    def of(self, runs: Sequence[Told]) -> list[Told]:
        """The runs that are meant, in their order."""
        since = None if self.since is None else moment(self.since)
        before = None if self.before is None else moment(self.before)
        if self.outcome is not None:
            check_choice("outcome", self.outcome, sorted(OUTCOMES | {run.outcome for run in runs}))
        return [
            run
            for run in runs
            if (self.problem is None or self.problem.casefold() in run.problem.casefold())
            and (self.outcome is None or run.outcome == self.outcome)
            and (since is None or run.stored.modified >= since)
            and (before is None or run.stored.modified < before)
            and (not self.unfinished or run.stored.state in UNFINISHED)
        ]


# Those of `engine.outcome.Ending`, which is not loaded for a help text, and the states of what has no ending.
OUTCOMES = {
    *("finished", "stopped", "budget spent", "diverged", "not finite", "interrupted", "no zero loss"),
    *("recovered", "live", "abandoned"),
}


def moment(text: str) -> float:
    """A date, `2026-11-18` or `2026-11-18T16:30` on the local clock, or an age, `7d`, as seconds since 1970."""
    age = _AGE.fullmatch(text.strip())
    if age:
        return time.time() - float(age[1]) * SECONDS[age[2]]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"{text!r} is neither a date nor an age: write 2026-11-18, 2026-11-18T16:30, or 7d (of s, m, h, d, w)"
        ) from None
