"""What a store keeps of a sweep: its document, its axes, the ids of its runs, and what came of them so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from latebloom.core.json import plain
from latebloom.errors import CapabilityError
from latebloom.store import Store
from latebloom.store.errors import BROKEN, StoreError
from latebloom.sweeps.definition import Sweep
from latebloom.sweeps.result import SweepResult
from latebloom.sweeps.survey import Survey

FORMAT = 1


def write_down(seen: Survey, store: Store, failed: Mapping[int, str] | None = None) -> None:
    """Keeps what the sweep is made of, so that its runs are found by its name."""
    told = {
        "format": FORMAT,
        "kind": seen.sweep.kind,
        "axes": shown_axes(seen.sweep),
        "ids": seen.keys,
        "impossible": {str(number): why for number, why in seen.impossible.items()},
        "failed": {str(number): why for number, why in (failed or {}).items()},
        "sweep": _document(seen.sweep),
    }
    store.keep_sweep(seen.sweep.name, plain(told, seen.sweep.name, lossless=True))


def shown_axes(sweep: Sweep) -> dict[str, list[Any]]:
    """The values of the axes as a table shows them: records by their texts."""
    return {path: [getattr(value, "text", value) for value in values] for path, values in sweep.axes.items()}


def stored_sweep(name: str, store: Store) -> SweepResult:
    """What there is of a sweep of this name, from the store alone."""
    told = store.sweep(name)
    try:
        wanted = list(told["ids"])
        present = store.finished_ids()
        return SweepResult(
            name=name,
            axes={path: list(values) for path, values in told["axes"].items()},
            ids=[key if key in present else None for key in wanted],
            store=store,
            impossible={int(number): str(why) for number, why in told["impossible"].items()},
            failed={int(number): str(why) for number, why in told["failed"].items()},
            wanted=wanted,
        )
    except BROKEN as error:
        raise StoreError(f"the sweep {name} of {store.path} was written by another version: start it again") from error


@dataclass(frozen=True)
class Status:
    """How far a sweep is, in numbers of cells."""

    cells: int
    done: int
    running: int
    failed: int
    impossible: int
    left: int

    def __str__(self) -> str:
        parts = {"done": self.done, "running": self.running, "failed": self.failed, "impossible": self.impossible}
        parts["to be computed"] = self.left
        return f"{self.cells:,} cells: " + ", ".join(f"{count:,} {word}" for word, count in parts.items() if count)


def status_of(result: SweepResult) -> Status:
    """How far a sweep is, and who is at it."""
    with result.store.claims() as claims:
        living = claims.living()
    found: Counter[str] = Counter()
    for number, key in enumerate(result.ids):
        if number in result.impossible:
            found["impossible"] += 1
        elif key is not None:
            found["done"] += 1
        elif number in result.failed:
            found["failed"] += 1
        else:
            found["running" if result.wanted[number] in living else "left"] += 1
    return Status(len(result.ids), *(found[name] for name in ("done", "running", "failed", "impossible", "left")))


def _document(sweep: Sweep) -> dict[str, Any] | None:
    try:
        return sweep.document
    except CapabilityError:  # functions of this process
        return None
