"""Who computes a run: of several processes with one store, each run is one's.

A claim is a file `claims/<key>.<n>`, a link to a file that says who its owner is: of two processes one makes it,
and nobody sees half of it. The claim of an owner that died is not taken away but outnumbered, by `<key>.<n + 1>`: no
process can take from another what it has just taken itself, as it could by a rename. Claims are given up when the run
is in the store; whoever has just made one looks there again before computing.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from latebloom.store.atomic import make_folder, token
from latebloom.store.errors import BROKEN, writing
from latebloom.store.formats import read_json
from latebloom.store.layout import Layout, is_running, write_identity

HEARTBEAT = 30.0  # seconds between two signs of life
SILENCE = 300.0  # a process on another machine cannot be asked: after so long without a sign it counts as dead
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}


class Claims:
    """The claims of one process on the runs of a store; use it in a `with` block, which gives up what is left."""

    def __init__(self, layout: Layout) -> None:
        self._folder = layout.claims
        self._root, self._finished = layout.root, layout.finished
        self._owner = self._folder / f".owner-{os.getpid()}-{token()}"
        self._held: dict[str, list[Path]] = {}
        self._over = threading.Event()
        self._beating: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._beating is not None:
            self._beating.join()
        self.release(list(self._held))
        with suppress(OSError):
            self._owner.unlink(missing_ok=True)

    def take(self, key: str) -> bool:
        """Whether this process is now the one that computes the run; False if another living one is."""
        if key in self._held:
            return True
        if self._beating is None:
            self._begin()
        lost: list[Path] = []  # claims of the dead
        with writing(self._root):
            while True:
                mine = self._folder / f"{key}.{len(lost) + 1}"
                if self._make(mine):
                    self._held[key] = [*lost, mine]
                    return True
                if self._is_alive(mine):
                    return False
                lost.append(mine)

    def living(self) -> set[str]:
        """The keys of the runs that some process computes now."""
        with suppress(OSError):
            there = [file for file in self._folder.iterdir() if file.suffix[1:].isdigit()]
            return {file.stem for file in there if self._is_alive(file)}
        return set()

    def release(self, keys: Iterable[str]) -> None:
        """Give up these claims: the runs are in the store, or somebody else may compute them."""
        for key in keys:
            for claim in self._held.pop(key, []):  # the oldest first: while one is left, nobody counts from anew
                with suppress(OSError):
                    claim.unlink(missing_ok=True)

    def _begin(self) -> None:
        with writing(self._root):
            make_folder(self._folder)
            write_identity(self._owner)
        self._tidy()
        self._beating = threading.Thread(target=self._beat, name="claims", daemon=True)
        self._beating.start()

    def _tidy(self) -> None:
        """Removes what the dead left: their signs of life, and claims on runs that are in the store."""
        for file in list(self._folder.iterdir()):
            key, _, number = file.name.rpartition(".")
            done = number.isdigit() and os.path.lexists(self._finished / key)
            if (done or file.name.startswith(".owner-")) and file != self._owner and not self._is_alive(file):
                with suppress(OSError):
                    file.unlink(missing_ok=True)

    def _beat(self) -> None:
        while not self._over.wait(HEARTBEAT):
            for file in [self._owner, *(claims[-1] for claims in list(self._held.values()))]:
                with suppress(OSError):
                    os.utime(file)

    def _make(self, claim: Path) -> bool:
        """Whether the file was made by this process."""
        try:
            os.link(self._owner, claim)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        else:
            return True
        try:
            with claim.open("x", encoding="utf-8") as file:
                file.write(self._owner.read_text(encoding="utf-8"))
        except FileExistsError:
            return False
        return True

    def _is_alive(self, claim: Path) -> bool:
        """Whether the owner of a claim runs; one that is given up meanwhile has ended its work."""
        try:
            owner, silent = read_json(claim), self._now() - claim.stat().st_mtime
        except FileNotFoundError:
            return True
        except (OSError, *BROKEN):  # half written, on a disk without links
            with suppress(OSError):
                return self._now() - claim.stat().st_mtime < HEARTBEAT
            return True
        return is_running(owner, silent=silent, most=SILENCE)

    def _now(self) -> float:
        """The time on the clock of the disk, which may be another machine's."""
        if self._beating is not None:
            with suppress(OSError):
                os.utime(self._owner)
                return self._owner.stat().st_mtime
        return time.time()
