"""Where a run stands, beside its records: one file, `state.npz`, from which another process goes on.

Of the attempts at one configuration (interrupted ones under `partial/`, killed ones under `live/`) the one that goes on
takes the file into its own folder by one rename: of two processes only one has it, and a kill at any moment leaves it
in one place.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latebloom.core.json import parse, plain
from latebloom.errors import LatebloomWarning
from latebloom.store.atomic import discard
from latebloom.store.errors import DamagedError, reading, reason
from latebloom.store.formats import read_arrays, write_arrays
from latebloom.store.layout import STATE, USELESS, Layout, folders, is_owned

if TYPE_CHECKING:
    import numpy as np

ABOUT = "about"  # the member that says what the others are


@dataclass(frozen=True)
class StoredState:
    """What was written: facts as JSON has them, and named arrays."""

    about: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write_state(folder: Path, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Replace the state in `folder`, atomically; equal arrays (a point that was not passed yet) are written once."""
    import numpy as np

    members: dict[str, np.ndarray] = {}
    names: dict[str, str] = {}
    for name, array in arrays.items():
        data = np.ascontiguousarray(array)
        digest = hashlib.sha256(repr((data.shape, str(data.dtype))).encode() + data.tobytes()).hexdigest()[:24]
        names[name] = digest
        members[digest] = np.reshape(data, np.shape(array))
    facts = plain({**about, "members": names}, "state", lossless=True)
    write_arrays(folder / STATE, {ABOUT: np.array(json.dumps(facts)), **members})


def read_state(folder: Path) -> StoredState:
    """The state in `folder`; `DamagedError` if it is not there or broken."""
    with reading(folder):
        members = read_arrays(folder / STATE)
        about = parse(members.pop(ABOUT).item())
        return StoredState(about, {name: members[member] for name, member in about.pop("members").items()})


def read_facts(folder: Path) -> dict[str, Any]:
    """What the state in `folder` says of itself, its arrays left unread; `DamagedError` if it is broken."""
    import numpy as np

    with reading(folder), (folder / STATE).open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return parse(archive[ABOUT].item())


def has_state(folder: Path) -> bool:
    """Whether there is something to go on from."""
    return (folder / STATE).exists()


def attempts(layout: Layout) -> dict[str, list[Path]]:
    """The folders of runs that did not come to their end and that no process is at work on, by their key."""
    found: dict[str, list[Path]] = {}
    left = [folder for folder in folders(layout.live) if not is_owned(folder)]
    for folder in [*folders(layout.partial), *left]:
        found.setdefault(folder.name.partition("-")[0], []).append(folder)
    return found


def furthest(candidates: list[Path]) -> list[Path]:
    """The folders that have a state, the furthest first; a broken one is set aside with a warning."""
    reached: list[tuple[Any, Path]] = []
    for folder in candidates:
        if not has_state(folder):
            continue
        try:
            facts = read_facts(folder)
            reached.append(((facts["at"], facts["gradients"]), folder))
        except (DamagedError, KeyError) as error:
            set_aside(folder, error.what if isinstance(error, DamagedError) else f"no {error}")
    return [folder for _, folder in sorted(reached, key=lambda pair: pair[0], reverse=True)]


def finished(layout: Layout) -> list[tuple[dict[str, Any], Path]]:
    """The facts of every state in a finished run; a broken one is set aside with a warning."""
    found = []
    for folder in folders(layout.finished):
        if has_state(folder):
            try:
                found.append((read_facts(folder), folder))
            except DamagedError as error:
                set_aside(folder, error.what)
    return found


def take(source: Path, target: Path) -> bool:
    """Whether the state of `source` is now that of `target`; False if another process was quicker."""
    try:
        (source / STATE).rename(target / STATE)
    except FileNotFoundError:
        return False
    return True


def set_aside(folder: Path, why: str) -> None:
    """Give a state that cannot be used another name, and say so; nothing is deleted."""
    try:
        (folder / STATE).rename(folder / USELESS)
    except FileNotFoundError:  # another process was quicker, and said so
        return
    except OSError as refusal:
        why = f"{why}; left in place ({reason(refusal)})"
    warnings.warn(
        f"the state of run {folder.name} cannot be used ({why}): it starts anew", LatebloomWarning, stacklevel=2
    )


def supersede(layout: Layout, key: str, *, but: str, at: tuple[Any, Any] | None = None) -> None:
    """Delete the attempts at `key` other than `but`: all of them, or those whose state is not further than `at`."""
    for folder in attempts(layout).get(key, []):
        if folder.name != but and (at is None or _is_behind(folder, at)):
            discard(folder)


def _is_behind(folder: Path, at: tuple[Any, Any]) -> bool:
    try:
        facts = read_facts(folder)
        return (facts["at"], facts["gradients"]) <= at
    except (DamagedError, KeyError):  # only records: they are not ours to judge
        return False
