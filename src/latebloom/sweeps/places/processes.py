"""This machine, in processes of its own: a worker that dies takes nothing with it but what it was just doing."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from latebloom.core.threads import ROUNDING_CORES, rounding_cores
from latebloom.errors import check_count
from latebloom.sweeps.places.base import AbstractPlace
from latebloom.sweeps.places.ledger import Ledger
from latebloom.sweeps.places.worker import receive, send
from latebloom.sweeps.shards import Done, Shard

Work = Callable[[Shard], Done]
LISTEN = 0.1  # seconds between two looks at whether it is cancelled
GRACE = 10.0  # seconds that workers have to save and leave, before they are killed


class Processes(AbstractPlace):
    """So many processes on this machine, each on one thread, that are given one shard after the other.

    They begin as new processes and are no copies of this one, which JAX would not survive. A network is rounded as in
    this process, whatever the number of workers: they are told how many cores XLA counts here.

    >>> Processes(2)
    Processes(2)
    """

    def __init__(self, workers: int) -> None:
        self.workers = check_count("workers", workers)
        self._idle: list[Worker] = []

    def __repr__(self) -> str:
        return f"Processes({self.workers})"

    def run(self, work: Work, shards: Sequence[Shard], done: Callable[[Done], None], cancel: threading.Event) -> None:
        if not shards or cancel.is_set():
            return
        office = _Office(work, shards, self._idle)
        try:
            office.open(min(self.workers, len(shards)))
            self._listen(office, done, cancel)
        except BaseException:
            office.close(kill=True)
            raise
        office.close()
        if office.errors:
            raise office.errors[0]

    def _listen(self, office: _Office, done: Callable[[Done], None], cancel: threading.Event) -> None:
        """Hands over what comes back; ends when nothing more will."""
        while office.ledger.open and not (cancel.is_set() or office.errors):
            office.hear(done, LISTEN)
        if office.ledger.open:
            office.stop()
        office.join(GRACE, lambda: office.hear(done, LISTEN))

    def close(self) -> None:
        for worker in self._idle:
            worker.leave()
        while self._idle:
            self._idle.pop().wait(GRACE)


class _Office:
    """Threads that each keep one worker busy, and start another when it dies."""

    def __init__(self, work: Work, shards: Sequence[Shard], idle: list[Worker]) -> None:
        self.work, self.idle = work, idle
        self.ledger = Ledger(shards)
        self.errors: list[Exception] = []
        self.todo: SimpleQueue[Shard | None] = SimpleQueue()
        self.heard: SimpleQueue[tuple[str, Any, Any]] = SimpleQueue()  # how, which shard, and what came of it
        self.stopping = threading.Event()
        self.busy: list[Worker] = []
        self.lock = threading.Lock()
        for shard in shards:
            self.todo.put(shard)

    def open(self, seats: int) -> None:
        self.threads = [threading.Thread(target=self._sit, daemon=True) for _ in range(seats)]
        for thread in self.threads:
            thread.start()

    def _sit(self) -> None:
        worker, shard = None, None
        try:
            while (shard := self.todo.get()) is not None and not self.stopping.is_set():
                worker = worker or self._hire()
                try:
                    kind, answer = worker.ask(self.work, shard)
                except DeadError as error:
                    kind, answer = "lost", str(error)
                if kind == "lost" or (isinstance(answer, Done) and answer.interrupted):
                    worker = self._dismiss(worker)
                self.heard.put((kind, shard, answer))
        except Exception as error:  # e.g. no more processes: said by whoever listens
            self.heard.put(("error", shard, error))
        finally:
            if worker is not None:
                self._dismiss(worker, back=not self.stopping.is_set())

    def _hire(self) -> Worker:
        with self.lock:
            worker = self.idle.pop() if self.idle else Worker()
            self.busy.append(worker)
        if self.stopping.is_set():
            worker.leave()
        return worker

    def _dismiss(self, worker: Worker, *, back: bool = False) -> None:
        with self.lock:
            self.busy.remove(worker)
            if back:
                self.idle.append(worker)
        if not back:
            worker.leave()
            worker.wait(GRACE)

    def hear(self, done: Callable[[Done], None], seconds: float) -> None:
        """Writes one answer down, if there is one within this time."""
        try:
            kind, shard, answer = self.heard.get(timeout=seconds)
        except Empty:
            return
        again: list[Shard] = []
        whole: Done | None = None
        if kind == "error":
            self.errors.append(answer)
        elif self.stopping.is_set():  # what is saved is in the store, and nobody goes on with it now
            whole = self.ledger.left(shard, answer) if kind == "done" else None
        elif kind == "lost":
            again, whole = self.ledger.lost(shard, answer)
        elif answer.interrupted:
            again, whole = self.ledger.stopped(shard, "at a signal")
        else:
            whole = self.ledger.made(shard, answer)
        for shard in again:
            self.todo.put(shard)
        if whole is not None:
            done(whole)

    def stop(self) -> None:
        """Workers save what they are doing and leave."""
        self.stopping.set()
        with self.lock:
            for worker in self.busy:
                worker.leave()

    def join(self, seconds: float, meanwhile: Callable[[], None]) -> None:
        """Waits for every thread, and for the answers that are on their way."""
        for _ in self.threads:
            self.todo.put(None)
        until = time.monotonic() + seconds
        while any(thread.is_alive() for thread in self.threads) and time.monotonic() < until:
            meanwhile()
        while not self.heard.empty():
            meanwhile()

    def close(self, *, kill: bool = False) -> None:
        """What does not leave is killed."""
        self.stopping.set()
        for _ in self.threads:
            self.todo.put(None)
        with self.lock:
            left = list(self.busy)
        for worker in left:
            worker.kill()
        for thread in self.threads:
            thread.join()


class DeadError(Exception):
    """A worker is gone."""


class Worker:
    """A process that computes shards."""

    def __init__(self) -> None:
        path = os.pathsep.join(sys.path)
        environment = os.environ | {"PYTHONPATH": path, ROUNDING_CORES: str(rounding_cores())}
        # A group of its own: Ctrl-C on a terminal is the parent's, and told to the workers once.
        group: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}
        command = [sys.executable, "-P", "-m", "latebloom.sweeps.places.worker"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, **group
        )

    def ask(self, work: Work, shard: Shard) -> tuple[str, Any]:
        """What became of the shard: "done" and how, or "error" and which; raises if the worker is gone."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            send(self.process.stdin, pickle.dumps((work, shard)))
            answer = receive(self.process.stdout)
        except (OSError, ValueError):  # gone; told to leave
            answer = None
        if answer is None:
            raise DeadError(self._end())
        return pickle.loads(answer)

    def _end(self) -> str:
        """How it ended."""
        code = self.process.wait()
        if code >= 0:
            return f"with exit code {code}"
        return f"of {signal.Signals(-code).name}" + (", as when memory runs out" if code == -signal.SIGKILL else "")

    def leave(self) -> None:
        """Tells it to save and leave: nothing more will come."""
        assert self.process.stdin is not None
        with suppress(OSError):  # it is gone
            self.process.stdin.close()

    def wait(self, seconds: float) -> None:
        """Until it is gone, by itself within this time."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def kill(self) -> None:
        """At once."""
        self.process.kill()
        self.process.wait()
