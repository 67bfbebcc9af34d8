"""The summary of a stored run, as JSON and back, every value checked: it may be an edited file or another version's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from latebloom.engine.milestones import Crossing, Milestone, Milestones
from latebloom.engine.outcome import Ending, Outcome
from latebloom.store import StoredRun


@dataclass(frozen=True)
class Summary:
    """What a run's folder says without its records and parameters."""

    outcome: Outcome
    milestones: Milestones
    final: dict[str, float]
    provenance: dict[str, Any]

    def to_stored(self) -> dict[str, Any]:
        """The document, to be read back by `from_stored`."""
        return {
            "complete": self.outcome.complete,
            "outcome": asdict(self.outcome) | {"ending": self.outcome.ending.value},
            "milestones": asdict(self.milestones),
            "final": self.final,
            "provenance": self.provenance,
        }


def from_stored(data: Mapping[str, Any]) -> Summary:
    """The summary that `to_stored` wrote; what a newer version has more is left out, anything else refused.

    KeyError, TypeError or ValueError: `StoredRun.understood` makes a sentence of it.
    """
    ending, provenance = data["outcome"], data["provenance"]
    _number(provenance["seconds"])
    _number(provenance["gradients"])
    _number_or_none(provenance["learning_rate"])
    return Summary(
        Outcome(Ending(ending["ending"]), _number(ending["step"]), _text(ending["sentence"])),
        read_milestones(data["milestones"]),
        {_text(name): _number(value) for name, value in data["final"].items()},
        dict(provenance),
    )


def summary_of(stored: StoredRun) -> Summary | None:
    """What a stored run says of itself; None for what is no run (a table), and for one that was never summed up."""
    if "kind" not in stored.configuration or ("outcome" not in stored.summary and stored.state != "finished"):
        return None
    with stored.understood():
        return from_stored(stored.summary)


def read_milestones(data: Mapping[str, Any]) -> Milestones:
    """Milestones from what `dataclasses.asdict` made of them."""
    return Milestones(
        _milestone(data["memorised"]),
        _milestone(data["generalised"]),
        _number_or_none(data["sharpness"]),
    )


def _milestone(data: Mapping[str, Any] | None) -> Milestone | None:
    if data is None:
        return None
    return Milestone(
        _text(data["name"]),
        _text(data["column"]),
        _number(data["threshold"]),
        first=_crossing(data["first"]),
        stable=_crossing(data["stable"]),
        lost=_number_or_none(data["lost"]),
        last_step=_number(data["last_step"]),
        clock=_text(data["clock"]),
        log_time=_number_or_none(data["log_time"]),
    )


def _crossing(data: Mapping[str, Any] | None) -> Crossing | None:
    if data is None:
        return None
    low, high = data["bracket"]
    if not isinstance(data["pinned"], bool):
        raise TypeError(f"{_shown(data['pinned'])} is not true or false")
    return Crossing(_number(data["step"]), (_number(low), _number(high)), data["pinned"])


def _number(value: Any) -> float:
    """A number as it is, int or float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{_shown(value)} is not a number")
    float(value)  # OverflowError for an integer that no float holds
    return value


def _number_or_none(value: Any) -> float | None:
    return None if value is None else _number(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{_shown(value)} is not a text")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
