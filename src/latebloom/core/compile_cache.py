"""Compiled programs kept between processes, in the user's cache folder: a second process need not compile them again.

JAX's own cache writes a program where others read it, so that they may find half of it, and a half stays there for
good. Here a program is written as a draft and renamed, and read with its checksum.

`LATEBLOOM_CACHE=off` switches it off, `LATEBLOOM_CACHE=FOLDER` moves it; JAX's own setting wins over both.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

SWITCH = "LATEBLOOM_CACHE"
OFF = ("off", "0", "no", "false")
LIMIT = 2**30  # bytes: the programs used longest ago go first; a figure has about 40 of 10 kB
LOOK_EVERY = 2**24  # bytes written by a process before it looks at the size of the folder again
DIGEST = 16  # bytes


def cache_root() -> Path | None:
    """The folder of the cache, for all processors and versions; None where it is switched off."""
    said = os.environ.get(SWITCH, "").strip()
    if said.lower() in OFF:
        return None
    if said:
        return Path(said).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("latebloom") / "programs"


@cache
def keep_programs() -> Path | None:
    """From now on what this process compiles is kept, and what is kept is not compiled: where, or None if it is not.

    To be called when something is about to be computed, never on import: the user shall have had the time to set JAX.
    """
    import jax

    root = cache_root()
    if root is None or jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return None
    folder = root / _tag()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK) or not _install(folder):
        return None
    jax.config.update("jax_compilation_cache_dir", str(folder))
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        # A command makes dozens of programs of 20 ms each, and reading one takes 2 ms.
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    return folder


def _install(folder: Path) -> bool:
    """JAX opens its cache when it first compiles; it shall open ours if it is asked for this folder."""
    from jax._src import compilation_cache

    theirs = getattr(compilation_cache, "get_file_cache", None)
    if theirs is None:  # a JAX of another build: none rather than one that processes may damage
        return False

    def open_cache(path: str) -> Any:
        return (ProgramCache(folder), path) if path == str(folder) else theirs(path)

    compilation_cache.get_file_cache = open_cache
    return True


class ProgramCache:
    """What JAX asks of a cache: `get` and `put`, here safe with many processes and bounded in size."""

    def __init__(self, folder: Path, *, limit: int = LIMIT):
        self._path = folder  # JAX names it so
        self.limit = limit
        self._written = LOOK_EVERY  # so that the first program looks at the size

    def get(self, key: str) -> bytes | None:
        """The program, or None where there is none or its file is damaged; a damaged one is removed."""
        path = self._path / key
        try:
            content = path.read_bytes()
        except OSError:
            return None
        digest, program = content[:DIGEST], content[DIGEST:]
        whole = digest == _digest(key, program)
        with suppress(OSError):  # another process has just removed it
            if whole:
                os.utime(path)  # used now: it goes last
            else:
                path.unlink()
        return program if whole else None

    def put(self, key: str, program: bytes) -> None:
        """Keeps a program; a full disk or a folder that is gone keeps nothing, and nobody is disturbed."""
        draft = self._path / f".{key[-32:]}-{os.getpid()}-{threading.get_ident()}"
        with suppress(OSError):
            try:
                draft.write_bytes(_digest(key, program) + program)
                draft.replace(self._path / key)
            finally:
                draft.unlink(missing_ok=True)
            self._written += len(program)
            if self._written >= LOOK_EVERY:
                self._written = 0
                shrink(self._path.parent, self.limit)


def shrink(root: Path, limit: int) -> None:
    """Above the limit, removes what was used longest ago (and drafts of dead processes) until nine tenths are left."""
    found = sorted(_files(root), key=lambda file: file[1].st_mtime)
    size = sum(stat.st_size for _, stat in found)
    if size <= limit:
        return
    for path, stat in found:
        with suppress(OSError):
            path.unlink()
        size -= stat.st_size
        if size <= 0.9 * limit:
            return


def examine_cache() -> dict[str, Any]:
    """Where the programs are, how many, how large: for `latebloom doctor`."""
    root = cache_root()
    found = list(_files(root)) if root else []
    return {
        "path": str(root) if root else f"switched off by {SWITCH}",
        "programs": len(found),
        "megabytes": round(sum(stat.st_size for _, stat in found) / 1e6, 1),
        "limit": f"{LIMIT / 1e6:.0f} megabytes, used longest ago go first",
    }


def clear_cache() -> int:
    """Removes all programs, and says how many there were."""
    root = cache_root()
    if root is None:
        return 0
    number = sum(1 for _ in _files(root))
    for folder in _folders(root):
        shutil.rmtree(folder, ignore_errors=True)
    return number


def _folders(root: Path) -> list[Path]:
    """The folders that are the cache's own, whatever else is in a folder that a user has named."""
    return [folder for folder in root.glob("jaxlib-*") if folder.is_dir()] if root.is_dir() else []


def _files(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for folder in _folders(root):
        for path in folder.iterdir():
            with suppress(OSError):  # another process has just removed it
                yield path, path.stat()


def _digest(key: str, program: bytes) -> bytes:
    return hashlib.blake2b(program, digest_size=DIGEST, key=key[-64:].encode()).digest()


def _tag() -> str:
    """The compiler and the processor: code for another one may stop the process with an illegal instruction."""
    from jaxlib.version import __version__

    return f"jaxlib-{__version__}-{_processor()}"


def _processor() -> str:
    """A digest of the processor's model and abilities."""
    told = [platform.system(), platform.machine(), platform.processor()]
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        told += [line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))]
    return hashlib.blake2b("\n".join(told).encode(), digest_size=6).hexdigest()
