"""From a frame to brackets: which runs say something of a law, which are censored, which are left out and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from latebloom.core.formula import Formula
from latebloom.errors import InputError, unknown_name
from latebloom.laws.conditions import choose, column, numbers, value
from latebloom.laws.likelihood import Brackets

if TYPE_CHECKING:
    import pandas as pd

# Outcomes of runs whose end says nothing of when it would have happened.
BROKEN = (
    *("diverged", "not finite", "no zero loss", "not begun", "interrupted"),
    *("recovered", "live", "abandoned", "partial", "failed", "impossible", "missing"),
)
# Columns that are no settings: two runs that differ in them alone are the same experiment.
_NO_SETTING = {
    *("id", "kind", "outcome", "when", "seconds", "gradients", "end", "censored", "sweep", "state", "solver"),
    *("steps", "time", "slow_time", "t1", "t1_low", "t1_high", "t2", "t2_low", "t2_high"),
    *("stop_at", "records", "delay"),
}


@dataclass(frozen=True)
class Counts:
    """How many runs a law rests on: `used` are those with a bracket and those censored."""

    used: int
    censored: int
    left_out: dict[str, int]  # by the reason, in words
    seeds: int

    @property
    def observed(self) -> int:
        return self.used - self.censored

    def to_json(self) -> dict[str, Any]:
        told = {"used": self.used, "observed": self.observed, "censored": self.censored, "seeds": self.seeds}
        return told | {"left_out": self.left_out}


@dataclass(frozen=True)
class Observations:
    """Brackets of log t2 with the logarithms of the regressors, and what was counted."""

    data: Brackets
    quantity: str
    labels: list[str]  # the regressors as they were written
    counts: Counts
    clustered: bool  # whether the data's seeds are a column's; else each run is its own
    notes: list[str]

    @property
    def censored(self) -> np.ndarray:
        return np.isinf(self.data.high)


def regressors(against: str | Sequence[str]) -> list[Formula]:
    """What t2 is held against: one text, several with commas between them, or a list of texts."""
    texts = against.split(",") if isinstance(against, str) else list(against)
    formulas = [Formula(text) for text in texts]
    if not formulas:
        raise InputError("against names nothing: give a column or a formula, e.g. 'learning_rate*strength'")
    for formula in formulas:
        if not formula.names:
            raise InputError(f"against={formula.text!r} is a number: give a column or a formula of columns")
    return formulas


def observe(frame: pd.DataFrame, quantity: str, against: str | Sequence[str], seeds: str | None) -> Observations:
    """The frame's runs as brackets of log `quantity`."""
    formulas = regressors(against)
    if quantity not in frame.columns:
        raise unknown_name("column", quantity, map(str, frame.columns))
    left_out: dict[str, int] = {}

    def keep(rows: pd.DataFrame, mask: np.ndarray, reason: str) -> pd.DataFrame:
        if not mask.all():
            left_out[reason] = left_out.get(reason, 0) + int((~mask).sum())
        return choose(rows, mask)

    for word in sorted(set(frame["outcome"].dropna()) & set(BROKEN)) if "outcome" in frame.columns else []:
        frame = keep(frame, (frame["outcome"] != word).to_numpy(), word)
    for formula in formulas:
        frame = keep(frame, ~np.isnan(value(frame, formula)), f"without a value of {formula.text}")
    low, high = _brackets(frame, quantity)
    usable = ~np.isnan(low)
    frame, low, high = keep(frame, usable, f"without {quantity} or an end"), low[usable], high[usable]
    later = high > 0
    frame, low, high = keep(frame, later, f"with {quantity} at the start"), low[later], high[later]
    logs = _logs(frame, formulas)
    owners, seed_notes = _seeds(frame, seeds)
    _check_one_clock(frame, quantity)
    order = np.argsort(np.arange(len(frame)) if owners is None else owners, kind="stable")
    numbered = np.arange(len(frame)) if owners is None else owners[order]
    with np.errstate(divide="ignore"):
        data = Brackets(np.log(low[order]), np.log(high[order]), logs[order], numbered)
    counts = Counts(len(frame), int(np.isinf(high).sum()), left_out, 0 if owners is None else len(set(owners)))
    labels = [formula.text for formula in formulas]
    notes = [*seed_notes, *_varying(frame, formulas, seeds)]
    return Observations(data, quantity, labels, counts, counts.seeds > 1, notes)


def _brackets(frame: pd.DataFrame, quantity: str) -> tuple[np.ndarray, np.ndarray]:
    """Ends of each run's bracket; NaN where nothing is known, ∞ above where it had not happened by the end.

    The records before and after say less than a moment that was found between them: that is in its own step.
    """
    when = numbers(frame, quantity)
    if (wrong := when < 0).any():
        raise InputError(f"{quantity}={when[wrong][0]:g} is negative, and has no logarithm: leave out those runs")
    nothing = np.full(len(frame), np.nan)
    low, high = (
        numbers(frame, name) if (name := f"{quantity}_{side}") in frame.columns else nothing for side in ("low", "high")
    )
    end = next((numbers(frame, name) for name in ("end", "steps") if name in frame.columns), nothing)
    happened = ~np.isnan(when)
    last = np.where(np.isnan(low), end, low)
    last = np.where(last > 0, last, np.nan)  # what ended at once says nothing
    low = np.where(happened, np.where(np.isnan(low), when, low), last)
    high = np.where(happened, np.where(np.isnan(high), when, high), np.inf)
    if (wrong := low > high).any():
        raise InputError(f"{quantity}_low={low[wrong][0]:g} is above {quantity}_high={high[wrong][0]:g}: swap them")
    pinned = happened & (when < high)  # found to the step between two records, or in a flow on the dense output
    step = np.where(when == np.floor(when), when - 1, when)
    low, high = np.where(pinned, np.maximum(low, step), low), np.where(pinned, when, high)
    return low, high


def _logs(frame: pd.DataFrame, formulas: list[Formula]) -> np.ndarray:
    columns = []
    for formula in formulas:
        found = value(frame, formula)
        if (wrong := ~(found > 0) | np.isinf(found)).any():
            named, text = "" if wrong.sum() == 1 else "s", formula.text
            raise InputError(
                f"{text} is {found[wrong][0]:g} in {wrong.sum()} run{named}, and a power law needs it above 0 and "
                f'finite: give where="{formula.names[0]} > 0"'
            )
        columns.append(np.log(found))
    return np.column_stack(columns)


def _seeds(frame: pd.DataFrame, seeds: str | None) -> tuple[np.ndarray | None, list[str]]:
    """Which seed each run has, as a number; None where runs are taken one by one, with a sentence why."""
    import pandas as pd

    if seeds is None:
        return None, ["runs are taken to be independent of each other"]
    found = column(frame, seeds)
    codes = np.asarray(pd.factorize(found, sort=True, use_na_sentinel=False)[0])
    if len(found) and len(set(codes)) == 1:
        told = f"all runs have {seeds}={found.iloc[0]}: the interval is that of this one draw, without draws to compare"
        return codes, [told]
    return codes, []


def _check_one_clock(frame: pd.DataFrame, quantity: str) -> None:
    kinds: dict[str, int] = frame["kind"].value_counts().to_dict() if "kind" in frame.columns else {}
    if len(kinds) > 1:
        told = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        raise InputError(
            f"these runs have different clocks ({told}), and {quantity} of one is no {quantity} of the other: "
            f"give where=\"kind = '{next(iter(kinds))}'\""
        )


def _varying(frame: pd.DataFrame, formulas: list[Formula], seeds: str | None) -> list[str]:
    """A sentence on settings that vary, and that the law does not speak of."""
    used = {part for formula in formulas for name in formula.names for part in (name, name.rsplit(".", 1)[-1])}
    texts: Any = frame.astype(str).nunique()
    others = [
        str(name)
        for name in frame.columns
        if name not in used | _NO_SETTING and name != seeds and not str(name).startswith("final_")
        and not str(name).endswith("seed") and int(texts[name]) > 1
    ]  # fmt: skip
    if not others:
        return []
    return [
        f"the law does not speak of {_listed(others)}, which var{'y' if len(others) > 1 else 'ies'} among these runs"
    ]


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
