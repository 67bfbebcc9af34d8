"""A sentence of a paper as an executable check: what is measured, what the number must be, and what its verdict means.

A verdict is one of four. Only what a document prints can *fail*; a theorem that is tried outside its hypotheses has a
*premise not met*; a claim that does not speak of a draw is *not applicable* there and counts neither way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from latebloom.catalog.bounds import AbstractBound, Condition
from latebloom.errors import unknown_name

if TYPE_CHECKING:
    from latebloom.catalog.base import Evidence
    from latebloom.catalog.controls import AbstractControl

FULL = "full"  # the preset of the paper's size
HOLDS, FAILS, NOT_MET, NOT_ASKED = "holds", "fails", "premise not met", "not applicable"
KINDS = {
    "printed": "what the document says",
    "premise": "an assumption or hypothesis of the document, measured on this run",
    "corrected": "a printed sentence put right",
    "ours": "a reading, a prediction or a limit that no document prints",
}


@dataclass(frozen=True)
class Measured:
    """The number a claim was judged by, and whether the claim holds; None where it does not speak of the draw."""

    value: Any
    holds: bool | None


@dataclass(frozen=True)
class NotAsked:
    """What a measure returns of a draw that the claim does not speak of, with the reason."""

    reason: str


@dataclass(frozen=True)
class Fails:
    """A verdict that is another at the paper's size: there the claim fails, with the reason."""

    reason: str


@dataclass(frozen=True)
class Reads:
    """What the number of a condition is called, and how a table shows it: a condition is a sentence, not a quantity.

    `bound` is what is asked of the number itself, with the condition's numbers by name; `number` what it is shown as.

    >>> reads = Reads("t2 predicted / measured", "within {by:.0%} of 1", lambda gap: 1 + gap)
    >>> reads.of(-0.0006), reads.bound_of(Condition("… within {by:.0%} …", {"by": 0.01}))
    (0.9994, 'within 1% of 1')
    """

    name: str
    bound: str
    number: Callable[[Any], Any] = lambda value: value

    def fits(self, value: Any) -> bool:
        """Whether these are the words for this value: some conditions have another answer where a run has no t2."""
        return all(isinstance(item, int | float) for item in (value if isinstance(value, list) else [value]))

    def of(self, value: Any) -> Any:
        """The number to show, of one draw or of several."""
        return [self.number(item) for item in value] if isinstance(value, list) else self.number(value)

    def bound_of(self, condition: AbstractBound) -> str:
        """What is asked of it, in words."""
        return self.bound.format(**condition.numbers) if isinstance(condition, Condition) else str(condition)


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper (or its correction), how to measure it, and what the number must be.

    `kind` says whose sentence it is (`KINDS`). `fails` is the reason why it fails as printed (a premise: why it is not
    met): a verdict that we have measured and stand by, with the corrected claim beside it. `outside` is the hypothesis
    that the runs do not meet, of a printed sentence that is tried beyond it. `full` is the bound, or `Fails(reason)`,
    of the paper's size, where that is another. `rate` is the share of draws in which a claim that depends on the draw
    holds at least; 1 means always. `control` is a change under which it must turn, where those of its entry do not do.
    `reads` names the number of a condition for the table.
    """

    id: str
    text: str
    source: str
    quantity: str
    bound: AbstractBound
    measure: Callable[..., Any]
    kind: str = "printed"
    rate: float = 1.0
    fails: str | None = None
    outside: str | None = None
    full: AbstractBound | Fails | None = None
    control: AbstractControl | None = None
    reads: Reads | None = None

    def __post_init__(self):
        if self.kind not in KINDS:
            raise unknown_name("kind of claim", self.kind, KINDS)
        if self.fails and self.kind not in ("printed", "premise"):
            raise TypeError(f"the claim {self.id} is {self.kind}: only what a document prints can fail as printed")
        if self.outside and (self.fails or self.kind != "printed"):
            raise TypeError(f"the claim {self.id}: a printed sentence is outside its hypotheses, or it fails")

    @property
    def documented(self) -> bool:
        """Whether it holds with the documented settings."""
        return self.fails is None and self.outside is None

    def verdict(self, holds: bool | None) -> str:
        """The word for a claim that holds, does not, or does not speak of the draw."""
        if holds is None:
            return NOT_ASKED
        if holds:
            return HOLDS
        return NOT_MET if self.outside or self.kind == "premise" else FAILS

    @property
    def expected(self) -> str:
        """The bound in words, after the quantity that it bounds; then why it does not hold, if so."""
        words = f"{self.quantity} {self.bound}".strip()
        reason = self.fails or self.outside
        return words if reason is None else f"{words}; {self.verdict(False)}: {reason}"

    def of(self, preset: str | None) -> Claim:
        """The claim as it is judged with a preset."""
        if preset != FULL or self.full is None:
            return self
        if isinstance(self.full, Fails):
            return replace(self, fails=self.full.reason, full=None)
        return replace(self, bound=self.full, full=None)

    def check(self, evidence: Evidence) -> Measured:
        """What was measured, and whether it is within the bound."""
        numbers = self.bound.numbers if isinstance(self.bound, Condition) else {}
        found = self.measure(evidence, **numbers)
        if isinstance(found, NotAsked):
            return Measured(found.reason, None)
        if isinstance(self.bound, Condition):
            value, holds = found
            return Measured(value, bool(holds))
        return Measured(found, self.bound.judge(found))

    def to_json(self) -> dict[str, Any]:
        shown = {key: getattr(self, key) for key in ("id", "kind", "text", "source", "quantity")}
        shown |= {"bound": self.bound.to_json(), "expected": self.expected, "documented": self.documented}
        return shown | {"verdict": self.verdict(self.documented), "rate": self.rate, "full": self._full_json()}

    def _full_json(self) -> dict[str, Any] | None:
        if self.full is None:
            return None
        full = self.of(FULL)
        return {"bound": full.bound.to_json(), "expected": full.expected, "documented": full.documented}
