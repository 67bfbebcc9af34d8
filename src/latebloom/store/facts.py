"""What one run says of itself, flat: a number or a text by its name, from the documents that the index has.

A parameter is told by its path, `problem.seed`, `method.method.learning_rate`, so that two of one name stay apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from latebloom.core.reading import items, split
from latebloom.store.run import StoredRun

PARTS = ("problem", "method", "penalty", "job")  # the first in this order has the short name where two share it
MILESTONES = {"t1": "memorised", "t2": "generalised"}
# A table of derived numbers is no run; the rest is decided by the problem, or is a list.
STUDY = "study"
_NOT_PARAMETERS = {"problem", "method", "penalty", "solver", "precision", "probes"}
_RECORD = re.compile(r"([A-Za-z_][\w-]*)\[(.*)\]", re.DOTALL)
_LARGEST = 2**63  # what a column of whole numbers holds


def facts_of(run: StoredRun) -> dict[str, Any]:
    """All of it; what is not there (a milestone of a run without a test measure) is left out.

    `DamagedError` or `NewerError` where a document has another shape: half a row would be counted as a run.
    """
    with run.understood():
        facts = {"id": run.id, "kind": run.configuration.get("kind", STUDY), "outcome": run.state, "when": run.modified}
        facts |= _parameters(run.configuration)
        if "outcome" in run.summary and "kind" in run.configuration:
            facts |= _result(run.summary)
        elif run.summary.get("recovered") is True:
            facts["outcome"] = "recovered"
        elif run.state == "finished" and "kind" in run.configuration:
            raise KeyError("outcome")
        elif run.state == "finished":
            facts["outcome"] = "finished" if run.summary else run.state
    return facts


def text_of(run: StoredRun) -> str:
    """The problem's text; the name of a study and whose it is."""
    told = run.configuration
    if STUDY in told:
        return f"{STUDY}: {told[STUDY]} ({told.get('experiment', 'no entry')})"
    dynamics = told.get("dynamics")
    return str(dynamics.get("problem", "")) if isinstance(dynamics, dict) else ""


def _parameters(configuration: Mapping[str, Any]) -> dict[str, Any]:
    if "kind" not in configuration:
        return {"problem": _text(configuration.get(STUDY, ""))}
    told: dict[str, Any] = {}
    groups = [configuration.get(group) or {} for group in ("dynamics", "records", "budget")]
    for part in PARTS[:-1]:
        if isinstance(text := groups[0].get(part), str):
            told |= _record(part, text, part)
    if groups[0].get("solver") is not None:
        told["solver"] = _text(groups[0]["solver"])
    for group in groups:
        told |= {f"job.{name}": _plain(value) for name, value in group.items() if name not in _NOT_PARAMETERS}
    return told


@lru_cache(maxsize=4096)  # the runs of a grid share most of their texts
def _record(path: str, text: str, place: str) -> dict[str, Any]:
    """The name of a record, `name[param=value,...]`, at its place, and its parameters below its path.

    >>> _record("penalty", "sum[terms=(l1[strength=0.1] l2[strength=2])]", "penalty")
    {'penalty': 'sum', 'penalty.terms': 'l1 l2', 'penalty.l1_strength': 0.1, 'penalty.l2_strength': 2}
    """
    match = _RECORD.fullmatch(text.strip())
    if match is None:
        return {place: text.strip()}
    told: dict[str, Any] = {place: match[1]}
    for parameter in split(match[2], ","):
        name, equals, value = parameter.partition("=")
        if equals:
            told |= _value(path, name.strip(), value.strip())
    return told


def _value(path: str, name: str, value: str) -> dict[str, Any]:
    """One parameter: a value, a record of its own, or several of them, which are told by their names."""
    if _RECORD.fullmatch(value):
        return _record(f"{path}.{name}", value, f"{path}.{name}")
    inside = items(value)
    if not inside or not any(_RECORD.fullmatch(one) for one in inside):
        return {f"{path}.{name}": _scalar(value)}
    told, names = {}, _numbered([one.partition("[")[0] for one in inside])
    for label, one in zip(names, inside, strict=True):
        below = _record(path, one, "")
        told |= {f"{path}.{label}_{key.removeprefix(f'{path}.')}": item for key, item in below.items() if key}
    return {f"{path}.{name}": " ".join(names)} | told


def _numbered(names: list[str]) -> list[str]:
    """Names of which no two are equal: `l1`, `l2`, `l1_2`."""
    return [name if name not in names[:i] else f"{name}_{names[:i].count(name) + 1}" for i, name in enumerate(names)]


def _scalar(text: str) -> Any:
    """A number, a switch or the text; None, of a parameter that was left out, is nothing."""
    lowered = text.lower()
    if lowered in {"true", "false"}:
        return lowered == "true"
    if lowered == "none":
        return None
    for read in (int, float):
        try:
            return _plain(read(text))
        except ValueError:
            continue
    return text.strip("'\"")


def _plain(value: Any) -> Any:
    """What a table holds: texts, switches, numbers; a list as it would be typed, and no number as nothing."""
    if isinstance(value, list | tuple):
        return "(" + " ".join(str(_plain(item)) for item in value) + ")"
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _LARGEST:
        return float(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _result(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Outcome, milestones, last record and cost."""
    outcome, provenance = summary["outcome"], summary["provenance"]
    told: dict[str, Any] = {"outcome": _text(outcome["ending"]), "end": _number(outcome["step"])}
    for name, called in MILESTONES.items():
        told |= _milestone(name, summary["milestones"][called])
    told |= {name: _number(provenance[name]) for name in ("seconds", "gradients")}
    told |= {f"final_{name}": _plain(_number(value)) for name, value in summary["final"].items()}
    return told


def _milestone(name: str, told: Mapping[str, Any] | None) -> dict[str, float]:
    """When it was, and between which records; where it was not by the end, after the last one, if ever."""
    if told is None:
        return {}
    last = _number(told["last_step"])
    if told["first"] is None:
        return {"end": last, f"{name}_low": last, f"{name}_high": math.inf}
    low, high = told["first"]["bracket"]
    when = told["first"]["step"]
    return {"end": last, name: _number(when), f"{name}_low": _number(low), f"{name}_high": _number(high)}


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{str(value)[:40]!r} is not a number")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]!r} is not a text")
    return value
