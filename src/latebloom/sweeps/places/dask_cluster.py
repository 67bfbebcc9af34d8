"""A Dask cluster: shards go to its workers, runs to a store that all of them see, and ids come back."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from latebloom import __version__
from latebloom.core.interrupts import Switch
from latebloom.core.threads import ROUNDING_CORES, rounding_cores
from latebloom.errors import InputError, LatebloomError, warn
from latebloom.sweeps.places.base import AbstractPlace
from latebloom.sweeps.places.ledger import Ledger
from latebloom.sweeps.places.worker import portable
from latebloom.sweeps.shards import Done, Shard

Work = Callable[[Shard], Done]
LISTEN = 0.1  # seconds between two looks at whether it is cancelled
GRACE = 10.0  # seconds that workers have to save what they are doing
ANSWER = 10.0  # seconds in which a scheduler answers
AHEAD = 100  # shards that the scheduler of an adaptive cluster knows of, so that it sees how much there is
AGAIN = 1.0  # seconds between two looks at who is there
RETRIES = 2  # after an error on a worker, which may be that of one machine: its disk, its network


class DaskCluster(AbstractPlace):
    """The cluster with this address (`tcp://…`), or that of a `distributed.Client`.

    Its workers have this version of latebloom and the folder of the store under the same name, which is looked at
    before anything is computed. Start them with one thread each (`dask worker ADDRESS --nthreads 1`): a shard is
    computed on one core.
    """

    def __init__(self, cluster: Any, *, awaited: str = "") -> None:
        self._given = cluster
        self._awaited = awaited  # where to look for workers that come when there is work
        self._client: Any = None

    def __repr__(self) -> str:
        return f"DaskCluster({self._given!r})"

    @property
    def workers(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many shards are computed at a time, as far as the scheduler knows now."""
        return max(sum(self._connected().nthreads().values()), 1)

    def run(self, work: Work, shards: Sequence[Shard], done: Callable[[Done], None], cancel: threading.Event) -> None:
        if not shards or cancel.is_set():
            return
        client = self._connected()
        stores = {Path(shard.store).absolute() for shard in shards}
        with _seen_folders(stores) as token:
            task = Task(work, token, __version__)
            self._check(client, task, stores)
            sending = _Sending(client, task, shards, done, cancel)
            sending.awaited = self._awaited
            try:
                sending.run()
            finally:
                sending.stop()

    def close(self) -> None:
        if self._client is not None and self._client is not self._given:
            self._client.close()
        self._client = None

    def _connected(self) -> Any:
        """The client; made when it is first asked for, since the scheduler may not be there before."""
        if self._client is None:
            client = imported("distributed").Client
            if isinstance(self._given, client):
                self._client = self._given
            else:
                try:
                    self._client = client(self._given, timeout=ANSWER, set_as_default=False)
                except (OSError, ValueError, TimeoutError) as error:
                    raise InputError(
                        f"no Dask scheduler answers at {self._given!r} ({type(error).__name__}): start one with "
                        "`dask scheduler`, and give the address that it prints"
                    ) from None
        return self._client

    def _check(self, client: Any, task: Task, stores: set[Path]) -> None:
        """Refuses a cluster without workers, with another version, or without the store's folder."""
        there = client.get_versions(packages=["latebloom"])["workers"]
        if not there and not self._awaited:
            raise InputError(
                f"the Dask cluster at {client.scheduler.address} has no workers: start some with "
                f"`dask worker {client.scheduler.address} --nthreads 1`"
            )
        for worker, told in there.items():
            found = told["packages"].get("latebloom")
            if found != __version__:
                raise InputError(other_version(worker, found))
        for worker, (why, cores) in client.run(look, task.token, sorted(stores)).items():
            if why:
                raise InputError(f"the worker {worker} {why}")
            if cores != rounding_cores():
                warn(
                    f"the worker {worker} counts {cores} cores and this machine {rounding_cores()}, so that networks "
                    f"are rounded otherwise: start workers with {ROUNDING_CORES}={rounding_cores()} for the same bits"
                )
                return


class _Sending:
    """The shards of one call on their way to workers and back."""

    def __init__(
        self,
        client: Any,
        task: Task,
        shards: Sequence[Shard],
        done: Callable[[Done], None],
        cancel: threading.Event,
    ) -> None:
        self.client, self.task, self.done, self.cancel = client, task, done, cancel
        self.ledger = Ledger(shards)
        self.waiting = [replace(shard, store=os.path.abspath(shard.store)) for shard in reversed(shards)]  # noqa: PTH100
        self.under_way: dict[Any, Shard] = {}
        self.awaited = ""
        self.room, self.looked = 0, -AGAIN
        self.over: SimpleQueue[Any] = SimpleQueue()

    def run(self) -> None:
        """Until every shard is over, or it is cancelled."""
        started = time.monotonic()
        told = False
        while self.ledger.open and not self.cancel.is_set():
            self._submit()
            self._hear(LISTEN)
            if not told and time.monotonic() > started + ANSWER and not self._threads():
                told, hint = True, f", see {self.awaited}" if self.awaited else ""
                print(f"latebloom: no worker has come yet{hint}; Ctrl-C ends the waiting", file=sys.stderr)

    def stop(self) -> None:
        """Whoever works saves what it has and answers; what was not begun is forgotten."""
        if not self.under_way:
            return
        self._forget(self._idle())
        until, pressed = time.monotonic() + GRACE, -AGAIN
        while self.under_way and time.monotonic() < until:
            if time.monotonic() > pressed + AGAIN:  # again and again: a worker may just be dying, or beginning
                pressed = time.monotonic()
                with suppress(Exception):
                    self.client.run(press, self.task.token, on_error="ignore")
            self._hear(LISTEN, stopping=True)
        self._forget(list(self.under_way))

    def _idle(self) -> list[Any]:
        """What no worker has begun, as far as the scheduler knows; all of it, if there is no scheduler any more."""
        begun: set[str] = set()
        with suppress(Exception):
            begun = {key for keys in self.client.processing().values() for key in keys}
        return [future for future in self.under_way if future.key not in begun]

    def _forget(self, futures: Sequence[Any]) -> None:
        for future in futures:
            del self.under_way[future]
        with suppress(Exception):  # the scheduler may be gone
            self.client.cancel(list(futures))

    def _threads(self) -> int:
        """How many shards can be computed at a time now."""
        if time.monotonic() > self.looked + AGAIN:
            self.room, self.looked = sum(self.client.nthreads().values()), time.monotonic()
        return self.room

    def _submit(self) -> None:
        """One shard for each thread that there is, so that none waits behind a long one beside an idle worker."""
        room = max(self._threads(), AHEAD if self.awaited else 1)
        while self.waiting and len(self.under_way) < room:
            shard = self.waiting.pop()
            name = f"latebloom-{self.task.token}-{shard.number}-{uuid.uuid4().hex[:8]}"
            future = self.client.submit(self.task, shard, key=name, retries=RETRIES, pure=False)
            self.under_way[future] = shard
            future.add_done_callback(self.over.put)

    def _hear(self, seconds: float, *, stopping: bool = False) -> None:
        """Writes one answer down, if there is one within this time."""
        try:
            future = self.over.get(timeout=seconds)
        except Empty:
            return
        shard = self.under_way.pop(future, None)
        if shard is None:
            return
        again, whole = self._taken(shard, future, stopping)
        self.waiting += again
        if whole is not None:
            self.done(whole)

    def _taken(self, shard: Shard, future: Any, stopping: bool) -> tuple[list[Shard], Done | None]:
        distributed = imported("distributed")
        try:
            made = pickle.loads(future.result(timeout=ANSWER))
        except distributed.KilledWorker as error:
            return ([], None) if stopping else self.ledger.lost(shard, f"at {error.last_worker.address}")
        except (distributed.client.FutureCancelledError, OSError, TimeoutError) as error:
            if stopping:
                return [], None
            raise LatebloomError(
                f"the Dask scheduler is gone ({type(error).__name__}): what was computed is in the store, and the same "
                "call on another cluster goes on from there"
            ) from None
        if isinstance(made, str):
            raise InputError(made)
        if stopping:
            return [], self.ledger.left(shard, made)
        return (
            self.ledger.stopped(shard, "on a worker that closed")
            if made.interrupted
            else ([], self.ledger.made(shard, made))
        )


# On the worker.

_SWITCHES: dict[str, list[Switch]] = {}  # of the shards that this process computes, by the token of their sweep
_SEEN: set[str] = set()  # the tokens whose folders this process sees
_LOCK = threading.Lock()


@dataclass(frozen=True)
class Task:
    """What a worker does with a shard; it tells in a sentence if it has another version, or does not see the store."""

    work: Work
    token: str
    version: str

    def __call__(self, shard: Shard) -> bytes:
        worker = imported("distributed").get_worker()
        if self.version != __version__:
            return pickle.dumps(other_version(worker.address, __version__))
        if why := look(self.token, [Path(shard.store)])[0]:
            raise InputError(f"the worker {worker.address} {why}")
        switch = Switch()
        with _LOCK:
            _SWITCHES.setdefault(self.token, []).append(switch)
        try:
            with switch.held():
                return pickle.dumps(self.work(shard))
        except Exception as error:
            raise portable(error) from None
        finally:
            with _LOCK:
                _SWITCHES[self.token].remove(switch)


def press(token: str) -> None:
    """Tells the shards of a sweep that are computed in this process to save and end."""
    with _LOCK:
        switches = list(_SWITCHES.get(token, ()))
    for switch in switches:
        switch.press()


def look(token: str, stores: Sequence[Path]) -> tuple[str, int]:
    """Why this process cannot use the stores' folders, empty if it can; and how many cores it rounds by."""
    why = "" if token in _SEEN else next(filter(None, (_look_at(token, store) for store in stores)), "")
    if not why:
        _SEEN.add(token)
    return why, rounding_cores()


def _look_at(token: str, store: Path) -> str:
    shown = f"the store's folder {str(store)!r}"
    try:
        if (store / _named(token)).read_text(encoding="utf-8") != token:
            raise FileNotFoundError
        mine = store / f"{_named(token)}-{uuid.uuid4().hex[:8]}"
        mine.write_text(token, encoding="utf-8")
        mine.unlink()
    except FileNotFoundError:
        return f"does not see {shown}: give --store a folder that all machines share under one name"
    except OSError as error:
        return f"cannot write in {shown} ({error.strerror}): give --store a folder that all machines may write"
    return ""


@contextmanager
def _seen_folders(stores: set[Path]) -> Iterator[str]:
    """A token that is in a file of each folder, for workers to find."""
    token = uuid.uuid4().hex
    try:
        for store in stores:
            store.mkdir(parents=True, exist_ok=True)
            (store / _named(token)).write_text(token, encoding="utf-8")
        yield token
    finally:
        for store in stores:
            (store / _named(token)).unlink(missing_ok=True)


def _named(token: str) -> str:
    return f".shared-{token}"


def other_version(worker: str, found: str | None) -> str:
    """That a worker has another version than this process, or none."""
    has = f"has latebloom {found}" if found else "has no latebloom"
    return f"the worker {worker} {has} and this process {__version__}: install one version everywhere"


def imported(module: str) -> Any:
    """A package of the extra `cluster`, or what to type to have it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise InputError(f"{module} is not installed: pip install 'latebloom[cluster]'") from None
