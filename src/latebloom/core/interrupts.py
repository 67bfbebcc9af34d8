"""Ctrl-C and SIGTERM: heard once, and not lost where an exception would be swallowed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Set by a signal that a command has heard. JAX has a callback in the garbage collector, and an exception that a signal
# raises there is ignored (1 of 60 early Ctrl-C): whoever starts long work looks here as well.
_HEARD = threading.Event()


@contextmanager
def listening(cancel: threading.Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM set `cancel`, a second one raises; elsewhere than in the main thread nobody listens."""

    def hear(signum: int, frame: Any) -> None:
        if cancel.is_set():
            raise KeyboardInterrupt
        cancel.set()

    with _handled_by(hear):
        if _HEARD.is_set():
            cancel.set()
        yield


@contextmanager
def raising() -> Iterator[None]:
    """Ctrl-C and SIGTERM raise KeyboardInterrupt, and are remembered should that be swallowed: for a whole command."""

    def hear(signum: int, frame: Any) -> None:
        _HEARD.set()
        raise KeyboardInterrupt

    with _handled_by(hear):
        try:
            yield
        finally:
            _HEARD.clear()


@contextmanager
def _handled_by(handler: Any) -> Iterator[None]:
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # Ignored on purpose (a shell's background job), or not Python's to restore: left alone.
    mine = {number: old for number, old in before.items() if old not in (signal.SIG_IGN, None)}
    for number in mine:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in mine.items():
            signal.signal(number, old)
