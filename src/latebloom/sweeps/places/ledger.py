"""What is still to be done after a worker died: the same again, then cell by cell, then a sentence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from latebloom.sweeps.shards import Done, Shard

DEATHS = 3  # workers that a cell may take with it
STOPS = (
    50  # workers that were told to leave in the middle and saved what they had: a queue's time limit, a drained node
)


class Ledger:
    """The shards of one call, each whole or in parts of one cell, and what came back of them.

    A shard whose worker died goes to another one as it is, since its finished runs are in the store. When that one
    dies as well, its cells go one by one: the cell that takes too much memory fails, and no other with it.
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._whole = {shard.number: shard for shard in shards}
        self._deaths: Counter[tuple[int, tuple[int, ...]]] = Counter()
        self._stops: Counter[tuple[int, tuple[int, ...]]] = Counter()
        self._parts: dict[int, list[tuple[Shard, Done]]] = defaultdict(list)

    @property
    def open(self) -> bool:
        """Whether some shard is not over."""
        return bool(self._whole)

    def lost(self, shard: Shard, how: str) -> tuple[list[Shard], Done | None]:
        """What to do in its place after a worker died with it; the shard's result where nothing is."""
        key = (shard.number, shard.cells)
        self._deaths[key] += 1
        is_whole = shard.cells == self._whole[shard.number].cells
        if is_whole and len(shard.cells) > 1 and self._deaths[key] == DEATHS - 1:
            return [replace(shard, cells=(cell,)) for cell in shard.cells], None
        if is_whole and self._deaths[key] < DEATHS:
            return [shard], None
        return [], self._given_up(
            shard, f"{DEATHS} workers died over it, the last {how}: see `latebloom run` of it alone"
        )

    def stopped(self, shard: Shard, how: str) -> tuple[list[Shard], Done | None]:
        """The same after a worker was told to leave: what was begun is in the store, and another one goes on."""
        key = (shard.number, shard.cells)
        self._stops[key] += 1
        if self._stops[key] <= STOPS:
            return [shard], None
        return [], self._given_up(shard, f"{STOPS} workers left before its end, the last {how}")

    def made(self, shard: Shard, done: Done) -> Done | None:
        """The result of the whole shard, if this was the last part of it."""
        whole = self._whole[shard.number]
        parts = self._parts[shard.number]
        parts.append((shard, done))
        if sum(len(part.cells) for part, _ in parts) < len(whole.cells):
            return None
        del self._whole[shard.number], self._parts[shard.number]
        ids = {cell: key for part, made in parts for cell, key in zip(part.cells, made.ids, strict=True)}
        return replace(
            done,
            ids=tuple(ids[cell] for cell in whole.cells),
            computed=sum(made.computed for _, made in parts),
            seconds=sum(made.seconds for _, made in parts),
            failed={cell: why for _, made in parts for cell, why in made.failed.items()},
        )

    def left(self, shard: Shard, done: Done) -> Done | None:
        """What to tell of a shard that came back when everybody was told to stop; of a part of one, nothing."""
        return done if shard.cells == self._whole[shard.number].cells else None

    def _given_up(self, shard: Shard, why: str) -> Done | None:
        nothing = tuple(None for _ in shard.cells)
        return self.made(shard, Done(shard.number, nothing, 0, 0.0, dict.fromkeys(shard.cells, why)))
