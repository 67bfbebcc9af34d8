"""Every run of a store looked at, each file against its checksum: what is sound, what is not, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from latebloom.store.errors import DamagedError, GoneError, NewerError, StoreError
from latebloom.store.layout import Layout, State, folders
from latebloom.store.run import StoredRun, open_run, open_whole

Condition = Literal["sound", "unsealed", "newer", "damaged", "unreadable", "set aside"]


@dataclass(frozen=True)
class Finding:
    """One run: "unsealed" is one without checksums (older than them, or not published) with nothing else amiss."""

    id: str
    state: State | None
    condition: Condition
    why: str = ""

    @property
    def is_bad(self) -> bool:
        return self.condition in ("damaged", "unreadable", "set aside")


@dataclass(frozen=True)
class Examination:
    """What was found in a store."""

    findings: Sequence[Finding]

    @property
    def counts(self) -> dict[str, int]:
        """How many runs are in which condition."""
        return dict(Counter(finding.condition for finding in self.findings))

    @property
    def bad(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.is_bad]

    def to_json(self) -> dict[str, Any]:
        told = [finding for finding in self.findings if finding.condition not in ("sound", "unsealed")]
        return {"runs": len(self.findings), "counts": self.counts, "found": [asdict(finding) for finding in told]}


def examine(layout: Layout, reader: Callable[[StoredRun], object]) -> Examination:
    """Looks at every run and moves none; `reader` says whether what is in one makes sense."""
    found = [_look(state, folder, reader) for state, folder in layout.places()]
    aside = [_look_again(folder) for folder in folders(layout.damaged)]
    return Examination([finding for finding in [*found, *aside] if finding is not None])


def _look(state: State, folder: Path, reader: Callable[[StoredRun], object]) -> Finding | None:
    try:
        if state in ("live", "abandoned"):  # still written to, or cut off: there is nothing to compare it with
            open_run(folder, state)
            return Finding(folder.name, state, "unsealed")
        run = open_whole(folder, state)
        _ = run.arrays
        reader(run)
        return Finding(folder.name, state, "unsealed" if run.checksums is None else "sound")
    except DamagedError as error:
        return Finding(folder.name, state, "damaged", error.cause)
    except NewerError as error:
        return Finding(folder.name, state, "newer", error.cause)
    except GoneError:
        return None
    except StoreError as error:
        return Finding(folder.name, state, "unreadable", str(error))


def _look_again(folder: Path) -> Finding:
    """A run that was moved aside, and what can be seen of the reason."""
    try:
        open_whole(folder)
        why = "no file of it is broken"
    except DamagedError as error:
        why = error.cause
    except StoreError as error:
        why = str(error)
    return Finding(folder.name, None, "set aside", why)
