"""Compiled programs, let go before there are too many of them for the system."""

from __future__ import annotations

import gc
import time
from pathlib import Path

# A program takes two to a dozen pieces of memory, and Linux lets a process have 65,530: beyond that the compiler fails,
# and the process with it. The whole catalog in one process, without this, stops at its 71st entry.
MOST = 30_000
PIECES = Path("/proc/self/maps")
PAUSE = 1.0  # seconds between two looks, of 1 to 30 ms: nobody compiles thousands of programs meanwhile
_looked = [-PAUSE]  # when, last


def release_programs() -> bool:
    """Whether the programs compiled so far were let go, because they are many; what is used again is compiled again.

    It is asked before every call of the scheduler and every study, and looks once a second.
    """
    if time.monotonic() < _looked[0] + PAUSE or not PIECES.exists():
        return False
    _looked[0] = time.monotonic()
    with PIECES.open("rb") as pieces:
        if sum(1 for _ in pieces) < MOST:
            return False
    import jax

    jax.clear_caches()
    gc.collect()
    return True
