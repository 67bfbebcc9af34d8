"""How a run ended, in a sentence for the user."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Ending(StrEnum):
    """The ways a run can end."""

    FINISHED = "finished"
    STOPPED = "stopped"
    BUDGET = "budget spent"
    DIVERGED = "diverged"
    NOT_FINITE = "not finite"
    INTERRUPTED = "interrupted"
    NO_ZERO_LOSS = "no zero loss"
    NOT_BEGUN = "not begun"


@dataclass(frozen=True)
class Outcome:
    """An ending, the step (in a flow, the time) it happened at, and the sentence that says what to make of it."""

    ending: Ending
    step: float
    sentence: str

    @property
    def complete(self) -> bool:
        """Whether running again would give nothing new."""
        return self.ending not in {Ending.INTERRUPTED, Ending.NOT_BEGUN}

    @property
    def failed(self) -> bool:
        """Whether the run broke down numerically, or had no zero-loss set to begin on."""
        return self.ending in {Ending.DIVERGED, Ending.NOT_FINITE, Ending.NO_ZERO_LOSS}

    def __str__(self) -> str:
        return self.sentence


NOT_BEGUN = Outcome(Ending.NOT_BEGUN, 0, "not begun: interrupted before its turn")


def finished(step: int, remark: str = "") -> Outcome:
    """All steps were made."""
    return Outcome(Ending.FINISHED, step, f"finished after {step:,} steps{remark}")


def stopped(step: int, event: str, remark: str = "") -> Outcome:
    """The event asked for was seen."""
    return Outcome(Ending.STOPPED, step, f"stopped at step {step:,}: {event}, as asked{remark}")


def budget_spent(step: int, event: str, remark: str = "") -> Outcome:
    """All steps were made and the event asked for was not seen."""
    advice = remark or ": give more steps"
    return Outcome(Ending.BUDGET, step, f"budget of {step:,} steps spent, not {event} yet{advice}")


def interrupted(step: int) -> Outcome:
    """The user asked to stop."""
    return Outcome(Ending.INTERRUPTED, step, f"interrupted at step {step:,}: what was done is kept")


def broken(step: int, *, finite: bool, cause: str) -> Outcome:
    """The loss exploded, or became NaN or infinite, at `step`."""
    if finite:
        return Outcome(Ending.DIVERGED, step, f"diverged at step {step:,}: {cause}; look at the probe train_loss")
    return Outcome(Ending.NOT_FINITE, step, f"loss not finite from step {step:,}: {cause}; look at train_loss")
