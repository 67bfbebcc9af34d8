"""Where things are: the folders of a store, the files of a run, its key, and the process that writes it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from latebloom.core.json import plain
from latebloom.errors import InputError
from latebloom.store.errors import BROKEN, StoreError, reason
from latebloom.store.formats import read_json, write_json

CONFIGURATION = "configuration.json"
SUMMARY = "summary.json"
RECORDS = "records.parquet"
STREAM = "records.arrows"
ARRAYS = "arrays.npz"
STATE = "state.npz"
USELESS = "useless-state.npz"  # a state that could not be used
OWNER = "owner.json"

State = Literal["finished", "partial", "live", "abandoned"]
STATES: tuple[State, ...] = ("finished", "partial", "live", "abandoned")
Place = tuple[State, Path]  # where a run is says which state it is in

_ID = re.compile(r"[0-9a-f]{16}(-[0-9a-f]+)*")
# A process on another machine cannot be asked, so a day without a record is taken for its death.
_SILENCE = 24 * 3600.0


def default_path() -> Path:
    """The folder in LATEBLOOM_STORE, else `store` in the user's data folder of this platform."""
    chosen = os.environ.get("LATEBLOOM_STORE")
    if chosen:
        return checked_path(chosen, "LATEBLOOM_STORE")
    from platformdirs import user_data_path

    return user_data_path("latebloom") / "store"


def checked_path(path: str | os.PathLike[str], what: str = "store") -> Path:
    """The path in full, refused where no folder can be."""
    if isinstance(path, str) and not path.strip():
        raise InputError(f"{what}={path!r} names no folder: give one, or leave it out for your own")
    try:
        folder = Path(path).expanduser().absolute()
        is_other = os.path.lexists(folder) and not folder.is_dir()
    except RuntimeError:
        raise InputError(f"{what}={str(path)!r}: there is no such user; write the path in full") from None
    except TypeError:
        raise InputError(f"{what}={path!r} is not a path: give the folder as text") from None
    if "\0" in str(folder):
        raise InputError(f"{what}={path!r} is not a path: give the folder as text")
    if is_other:
        raise InputError(f"{what}={str(path)!r} is not a folder: give a folder, which is made if it is not there")
    return folder


@dataclass(frozen=True)
class Layout:
    """The folders below the root of a store."""

    root: Path

    @property
    def finished(self) -> Path:
        """Complete runs, each named by its key."""
        return self.root / "runs"

    @property
    def partial(self) -> Path:
        """Interrupted runs that were written down in order: `<key>-<random>`."""
        return self.root / "partial"

    @property
    def live(self) -> Path:
        """Runs being written, or left by a process that died: `<key>-<pid>-<random>`."""
        return self.root / "live"

    @property
    def damaged(self) -> Path:
        """Runs that could not be read, moved aside: `<id>-<n>`."""
        return self.root / "damaged"

    @property
    def sweeps(self) -> Path:
        """What sweeps are made of: `<name>.json`."""
        return self.root / "sweeps"

    @property
    def claims(self) -> Path:
        """Who computes a run that is not there yet: `<key>.<n>`."""
        return self.root / "claims"

    @property
    def index(self) -> Path:
        """The SQLite index; it may be deleted at any time."""
        return self.root / "index.sqlite"

    @property
    def table(self) -> Path:
        """What is known of all runs as columns; it may be deleted at any time."""
        return self.root / "table.arrow"

    @property
    def lineages(self) -> Path:
        """Which finished runs a longer one can go on from: `<lineage>/<key>`, empty files."""
        return self.root / "lineages"

    def parent(self, state: State) -> Path:
        """The folder that runs in this state are in."""
        return {"finished": self.finished, "partial": self.partial}.get(state, self.live)

    def unpublished(self) -> list[Place]:
        """State and folder of every run that is being written or was left by a process that died."""
        live = [folder for folder in folders(self.live) if os.path.lexists(folder / CONFIGURATION)]
        return [("live" if is_owned(folder) else "abandoned", folder) for folder in live]

    def places(self) -> list[Place]:
        """State and folder of every run, from the names of the folders alone."""
        # The live ones first: one that is published meanwhile is then seen twice and not missed.
        found = self.unpublished()
        found.extend(("partial", folder) for folder in folders(self.partial))
        found.extend(("finished", folder) for folder in folders(self.finished))
        return found


def is_id(text: str) -> bool:
    """Whether a text is a whole id."""
    return _ID.fullmatch(text) is not None


def folders(parent: Path) -> list[Path]:
    """The runs in `parent`, sorted; none if it does not exist."""
    return [parent / name for name in sorted(inodes(parent))]


def inodes(parent: Path) -> dict[str, int]:
    """The runs in `parent` by their names, each with the number by which the file system knows its folder.

    Anything else there is not ours: a note somebody left, a run on its way out (`.deleted-…`). What has the name of a
    run and is no folder is a damaged run.
    """
    try:
        with os.scandir(parent) as entries:
            return {entry.name: entry.inode() for entry in entries if _ID.fullmatch(entry.name)}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        text = f"cannot read {parent} ({reason(error)}): check its permissions or choose another with --store DIR"
        raise StoreError(text) from error


def canonical(configuration: Mapping[str, Any]) -> str:
    """The one text of a configuration: sorted keys, no spaces, floats by their shortest exact text.

    >>> canonical({"b": 0.00001, "a": (1, 2)})
    '{"a":[1,2],"b":1e-05}'
    """
    value = plain(configuration, "configuration", lossless=True)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def run_key(configuration: Mapping[str, Any]) -> str:
    """The identity of a run: the first 16 hexadecimal digits of the SHA-256 of the canonical text.

    >>> run_key({"learning_rate": 1e-2, "steps": 10}) == run_key({"steps": 10, "learning_rate": 0.01})
    True
    """
    return hashlib.sha256(canonical(configuration).encode()).hexdigest()[:16]


def sign(folder: Path) -> None:
    """Write down that this process owns the folder."""
    write_identity(folder / OWNER)


def write_identity(path: Path) -> None:
    """Write down which process this is."""
    write_json(path, _identity(os.getpid()))


def resign(folder: Path) -> None:
    """Give the folder up: from now on it counts as abandoned."""
    (folder / OWNER).unlink(missing_ok=True)


def is_owned(folder: Path) -> bool:
    """Whether the process that signed the folder is still running."""
    try:
        owner = read_json(folder / OWNER)
    except (OSError, *BROKEN):
        return False
    silent = 0.0 if owner.get("host") == _host() else time.time() - _last_write(folder)
    return is_running(owner, silent=silent, most=_SILENCE)


def is_running(owner: Mapping[str, Any], *, silent: float, most: float) -> bool:
    """Whether a process runs, by its identity; one of another machine, if it was not silent for longer than `most`."""
    if owner.get("host") != _host():
        return silent < most
    pid = owner.get("pid")
    # The start time too: process numbers are used again, in containers at once.
    return isinstance(pid, int) and pid > 0 and _exists(pid) and owner == _identity(pid)


def _last_write(folder: Path) -> float:
    times = [0.0]
    with suppress(OSError):  # published meanwhile
        for path in [folder, *folder.iterdir()]:
            with suppress(OSError):  # a draft that got its name meanwhile
                times.append(path.stat().st_mtime)
    return max(times)


def _identity(pid: int) -> dict[str, Any]:
    return {"host": _host(), "pid": pid, "started": _started(pid)}


def _host() -> str:
    import socket

    return socket.gethostname()


def _exists(pid: int) -> bool:
    if os.name == "nt":  # signal 0 is Ctrl-C there; better to believe the owner alive than to stop it
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # no process has a number beyond the system's
        return False
    except PermissionError:
        return True
    return True


def _started(pid: int) -> str | None:
    """Start of the process in clock ticks since boot, where the system tells (Linux); none for a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # Fields 3 and 22 of proc(5); field 2, the name of the command, may itself contain spaces.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[19]
