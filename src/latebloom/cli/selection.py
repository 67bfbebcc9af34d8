"""Which of the stored runs are meant: by problem, outcome, date, or a condition in SQL."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING

from latebloom.errors import InputError, check_choice

if TYPE_CHECKING:
    import pyarrow as pa

    from latebloom.store import Store

SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
UNFINISHED = ("partial", "abandoned")


@dataclass(frozen=True)
class Selection:
    """Conditions on stored runs, all of which one must meet; none is met by every run."""

    problem: str | None = None
    outcome: str | None = None
    since: str | None = None
    before: str | None = None
    unfinished: bool = False
    where: str | None = None

    def of(self, store: Store) -> tuple[pa.Table, int]:
        """The rows that are meant, oldest first, and of how many."""
        seen: list[int] = []

        def question(table: pa.Table) -> pa.Array:
            from latebloom.store.frame import compute

            pc = compute()
            seen.append(len(table))
            return reduce(pc.and_, self._conditions(table), pc.is_valid(table["id"]))

        return store.table(question), seen[-1]

    def _conditions(self, table: pa.Table) -> Iterator[pa.Array]:
        import pyarrow as pa

        from latebloom.store.frame import compute

        pc = compute()
        if self.problem is not None:
            yield pc.match_substring(table["text"], self.problem, ignore_case=True)
        if self.outcome is not None:
            check_choice("outcome", self.outcome, sorted(OUTCOMES | set(pc.unique(table["outcome"]).to_pylist())))
            yield pc.equal(table["outcome"], self.outcome)
        if self.since is not None:
            yield pc.greater_equal(table["when"], moment(self.since))
        if self.before is not None:
            yield pc.less(table["when"], moment(self.before))
        if self.unfinished:
            yield pc.is_in(table["state"], value_set=pa.array(UNFINISHED))
        if self.where is not None:
            from latebloom.store.filter import met

            yield met(table, self.where)


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
