"""Compiled programs, let go before there are too many of them for the system."""

from __future__ import annotations

import gc
from pathlib import Path

# A program takes two to a dozen pieces of memory, and Linux lets a process have 65,530: beyond that the compiler fails,
# and the process with it. The whole catalog in one process, without this, stops at its 71st entry.
MOST = 30_000
PIECES = Path("/proc/self/maps")


def release_programs() -> bool:
    """Whether the programs compiled so far were let go, because they are many; what is used again is compiled again."""
    if not PIECES.exists():
        return False
    with PIECES.open("rb") as pieces:
        if sum(1 for _ in pieces) < MOST:
            return False
    import jax

    jax.clear_caches()
    gc.collect()
    return True
