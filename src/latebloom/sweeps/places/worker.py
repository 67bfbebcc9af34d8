"""A worker process: shards come on its standard input, what became of them goes to its standard output.

`python -m latebloom.sweeps.places.worker` is started by `processes.py` and by nobody else. It is not made by
multiprocessing, which would run the user's script once more in each worker, and cannot from a notebook or a pipe.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import struct
import sys
import threading
import time
from queue import SimpleQueue
from typing import IO, Any

from latebloom.core.interrupts import Switch, raising
from latebloom.errors import LatebloomError

LENGTH = struct.Struct("!Q")  # before each message, how many bytes it has
GRACE = 20.0  # seconds that a worker whose parent is gone may take to leave, e.g. to end a compilation


def send(stream: IO[bytes], message: bytes) -> None:
    """One message, whole."""
    stream.write(LENGTH.pack(len(message)) + message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """The next message; None if whoever writes is gone, or died in the middle of one."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    message = stream.read(length)
    return message if len(message) == length else None


def main() -> None:
    """Works until there is nothing more to hear, a signal comes, or the parent is gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed is no answer
    sys.stderr = _Plain(sys.stderr.buffer, line_buffering=True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, who tells its workers once
    switch: Switch = Switch()
    messages: SimpleQueue[bytes | None] = SimpleQueue()
    threading.Thread(target=_hear, args=(sys.stdin.buffer, messages, switch), daemon=True).start()
    try:
        with raising(), switch.held():
            while (message := messages.get()) is not None and not switch.pressed.is_set():
                kind, answer = _answer(message)
                send(answers, pickle.dumps((kind, answer)))
                if kind == "done" and answer.interrupted:
                    return
    except (KeyboardInterrupt, BrokenPipeError):  # told to stop between two runs; nobody is there to hear
        pass


def _hear(stream: IO[bytes], messages: SimpleQueue[bytes | None], switch: Switch) -> None:
    """Hands messages on; when there are no more, what is being done is to stop, and soon."""
    while (message := receive(stream)) is not None:
        messages.put(message)
    switch.press()
    messages.put(None)
    time.sleep(GRACE)
    os._exit(1)


def _answer(message: bytes) -> tuple[str, Any]:
    """What became of a shard, or the error that its work raised."""
    try:
        work, shard = pickle.loads(message)
        return "done", work(shard)
    except Exception as error:
        return "error", portable(error)


def portable(error: Exception) -> Exception:
    """An error that another process can read: itself, or its sentence."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        text = str(error) or type(error).__name__
        return LatebloomError(text) if isinstance(error, LatebloomError) else RuntimeError(text)
    return error


class _Plain(io.TextIOWrapper):
    """Standard error without progress bars: those of eight workers would be drawn over each other."""

    def isatty(self) -> bool:
        return False


if __name__ == "__main__":
    main()
    sys.stderr.flush()
    os._exit(0)  # an interpreter with JAX takes seconds to take itself apart on a busy machine, and Ctrl-C waits for it
