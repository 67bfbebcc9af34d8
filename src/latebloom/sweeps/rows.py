"""What stored runs say of themselves, a row per run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from latebloom.engine.milestones import Milestone
from latebloom.engine.summary import summary_of
from latebloom.store import Store, StoredRun

TIMES = ("t1", "t1_low", "t1_high", "t2", "t2_low", "t2_high")


def rows_of(store: Store, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """By id, what a run says; a run that is not there says nothing."""
    return {key: told for key in dict.fromkeys(ids) if (told := store.read_id(key, _row))}


def _row(run: StoredRun) -> dict[str, Any]:
    summary, dynamics = summary_of(run), run.configuration["dynamics"]
    assert summary is not None
    named = {part: _name(dynamics.get(part)) for part in ("problem", "method", "penalty", "solver")}
    memorised, generalised = summary.milestones.memorised, summary.milestones.generalised
    return (
        {"id": run.id, "kind": run.configuration["kind"], **named}
        | _times("t1", memorised, summary.outcome.step)
        | _times("t2", generalised, summary.outcome.step)
        | {"end": float(summary.outcome.step), "outcome": summary.outcome.ending.value}
        | {name: summary.provenance[name] for name in ("seconds", "gradients")}
        | {"when": run.modified}
        | {f"final_{name}": value for name, value in summary.final.items()}
    )


def _name(text: Any) -> str | None:
    return None if text is None else str(text).partition("[")[0]


def _times(name: str, milestone: Milestone | None, end: float) -> Mapping[str, float]:
    """When, with the records around it; where it did not happen, it was not before the end."""
    if milestone is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"), math.nan)
    if milestone.first is None:
        return {name: math.nan, f"{name}_low": float(milestone.last_step), f"{name}_high": math.inf}
    low, high = milestone.first.bracket
    return {name: float(milestone.first.step), f"{name}_low": float(low), f"{name}_high": float(high)}
