"""Work for workers that die: what tests of places hand out, importable by processes on this machine and by Dask's."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import latebloom as lb
from latebloom.errors import InputError
from latebloom.sweeps.shards import Done, Shard, run_shard

PROBLEM = lb.problems.SparseRecovery(dimension=20, sparsity=2, measurements=12)
LOOSE: Any = {"memorised_at": 0.05, "generalised_at": 0.3}
JOB = lb.TrainJob(PROBLEM, lb.GradientDescent(0.1), lb.L1(1e-3), steps=2000, **LOOSE)
LONG = lb.TrainJob(PROBLEM, lb.GradientDescent(0.1), lb.L1(1e-3), steps=10**10, records_per_decade=5, **LOOSE)
SWEEP = lb.Sweep(JOB, {"penalty.strength": [1e-3, 2e-3], "problem.seed": [0, 1, 2]}, name="strengths")
ENDLESS = lb.Sweep(LONG, {"problem.seed": [0, 1]}, name="endless")
CUT = ((0, 1), (2, 3, 4), (5,))


def shards(store: Path, *, sweep: lb.Sweep = SWEEP, cut: tuple[tuple[int, ...], ...] = CUT) -> list[Shard]:
    """The shards of a sweep, cut by hand."""
    return [Shard(number, sweep.document, cells, str(store)) for number, cells in enumerate(cut)]


def die(*_: object) -> Any:
    """As when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


def dies_once(folder: Path, shard: Shard) -> Done:
    """The first worker that computes the second shard is killed when it has finished one of its three runs."""
    try:
        (folder / "died").touch(exist_ok=False) if shard.number == 1 else None
        here = shard.number == 1
    except FileExistsError:
        here = False
    if here:
        from latebloom.engine.keeping import Keeper

        finished = Keeper.finished
        Keeper.finished = lambda self, number, run: (finished(self, number, run), die())[0]
    return run_shard(shard)


def raises(shard: Shard) -> Done:
    """An error of the work, that is no death."""
    raise InputError(f"shard {shard.number} has an error of its own")


def dying_once(folder: Path) -> Any:
    """`dies_once` as it is handed out."""
    return partial(dies_once, folder)
