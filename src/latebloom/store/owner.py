"""Who writes a live run, and whether that process is still there."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from latebloom.store.files import read_json, write_json
from latebloom.store.paths import OWNER

# A process on another machine cannot be asked, so a day without a record is taken for its death.
_SILENCE = 24 * 3600.0


def sign(folder: Path) -> None:
    """Write down that this process owns the folder."""
    write_json(folder / OWNER, _identity(os.getpid()))


def resign(folder: Path) -> None:
    """Give the folder up: from now on it counts as abandoned."""
    (folder / OWNER).unlink(missing_ok=True)


def is_owned(folder: Path) -> bool:
    """Whether the process that signed the folder is still running."""
    try:
        owner = read_json(folder / OWNER)
        modified = max(path.stat().st_mtime for path in [folder, *folder.iterdir()])
    except (OSError, ValueError):
        return False
    if owner.get("host") != _host():
        return time.time() - modified < _SILENCE
    pid = owner.get("pid")
    # The start time too: process numbers are used again, in containers at once.
    return isinstance(pid, int) and _exists(pid) and owner == _identity(pid)


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
    except ProcessLookupError:
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
