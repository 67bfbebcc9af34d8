"""One step of sparse recovery by subgradient descent: `train` against loops that only step."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np

import latebloom as lb
from latebloom.bench import loops
from latebloom.bench.base import BenchResult
from latebloom.bench.timing import describe, describe_difference, take_turns

NAME = "sparse-step"
LEARNING_RATE, STRENGTH = 0.1, 1e-5
# Ten subgradient steps: where a coordinate oscillates about zero, rounding decides its sign.
AGREEMENT = 10 * LEARNING_RATE * STRENGTH
UNREACHED = 1e-300  # a threshold that no error falls below, so that nothing is run again to pin a milestone

Loop = Callable[..., np.ndarray]


def measure(
    *, steps: int = 300_000, numpy_steps: int = 20_000, torch_steps: int = 2_000, repeats: int = 9
) -> list[BenchResult]:
    """Time per step at n=100, N=30, learning rate 0.1 and l1 strength 1e-5, with records, milestones and all."""
    problem = lb.problems.SparseRecovery(dimension=100, sparsity=5, measurements=30)
    ours, against_bare = _against_bare(problem, steps, repeats)
    results = [against_bare, _against_loop(problem, "a NumPy loop", loops.plain_numpy, numpy_steps, ours, least=5)]
    try:
        importlib.import_module("torch")
    except ImportError:
        note = "PyTorch is not installed: pip install torch, or pip install 'latebloom[torch]'"
        return [*results, BenchResult(NAME, _what("PyTorch SGD"), ours, None, None, "at least 50", None, note)]
    return [*results, _against_loop(problem, "PyTorch SGD", loops.torch_sgd, torch_steps, ours, least=50)]


def _what(yardstick: str) -> str:
    return f"a step, against {yardstick}"


def _train(problem: lb.problems.SparseRecovery, steps: int, threshold: float = 1e-3) -> lb.Run:
    method, penalty = lb.GradientDescent(LEARNING_RATE), lb.L1(STRENGTH)
    return lb.train(
        problem, method, penalty, steps=steps, memorised_at=threshold, generalised_at=threshold, progress=False
    )


def _by_hand(problem: lb.problems.SparseRecovery, loop: Loop, steps: int) -> np.ndarray:
    return loop(problem, LEARNING_RATE, STRENGTH, steps=steps)


def _against_bare(problem: lb.problems.SparseRecovery, steps: int, repeats: int) -> tuple[float, BenchResult]:
    """Our time per step, and its comparison with the bare compiled loop."""
    contenders = {
        "ours": lambda: _train(problem, steps),
        "unpinned": lambda: _train(problem, steps, UNREACHED),
        "bare": lambda: _by_hand(problem, loops.bare_jax, steps),
    }
    timed = take_turns(contenders, repeats=repeats)
    ours, bare, run = timed["ours"], timed["bare"], timed["ours"].answer
    difference = _difference(run.params, bare.answer)
    again = run.provenance["gradients"] - steps
    pinning = max(1 - timed["unpinned"].seconds / ours.seconds, 0)
    note = (
        f"{steps:,} steps, {describe(repeats, ours)}; {len(run['step'])} records; pinning the milestones "
        f"({again:,} steps run again) takes {pinning:.0%} of our time; end points {describe_difference(difference)}"
    )
    result = BenchResult.at_most(
        NAME,
        _what("a bare JAX loop"),
        ours=ours.seconds / steps,
        theirs=bare.seconds / steps,
        most=1.3,
        agree=difference <= AGREEMENT,
        note=note,
    )
    return ours.seconds / steps, result


def _against_loop(
    problem: lb.problems.SparseRecovery, yardstick: str, loop: Loop, steps: int, ours: float, *, least: float
) -> BenchResult:
    """Our time per step, as measured, against a loop that is too slow to be run for as many steps."""
    theirs = take_turns({"loop": lambda: _by_hand(problem, loop, steps)}, repeats=3)["loop"]
    difference = _difference(_train(problem, steps).params, theirs.answer)
    return BenchResult.at_least(
        NAME,
        _what(yardstick),
        ours=ours,
        theirs=theirs.seconds / steps,
        least=least,
        agree=difference <= AGREEMENT,
        note=f"theirs timed over {steps:,} steps only, best of 3; end points there {describe_difference(difference)}",
    )


def _difference(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).max())
