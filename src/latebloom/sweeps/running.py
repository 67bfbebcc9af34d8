"""A sweep from its cells to their runs in a store, somewhere."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

from latebloom.core.interrupts import listening
from latebloom.core.progress import ProgressBar
from latebloom.engine.storage import Place, opened
from latebloom.errors import InputError, says_what_it_takes
from latebloom.store import Store
from latebloom.sweeps.definition import Sweep
from latebloom.sweeps.places.base import AbstractPlace
from latebloom.sweeps.places.here import Here
from latebloom.sweeps.plan import Costs, costs
from latebloom.sweeps.result import SweepResult
from latebloom.sweeps.shards import Done, Shard, look, run_cells, run_shard
from latebloom.sweeps.survey import Survey, survey
from latebloom.sweeps.written import shown_axes, write_down

ENOUGH = 2  # shards per worker in the first round, after which the rest is cut by what they took
CLOSE = 2.0  # an estimate that is within this factor stands


@says_what_it_takes
def sweep(
    sweep: Sweep | str | os.PathLike[str],
    *,
    store: Place = True,
    workers: int | None = None,
    place: AbstractPlace | None = None,
    strict: bool = False,
    fresh: bool = False,
    progress: bool | None = None,
) -> SweepResult:
    """Runs the cells of a sweep, or of its file, that are not in the store yet.

    - `store`: a store or its folder; by default your own. What is there is not computed again, and of several sweeps
      at once each run is one's.
    - `workers`: the number of threads, one a core by default.
    - `place`: where it is computed, if not in this process (`lb.sweeps.places`).
    - `strict`: an impossible cell is an error; else it is named, and skipped.
    - `fresh`: what is stored counts for nothing, and is replaced.
    - `progress`: a bar on standard error; by default only on a terminal, after two seconds.

    A run that diverges is a result, with its outcome. Ctrl-C and SIGTERM keep what was done, and the same call goes on
    from there.

    >>> import latebloom as lb, tempfile
    >>> problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12)
    >>> job = lb.TrainJob(problem, lb.GradientDescent(0.1), lb.L1(1e-3), steps=100)
    >>> seeds = lb.Sweep(job, {"problem.seed": [0, 1]}, name="seeds")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lb.sweep(seeds, store=folder).frame()["outcome"].tolist()
    ['finished', 'finished']
    """
    wanted = sweep if isinstance(sweep, Sweep) else Sweep.from_file(sweep)
    if store is None or store is False:
        raise InputError(f"store={store!r}: a sweep keeps its runs; give a folder, or leave it out for your own")
    if place is not None and workers is not None:
        raise InputError("give workers, the threads of this process, or place, not both")
    seen = survey(wanted, progress=progress)
    if text := seen.tell(strict=strict):
        print(f"latebloom: {text}", file=sys.stderr)
    result = run_cells_of(seen, opened(store), place or Here(workers), fresh=fresh, progress=progress)
    if text := result.interruption:
        print(f"latebloom: {text}", file=sys.stderr)
    return result


def run_cells_of(
    seen: Survey, store: Store, place: AbstractPlace, *, fresh: bool = False, progress: bool | None = None
) -> SweepResult:
    """Runs the cells of a sweep that was looked at, and says nothing."""
    write_down(seen, store)
    doing = _Doing(seen, store, place, fresh=fresh, progress=progress)
    doing.run()
    if doing.failed:
        write_down(seen, store, doing.failed)
    return doing.result()


class _Doing:
    """A sweep on its way."""

    def __init__(self, seen: Survey, store: Store, place: AbstractPlace, *, fresh: bool, progress: bool | None):
        self.seen, self.store, self.place, self.fresh = seen, store, place, fresh
        self.threads = place.threads
        self.ids: dict[int, str] = {}
        self.failed: dict[int, str] = {}
        self.found = 0  # in the store before anything was computed
        self.computed = 0
        self.cancel = threading.Event()
        self.bar = ProgressBar(seen.sweep.name, len(seen.possible), enabled=progress)

    def run(self) -> None:
        """Looks what is there, computes the rest, and waits for what others compute."""
        with listening(self.cancel), self.bar, self.place:
            left = self._look()
            self.found = len(self.ids)
            if left:
                estimate = costs(self.seen, left)
                self._rounds(estimate.cut(left, workers=self.place.workers, threads=self.threads), estimate)
            if left := self._left():
                self._compute([tuple(left)], wait=True)

    def _look(self) -> list[int]:
        """The cells that are not in the store."""
        for number in [] if self.fresh else self.seen.possible:
            key = self.seen.keys[number]
            assert key is not None
            found = look(self.store, key)
            if found is True:
                self.ids[number] = key
            elif found:
                self.failed[number] = found
            self.bar.update(self.over, "looking")
            if self.cancel.is_set():
                break
        return self._left()

    def _left(self) -> list[int]:
        over = self.ids.keys() | self.failed.keys()
        return [] if self.cancel.is_set() else [number for number in self.seen.possible if number not in over]

    def _rounds(self, shards: list[tuple[int, ...]], estimate: Costs) -> None:
        """Some shards first, then the rest as these tell."""
        first = shards[: ENOUGH * self.place.workers]
        took = self._compute(first)
        said = estimate.seconds([number for cells in first for number in cells])
        rest = shards[len(first) :]
        if rest and not self.cancel.is_set():
            factor = took / max(said, 1e-9)
            if not 1 / CLOSE < factor < CLOSE:
                estimate.correction = min(max(factor, 0.01), 100.0)
                left = [number for cells in rest for number in cells]
                rest = estimate.cut(left, workers=self.place.workers, threads=self.threads)
            self._compute(rest)

    def _compute(self, shards: list[tuple[int, ...]], *, wait: bool = False) -> float:
        """Hands shards to the place; the seconds of work that they took."""
        spent = [0.0]

        def hear(done: Done) -> None:
            spent[0] += done.seconds * self.threads
            self._hear(shards[done.number], done)

        document = {} if isinstance(self.place, Here) else self.seen.sweep.document
        path = str(self.store.path)
        tasks = [Shard(n, document, part, path, wait, self.fresh) for n, part in enumerate(shards)]
        work: Callable[[Shard], Done] = self._work_here if isinstance(self.place, Here) else run_shard
        self.place.run(work, tasks, hear, self.cancel)
        return spent[0]

    def _work_here(self, shard: Shard) -> Done:
        """A shard without its document, which could not hold functions of this process."""
        return run_cells(self.seen.sweep, shard, workers=self.threads, bar=_PartOfBar(self, len(shard.cells)))

    def _hear(self, cells: tuple[int, ...], done: Done) -> None:
        self.ids |= {number: key for number, key in zip(cells, done.ids, strict=True) if key is not None}
        self.failed |= done.failed
        self.computed += done.computed
        self.bar.update(self.over, self.told())

    @property
    def over(self) -> int:
        """How many cells need nothing more."""
        return len(self.ids) + len(self.failed)

    def told(self, running: int = 0) -> str:
        """How far it is, in a few words."""
        parts = {"done": len(self.ids) - self.found, "running": running, "failed": len(self.failed)}
        told = [f"{count:,} {word}" for word, count in parts.items() if count]
        return ", ".join([*told, f"{self.found:,} from the store"] if self.found else told)

    def result(self) -> SweepResult:
        """What there is now."""
        return SweepResult(
            name=self.seen.sweep.name,
            axes=shown_axes(self.seen.sweep),
            ids=[self.ids.get(number) for number in range(len(self.seen.keys))],
            store=self.store,
            impossible=self.seen.impossible,
            failed=self.failed,
            wanted=self.seen.keys,
            found=self.found,
            interrupted=self.cancel.is_set(),
        )


class _PartOfBar(ProgressBar):
    """What a shard tells of its own progress, as part of the whole."""

    def __init__(self, doing: _Doing, cells: int):
        super().__init__("", 1, enabled=False)
        self.doing, self.before, self.cells = doing, doing.over, cells

    def update(self, done: float, doing: str = "") -> None:
        self.doing.bar.update(self.before + done, doing or self.doing.told(self.cells - int(done)))
