"""From a plan to its boundary: rounds of runs in a store, each where the last ones left most to know."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from latebloom.core.interrupts import listening
from latebloom.core.progress import ProgressBar
from latebloom.engine.scheduler import cores
from latebloom.engine.storage import Place, opened
from latebloom.errors import InputError, says_what_it_takes
from latebloom.laws.search import Search
from latebloom.store import Store
from latebloom.sweeps.boundaries.plan import Line, Plan, plan_of
from latebloom.sweeps.boundaries.result import Boundary, Found, Try
from latebloom.sweeps.definition import Sweep
from latebloom.sweeps.places.base import AbstractPlace
from latebloom.sweeps.shards import Done, Shard, run_cells, run_shard


@says_what_it_takes
def boundary(
    sweep: Sweep | str | os.PathLike[str],
    *,
    along: str | None = None,
    crosses: str | None = None,
    seeds: int | None = None,
    width: float | None = None,
    most_runs: int | None = None,
    oracle: str | Callable[[Any], Any] | None = None,
    theory: str | None = None,
    store: Place = True,
    workers: int | None = None,
    place: AbstractPlace | None = None,
    progress: bool | None = None,
) -> Boundary:
    """Where half of the runs cross along an axis of a sweep, or of its file, found with few of its runs.

    - `along`: the axis, by its path; with one more axis there is a boundary for each of its values.
    - `crosses`: what a run must do, `"t2 is reached"` by default; or `"final_test_error < 1e-3"`, or `"outcome is …"`.
    - `seeds`: runs per value of the full grid that the answer is to be as sharp as; `width`: the width of the 95 %
      interval to stop at, instead; `most_runs`: the most runs in a line.
    - `oracle`: what is asked of the same problems, `"basis_pursuit"` or a function that gives an oracle's result or
      true or false. `theory`: a formula for the boundary in the job's parameters, `"2 * problem.sparsity"`.
    - `store`, `workers`, `place`, `progress`: as for `lb.sweep`. Runs are kept as all others are: none is computed
      twice, and after Ctrl-C or a kill the same call goes on.

    What a file says in its table `[boundary]` counts where nothing else is given.

    >>> import latebloom as lb, tempfile
    >>> problem = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12)
    >>> job = lb.TrainJob(problem, lb.GradientDescent(0.1), lb.L1(1e-3), steps=1)
    >>> lengths = lb.Sweep(job, {"steps": {"from": 1, "to": 300, "count": 24}}, name="lengths")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = lb.boundary(lengths, along="steps", crosses="final_train_error < 0.1", width=60, store=folder)
    >>> print(found.sentence)  # doctest: +ELLIPSIS
    final_train_error < 0.1 in half of the runs from steps = ...
    """
    given = {"along": along, "crosses": crosses, "seeds": seeds, "width": width, "most_runs": most_runs}
    plan = plan_of(sweep, **given, oracle=oracle, theory=theory)
    if store is None or store is False:
        raise InputError(f"store={store!r}: a boundary keeps its runs; give a folder, or leave it out for your own")
    if place is not None and workers is not None:
        raise InputError("give workers, the threads of this process, or place, not both")
    doing = Rounds(plan, opened(store), place, cores() if workers is None else workers, progress)
    found = doing.run()
    if found.interrupted:
        print(f"latebloom: {found.interruption}", file=sys.stderr)
    return found


@dataclass
class Rounds:
    """A boundary on its way."""

    plan: Plan
    store: Store
    place: AbstractPlace | None
    threads: int
    progress: bool | None
    computed: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    cancel: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self):
        self.found = [_Line(line, self.plan.search()) for line in self.plan.lines()]

    def run(self) -> Boundary:
        """Round after round, all lines in each, until every line is over."""
        with listening(self.cancel), ProgressBar(self.plan.sweep.name, self._most(), enabled=self.progress) as bar:
            while not self.cancel.is_set() and (proposed := self._proposed()):
                bar.update(sum(line.search.runs for line in self.found), f"{len(self._open())} lines left")
                self._round(proposed)
        if self.failed:
            name, why = next(iter(self.failed.items()))
            print(f"latebloom: {len(self.failed)} runs cannot be made, e.g. {name} ({why}); left out", file=sys.stderr)
        return self.result()

    def _open(self) -> list[_Line]:
        return [line for line in self.found if not line.search.why]

    def _most(self) -> int:
        return sum(line.search.most_runs for line in self.found)

    def _proposed(self) -> dict[int, tuple[_Line, int]]:
        """The cells of the next round, each with its line and the place of its value in the search."""
        return {
            self.plan.number(line.line, at, line.used + turn): (line, at)
            for line in self._open()
            for turn, at in enumerate(line.search.propose()[: self.plan.most - line.used])
        }

    def _round(self, proposed: dict[int, tuple[_Line, int]]) -> None:
        done = self._compute(list(proposed))
        ids = {number: key for one in done for number, key in one}
        told = self.store.frame_of([key for key in ids.values() if key is not None])
        rows = {row["id"]: row for row in told.to_dict("records")}
        if self.cancel.is_set():
            return
        if not rows and not any(line.search.runs for line in self.found):
            name, why = next(iter(self.failed.items()), ("", "no run came back"))
            raise InputError(f"none of {len(proposed)} runs can be made: {name} ({why})")
        for number, (line, at) in proposed.items():
            line.used += 1
            if line.used == self.plan.most:  # also where some of them could not be made
                line.search.most_runs = 1
            key = ids.get(number)
            if key is None:
                line.search.leave_out(at)
            else:
                line.hear(at, number, key, self._row(number, rows[key]), self.plan)

    def _row(self, number: int, told: dict[str, Any]) -> dict[str, Any]:
        """What a condition may ask of: what the run says, and the values of its axes by paths and last words."""
        values = self.plan.cells.values(number)
        return {path.rpartition(".")[2]: value for path, value in values.items()} | values | told

    def _compute(self, numbers: Sequence[int]) -> list[list[tuple[int, str | None]]]:
        """Runs cells, here or elsewhere; their numbers with ids, None where there is no run."""
        heard: list[list[tuple[int, str | None]]] = []

        def hear(done: Done) -> None:
            self.computed += done.computed
            self.failed |= {self.plan.cells.cell(number).name: why for number, why in done.failed.items()}
            heard.append(list(zip(shards[done.number], done.ids, strict=True)))
            if done.interrupted:
                self.cancel.set()

        path = str(self.store.path)
        if self.place is None:
            shards = [tuple(numbers)]
            hear(run_cells(self.plan.cells, Shard(0, {}, shards[0], path, True), workers=self.threads, progress=False))
            return heard
        shards = [(number,) for number in numbers]
        document = self.plan.cells.document
        tasks = [Shard(place, document, cells, path, True) for place, cells in enumerate(shards)]
        self.place.run(run_shard, tasks, hear, self.cancel)
        return heard

    def result(self) -> Boundary:
        """What is known now."""
        plan = self.plan
        return Boundary(
            name=plan.sweep.name,
            crosses=plan.condition.text,
            along=plan.along,
            other=plan.other,
            lines=tuple(line.found(plan) for line in self.found),
            store=self.store,
            computed=self.computed,
            failed=self.failed,
            interrupted=self.cancel.is_set(),
        )


@dataclass
class _Line:
    """A search on its way: how many seeds it has used, and what was tried."""

    line: Line
    search: Search
    used: int = 0
    tries: list[Try] = field(default_factory=list)

    def hear(self, at: int, number: int, key: str, row: dict[str, Any], plan: Plan) -> None:
        crossed = plan.condition(row)
        self.search.tell(at, crossed)
        self.tries.append(Try(at, key, plan.cells.values(number), crossed, _asked(plan, number)))

    def found(self, plan: Plan) -> Found:
        """What the search has found, with the oracle's answer to the same cells and theory's."""
        asked = None
        if plan.oracle is not None:
            asked = plan.search()
            for one in self.tries:
                asked.tell(one.at, bool(one.oracle))
        return Found(self.line.value, self.search, tuple(self.tries), asked, _by_theory(plan, self.line))


def _asked(plan: Plan, number: int) -> bool | None:
    """Whether the oracle recovers the truth of a cell's problem, as nearly as the run has to."""
    if plan.oracle is None:
        return None
    from latebloom.oracles import OracleResult, recovers

    job = plan.cells.cell(number).job
    assert job is not None
    answer = plan.oracle(job.problem)
    if not isinstance(answer, OracleResult):
        return bool(answer)
    truth = getattr(job.problem, "truth", None)
    if truth is None:
        raise InputError(f"{type(job.problem).__name__} has no truth that an oracle could recover: leave oracle out")
    return recovers(answer, truth, tolerance=job.generalised_at)


def _by_theory(plan: Plan, line: Line) -> float | None:
    """Theory's boundary on a line: its formula in the parameters of the line's job."""
    if plan.theory is None:
        return None
    job = next((job for at in range(len(plan.values)) if (job := plan.cell(line, at, 0).job) is not None), None)
    return plan.theory({name: _parameter(job, name) for name in plan.theory.names})


def _parameter(job: Any, path: str) -> float:
    for name in path.split("."):
        job = getattr(job, name, None)
    if isinstance(job, bool) or not isinstance(job, int | float):
        raise InputError(f"theory speaks of {path!r}, which is no number of the job: write e.g. problem.sparsity")
    return float(job)
