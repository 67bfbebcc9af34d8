"""Ctrl-C and SIGTERM: heard once, and not lost where an exception would be swallowed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

# Set by a signal that a command has heard. JAX has a callback in the garbage collector, and an exception that a signal
# raises there is ignored (1 of 60 early Ctrl-C): whoever starts long work looks here as well.
_HEARD = threading.Event()
_HELD = threading.local()  # the switch of a thread


class Switch:
    """Ctrl-C for a thread that no signal reaches: a worker's, told by another thread or from another machine.

    >>> switch, cancel = Switch(), threading.Event()
    >>> with switch.held(), listening(cancel):
    ...     switch.press()
    ...     cancel.is_set()
    True
    """

    def __init__(self) -> None:
        self.pressed = threading.Event()
        self._lock = threading.Lock()
        self._listening: list[threading.Event] = []

    def press(self) -> None:
        """Tells whatever listens, now or later, in a thread that holds this switch; twice is as once."""
        with self._lock:
            self.pressed.set()
            for cancel in self._listening:
                cancel.set()

    @contextmanager
    def held(self) -> Iterator[None]:
        """What listens in this thread meanwhile hears this switch, too."""
        before = getattr(_HELD, "switch", None)
        _HELD.switch = self
        try:
            yield
        finally:
            _HELD.switch = before

    @contextmanager
    def telling(self, cancel: threading.Event) -> Iterator[None]:
        """Pressing sets `cancel` meanwhile."""
        with self._lock:
            self._listening.append(cancel)
            if self.pressed.is_set():
                cancel.set()
        try:
            yield
        finally:
            with self._lock:
                self._listening.remove(cancel)


@contextmanager
def listening(cancel: threading.Event) -> Iterator[None]:
    """Ctrl-C, SIGTERM and the switch of this thread set `cancel`; a second signal raises.

    Signals come to the main thread only: elsewhere nobody listens to them.
    """

    def hear(signum: int, frame: Any) -> None:
        if cancel.is_set():
            raise KeyboardInterrupt
        cancel.set()

    switch: Switch | None = getattr(_HELD, "switch", None)
    with _handled_by(hear), nullcontext() if switch is None else switch.telling(cancel):
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
