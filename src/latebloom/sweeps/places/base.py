"""What a place is: it computes shards and hands back what became of them."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Self

from latebloom.sweeps.shards import Done, Shard


class AbstractPlace(ABC):
    """Somewhere shards are computed, by as many workers as it has; use it in a `with` block, which lets these go."""

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
        it is in the store, and the rest is not begun. Workers stay for the next call, until `close`.
        """

    def close(self) -> None:  # noqa: B027  # a place without workers of its own has nothing to let go
        """Lets workers go that were kept from one call of `run` to the next."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
