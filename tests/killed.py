"""Every kind of run killed some times, in processes of its own: `KILLS=6 python tests/killed.py FOLDER`.

`FOLDER/alone` has the runs left alone, `FOLDER/killed` those of processes that were sent SIGKILL and, once in between,
SIGTERM, each time after every run had written two more states. With `--for-real` it is one run of five million
steps, killed six times at moments that are spread over it, beside one left alone; it says what both took.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import latebloom as lb

KILLS = int(os.environ.get("KILLS", "2"))  # seven seconds each; six before a release: `make verify`
SIGNALS = {"alone": [], "killed": [signal.SIGKILL, signal.SIGTERM, *[signal.SIGKILL] * (KILLS - 1)]}
LOOSE: Any = {"memorised_at": 0.05, "generalised_at": 0.3}


def jobs() -> dict[str, Any]:
    """A small run of every kind."""
    net = lb.problems.EmbeddingMLP(7, 8, dimension=4)
    factors = lb.problems.MatrixCompletion(shape=(5, 5), rank=1, observed=17, depth=2, width=3, init_scale=0.5)
    points = lb.problems.DiagonalClassifier(lb.problems.SparseSigns(50, 12, test_samples=20))
    sparse = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12, seed=1)
    adam = lb.Optax("adam", learning_rate=0.01)
    return {
        "train": lb.TrainJob(sparse, lb.GradientDescent(0.1), lb.L1(1e-3), steps=6_000, **LOOSE),
        "minibatches": lb.TrainJob(net, lb.Minibatch(adam, 4), lb.L2(1e-4), steps=2_000),
        "label noise": lb.TrainJob(sparse, lb.LabelNoise(0.005, noise=0.01), steps=4_000, **LOOSE),
        "log loss": lb.TrainJob(points, lb.LogLossDescent(0.05), steps=3_000),
        "flow": lb.FlowJob(factors, lb.L2(1e-2), time=1e4, **LOOSE),
        "diffrax": lb.FlowJob(factors, lb.L2(1e-2), time=1e3, solver="tsit5"),
        "slow flow": lb.SlowFlowJob(factors, slow_time=10.0, **LOOSE),
        "dual flow": lb.FlowJob(points, lb.L2(1e-2), time=1e3),
    }


def in_a_process_of_its_own(work: Callable[[], object]) -> int:
    """The number of a process that does the work; nothing of JAX but its modules is there before it."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


def state_at_every_call() -> None:
    """Small calls, and a state after each."""
    from latebloom.engine import keeping
    from latebloom.engine.shard import Shard
    from latebloom.flows.dual.batch import DualBatch
    from latebloom.flows.gradient.batch import FlowBatch

    keeping.SOON, keeping.EVERY, keeping.SHARE = 0.0, 0.0, float("inf")
    Shard.call_seconds = FlowBatch.call_seconds = DualBatch.call_seconds = 1e-4


def attempt(store: Path, signum: int | None) -> None:
    """All runs at once; sent a signal when each has written two states (or made two calls, where it has none)."""
    from latebloom.engine.keeping import Keeper

    wanted = jobs()
    written: Counter[int] = Counter()
    everybody = threading.Barrier(len(wanted), action=lambda: os.kill(os.getpid(), signum or 0))
    advanced = Keeper.advanced

    def until_the_signal(self: Keeper, batch: Any) -> None:
        advanced(self, batch)
        number = batch.numbers[0]
        written[number] += (self._live(number).folder / "state.npz").exists() or "dual" in type(batch).__name__.lower()
        if written[number] == 2:
            everybody.wait()

    if signum:
        state_at_every_call()
        Keeper.advanced = until_the_signal
    lb.run(wanted, store=store, workers=len(wanted), progress=False)


def kill_every_kind(folder: Path) -> None:
    """The two stores, and how every process ended, as JSON."""
    ends: dict[str, list[int]] = {}
    for name, signals in SIGNALS.items():
        for signum in [*signals, None]:
            pid = in_a_process_of_its_own(lambda name=name, signum=signum: attempt(folder / name, signum))
            ends.setdefault(name, []).append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    print(json.dumps(ends))


def long_job() -> Any:
    """Five million steps, some minutes."""
    problem = lb.problems.SparseRecovery(dimension=400, measurements=100)
    return lb.TrainJob(problem, lb.GradientDescent(0.1), lb.L1(1e-6), steps=5_000_000)


def for_real(folder: Path) -> None:
    """One run left alone, and one killed six times; the time that states took, and whether every bit is the same."""
    started = time.perf_counter()
    os.waitpid(in_a_process_of_its_own(lambda: _timed(folder / "alone")), 0)
    whole = time.perf_counter() - started
    for kill in range(KILLS):
        pid = in_a_process_of_its_own(lambda: _timed(folder / "killed"))
        time.sleep(whole / (KILLS - 1))  # some of it goes into compiling, and into what is lost
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        (left,) = (folder / "killed" / "live").glob("*/state.npz")
        print(f"kill {kill + 1}: a state of {left.stat().st_size:,} bytes", flush=True)
    os.waitpid(in_a_process_of_its_own(lambda: _timed(folder / "killed")), 0)
    first, second = (lb.load(long_job().key, folder / name) for name in ("alone", "killed"))
    same = all((first[name] == second[name]).all() for name in first.columns) and (first.params == second.params).all()
    print(f"left alone {first.provenance['seconds']:.1f} s, killed six times {second.provenance['seconds']:.1f} s")
    print(f"columns, parameters, milestones, outcome equal: {same}", first.milestones == second.milestones, end=" ")
    print(first.outcome == second.outcome)


def _timed(store: Path) -> None:
    from latebloom.engine.keeping import Keeper

    took: list[float] = []
    write = Keeper._write
    Keeper._write = lambda *given: took.append(write(*given)) or took[-1]  # pyright: ignore[reportAttributeAccessIssue]
    run = lb.run(long_job(), store=store, progress=False)
    share = sum(took) / run.provenance["seconds"]
    print(f"{run.outcome}: {len(took)} states in {sum(took):.3f} s, {share:.2%} of the time", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    where = Path(sys.argv[1])
    for_real(where) if "--for-real" in sys.argv else kill_every_kind(where)
