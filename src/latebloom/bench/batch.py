"""A grid of learning rates and strengths: one `run` against a `train` for every cell."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import latebloom as lb
from latebloom.bench import loops
from latebloom.bench.base import BenchResult
from latebloom.bench.timing import describe, describe_difference, take_turns

NAME = "batch"
FLOP_A_STEP = 12_000  # two products with a 30 x 100 matrix
# Ten of the largest subgradient steps: where a coordinate oscillates about zero, rounding decides its sign.
AGREEMENT = 10 * 0.2 * 2e-5


def grid(side: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Learning rates 0.02 … 0.2 and strengths 2e-6 … 2e-5, log-spaced, every pair."""
    rates, strengths = np.meshgrid(np.geomspace(0.02, 0.2, side), np.geomspace(2e-6, 2e-5, side), indexing="ij")
    return rates.ravel(), strengths.ravel()


def measure(*, steps: int = 100_000, side: int = 6, repeats: int = 3, matrix_size: int = 1000) -> list[BenchResult]:
    """Throughput over the grid, with the profile that explains it."""
    problem = lb.problems.SparseRecovery(dimension=100, sparsity=5, measurements=30)
    rates, strengths = grid(side)
    methods = [lb.GradientDescent(rate) for rate in rates]
    penalties = [lb.L1(strength) for strength in strengths]
    options: dict[str, Any] = {"steps": steps, "progress": False}
    cells = list(zip(methods, penalties, strict=True))
    contenders: dict[str, Callable[[], Any]] = {
        "batch": lambda: lb.run([lb.TrainJob(problem, *cell, steps=steps) for cell in cells], progress=False),
        "singles": lambda: [lb.train(problem, *cell, **options) for cell in cells],
        "bare": lambda: [loops.bare_jax(problem, r, s, steps=steps) for r, s in zip(rates, strengths, strict=True)],
        "stacked": lambda: loops.stacked_jax(problem, rates, strengths, steps=steps),
    }
    timed = take_turns(contenders, repeats=repeats)
    times = {name: t.seconds / (steps * len(cells)) for name, t in timed.items()}
    batch, singles = timed["batch"].answer, timed["singles"].answer
    equal = all(same_run(one, other) for one, other in zip(batch, singles, strict=True))
    difference = float(np.abs(np.stack([run.params for run in batch]) - timed["stacked"].answer).max())
    return [
        BenchResult.at_least(
            NAME,
            f"a step of a cell, against {len(cells)} calls of train",
            ours=times["batch"],
            theirs=times["singles"],
            least=3,
            agree=equal,
            note=f"{steps:,} steps a cell, {describe(repeats, timed['batch'])}; every cell is {_bits(equal)}; "
            + _profile(times, timed["batch"].cores, _peaks(matrix_size)),
        ),
        BenchResult(
            NAME,
            "a step of a cell, against one vmapped loop without records",
            times["batch"],
            times["stacked"],
            times["stacked"] / times["batch"],
            "none",
            None,
            f"products of matrices instead of vectors reach {_gflops(times['stacked'])} GFlop/s; "
            f"end points {describe_difference(difference)}",
        ),
    ]


def same_run(one: lb.Run, other: lb.Run) -> bool:
    """Equal to the last bit: end point and every record."""
    columns = one.columns.keys() == other.columns.keys() and all(
        np.array_equal(one.columns[name], other.columns[name], equal_nan=True) for name in one.columns
    )
    return columns and np.array_equal(one.params, other.params)


def _bits(equal: bool) -> str:
    return "equal to its single run to the last bit" if equal else "NOT equal to its single run"


def _gflops(seconds_a_step: float) -> str:
    return f"{FLOP_A_STEP / seconds_a_step / 1e9:.0f}"


def _profile(times: dict[str, float], used: float, peaks: Sequence[float]) -> str:
    """Where the factor comes from: the share that is not stepping, the cores, and what they could do at most."""
    cores = os.cpu_count() or 1
    return (
        f"of a single call {times['bare'] / times['singles']:.0%} is stepping, at {_gflops(times['bare'])} GFlop/s; "
        f"the batch had {used:.1f} of {cores} cores and stepped at {_gflops(times['batch'])} GFlop/s; a product of "
        f"large matrices reaches {peaks[0]:.0f} GFlop/s on one core and {peaks[1]:.0f} on all"
    )


def _peaks(size: int) -> tuple[float, float]:
    """GFlop/s of a double-precision matrix product: on one core, by its processor time, and on all, as it comes."""
    from threadpoolctl import threadpool_limits

    matrix = np.random.default_rng(0).normal(size=(size, size))

    def limited() -> None:
        with threadpool_limits(1):
            _ = matrix @ matrix

    # Not in turns: the idle threads of the product on all cores keep a core busy for a while.
    one = take_turns({"one": limited}, repeats=5)["one"]
    every = take_turns({"all": lambda: matrix @ matrix}, repeats=5)["all"]
    return 2e-9 * size**3 / (one.seconds * (one.cores or 1)), 2e-9 * size**3 / every.seconds
