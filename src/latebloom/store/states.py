"""Where a run stands, beside its records: one file, `state.npz`, from which another process goes on.

Of the attempts at one configuration (interrupted ones under `partial/`, killed ones under `live/`) the one that goes on
takes the file into its own folder by one rename: of two processes only one has it, and a kill at any moment leaves it
in one place.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latebloom.core.json import parse, plain
from latebloom.errors import LatebloomWarning
from latebloom.store.atomic import discard, renamed, token
from latebloom.store.errors import DamagedError, reading, reason
from latebloom.store.formats import read_arrays, write_arrays
from latebloom.store.layout import STATE, USELESS, Layout, folders, inodes, is_owned
from latebloom.store.run import StoredRun

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


def attempts(layout: Layout, keys: Collection[str] | None = None) -> dict[str, list[Path]]:
    """The folders of runs that did not come to their end and that no process is at work on, by their key.

    Only those of some `keys`, if they are given: to ask for the owner of every live run takes 0.3 ms each.
    """
    found: dict[str, list[Path]] = {}
    for parent in (layout.partial, layout.live):
        for folder in folders(parent):
            key = folder.name.partition("-")[0]
            if (keys is None or key in keys) and not (parent == layout.live and is_owned(folder)):
                found.setdefault(key, []).append(folder)
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


def finished(layout: Layout, lineage: str) -> list[tuple[dict[str, Any], Path]]:
    """The facts of the state of every finished run of a lineage; a broken one is set aside with a warning."""
    names = sorted(inodes(layout.lineages / lineage))
    if not names and not layout.lineages.is_dir():
        names = _remember_all(layout).get(lineage, [])
    found = []
    for folder in (layout.finished / name for name in names):
        if (facts := _facts(folder)) and facts.get("lineage") == lineage:
            found.append((facts, folder))
    return found


def remember(layout: Layout, lineage: str, run: str) -> None:
    """Write down that a finished run has a state: an empty file, which may be lost (then a longer run starts anew)."""
    if not layout.lineages.is_dir():
        _remember_all(layout)
    (layout.lineages / lineage).mkdir(parents=True, exist_ok=True)
    (layout.lineages / lineage / run).touch()


def notice(layout: Layout, run: StoredRun) -> None:
    """Write down what a run has that came from another store."""
    if run.state == "finished" and has_state(run.folder) and (facts := _facts(run.folder)) and facts.get("lineage"):
        with suppress(OSError):
            remember(layout, str(facts["lineage"]), run.id)


def _remember_all(layout: Layout) -> dict[str, list[str]]:
    """The finished runs with a state by their lineage: all are looked at, once for a store that can be written to."""
    known: dict[str, list[str]] = {}
    for folder in folders(layout.finished):
        if (facts := _facts(folder)) and facts.get("lineage"):
            known.setdefault(str(facts["lineage"]), []).append(folder.name)
    draft = layout.root / f".lineages-{token()}"
    with suppress(OSError):
        draft.mkdir()  # not with what is above it: a question makes no store
        for lineage, names in known.items():
            (draft / lineage).mkdir()
            for name in names:
                (draft / lineage / name).touch()
        if not renamed(draft, layout.lineages):
            discard(draft)
    return known


def _facts(folder: Path) -> dict[str, Any] | None:
    """What the state of a finished run says of itself; None if it has none, or a broken one, which is set aside."""
    if not has_state(folder):
        return None
    try:
        return read_facts(folder)
    except DamagedError as error:
        set_aside(folder, error.what)
    return None


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


def supersede(layout: Layout, published: Mapping[str, tuple[str, tuple[Any, Any] | None]]) -> None:
    """Delete the attempts that published runs replace: by key the id of each, and how far it is if not to its end.

    Of the attempts at a key that is all but the run itself, or those whose state is not further than it.
    """
    known = attempts(layout, published.keys()) if published else {}
    for key in published.keys() & known.keys():
        but, at = published[key]
        for folder in known[key]:
            if folder.name != but and (at is None or _is_behind(folder, at)):
                discard(folder)


def _is_behind(folder: Path, at: tuple[Any, Any]) -> bool:
    try:
        facts = read_facts(folder)
        return (facts["at"], facts["gradients"]) <= at
    except (DamagedError, KeyError):  # only records: they are not ours to judge
        return False
