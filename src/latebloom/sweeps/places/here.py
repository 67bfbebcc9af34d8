"""This process: one shard after the other, each on all cores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from latebloom.sweeps.places.base import AbstractPlace
from latebloom.sweeps.shards import Done, Shard


class Here(AbstractPlace):
    """This process, whose threads share out the runs of a shard."""

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
