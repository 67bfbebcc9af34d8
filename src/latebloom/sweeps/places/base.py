"""What a place is: it computes shards and hands back what became of them."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from latebloom.sweeps.shards import Done, Shard


class AbstractPlace(ABC):
    """Somewhere shards are computed, by as many workers as it has."""

    workers: int = 1  # how many shards it computes at a time, to the best of its knowledge
    threads: int = 1  # on how many cores it computes each

    @abstractmethod
    def run(
        self,
        work: Callable[[Shard], Done],
        shards: Sequence[Shard],
        done: Callable[[Done], None],
        cancel: threading.Event,
    ) -> None:
        """Calls `work` on every shard, on some worker, and `done` with each result as it comes, in this thread.

        A worker that dies loses its shard, which is given to another. When `cancel` is set, what was begun is left as
        it is in the store, and the rest is not begun.
        """
