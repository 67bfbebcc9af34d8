"""This process: one shard after the other, each on all cores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from latebloom.engine.scheduler import cores
from latebloom.errors import check_count
from latebloom.sweeps.places.base import AbstractPlace
from latebloom.sweeps.shards import Done, Shard


class Here(AbstractPlace):
    """This process, whose threads share out the runs of a shard; one a core by default."""

    def __init__(self, threads: int | None = None):
        self.threads = cores() if threads is None else check_count("workers", threads)

    def run(
        self,
        work: Callable[[Shard], Done],
        shards: Sequence[Shard],
        done: Callable[[Done], None],
        cancel: threading.Event,
    ) -> None:
        for shard in shards:
            if cancel.is_set():
                return
            made = work(shard)
            if made.interrupted:
                cancel.set()
            done(made)
