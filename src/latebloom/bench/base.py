"""One comparison: two times, their ratio, the target and whether it is met."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class BenchResult:
    """What one comparison gave.

    `ratio` is ours / theirs where the target is "at most", theirs / ours ("times faster") where it is "at least";
    `meets` is None where there is no target or nothing to compare with, and the note says why.

    >>> BenchResult.at_least("demo", "against a loop", ours=1e-6, theirs=8e-6, least=5).row()
    ('demo: against a loop', '1.00 µs', '8.00 µs', '8.00', 'at least 5', 'met')
    """

    benchmark: str
    what: str
    ours_seconds: float | None
    theirs_seconds: float | None
    ratio: float | None
    target: str
    meets: bool | None
    note: str = ""

    @classmethod
    def at_most(
        cls, benchmark: str, what: str, *, ours: float, theirs: float, most: float, agree: bool = True, note: str = ""
    ) -> BenchResult:
        """Ours may take at most `most` times as long; loops that do not `agree` meet no target."""
        ratio = ours / theirs
        return cls(benchmark, what, ours, theirs, ratio, f"at most {most:g}", bool(agree and ratio <= most), note)

    @classmethod
    def at_least(
        cls, benchmark: str, what: str, *, ours: float, theirs: float, least: float, agree: bool = True, note: str = ""
    ) -> BenchResult:
        """Ours must be at least `least` times faster; loops that do not `agree` meet no target."""
        ratio = theirs / ours
        return cls(benchmark, what, ours, theirs, ratio, f"at least {least:g}", bool(agree and ratio >= least), note)

    @classmethod
    def within(cls, benchmark: str, what: str, *, ours: float, limit: float, note: str = "") -> BenchResult:
        """Ours alone must take less than `limit` seconds."""
        return cls(benchmark, what, ours, None, None, f"under {limit:g} s", ours < limit, note)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; a number that is not finite becomes null."""
        finite = lambda value: None if isinstance(value, float) and not math.isfinite(value) else value  # noqa: E731
        return {name: finite(value) for name, value in asdict(self).items()}

    def row(self) -> tuple[str, ...]:
        """The cells of a table: benchmark, ours, theirs, ratio, target, verdict and note."""
        verdict = {True: "met", False: "missed", None: "not judged"}[self.meets]
        return (
            f"{self.benchmark}: {self.what}",
            show_seconds(self.ours_seconds),
            show_seconds(self.theirs_seconds),
            "" if self.ratio is None else f"{self.ratio:.2f}" if self.ratio < 10 else f"{self.ratio:.0f}",
            self.target,
            f"{verdict}: {self.note}" if self.note else verdict,
        )


def show_seconds(seconds: float | None) -> str:
    """A time in the unit that suits it.

    >>> [show_seconds(s) for s in (None, 4.7e-7, 0.0123, 2.5)]
    ['', '0.47 µs', '12.3 ms', '2.50 s']
    """
    if seconds is None:
        return ""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs" if seconds >= 1e-5 else f"{seconds * 1e6:.2f} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.2f} s"
