"""Low rank: a nuclear-norm step against a NumPy loop, seeds in a batch, and the oracle against a modelling language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import latebloom as lb
from latebloom.bench import nuclear_oracle
from latebloom.bench.base import BenchResult, show_seconds
from latebloom.bench.batch import same_run
from latebloom.bench.timing import describe, describe_difference, take_turns

NAME = "low-rank"
LEARNING_RATE, STRENGTH = 0.1, 1e-4
# Ten subgradient steps: where a singular value oscillates about zero, rounding decides its sign.
AGREEMENT = 10 * LEARNING_RATE * STRENGTH
UNREACHED = 1e-300  # a threshold that no error falls below, so that nothing is run again to pin a milestone


def measure(
    *, steps: int = 100_000, numpy_steps: int = 20_000, seeds: int = 24, seed_steps: int = 20_000, repeats: int = 5
) -> list[BenchResult]:
    """Matrix completion 10x10, rank 2, 70 entries observed; then the oracle at 40x40."""
    return [
        _against_numpy(numpy_steps, steps, repeats),
        _against_singles(seed_steps, seeds, max(1, repeats // 2)),
        *nuclear_oracle.measure(),
    ]


def plain_numpy(problem: lb.problems.MatrixCompletion, learning_rate: float, strength: float, steps: int) -> np.ndarray:
    """Subgradient descent with the polar factor from an SVD, and nothing else."""
    mask, values, matrix = (np.asarray(part) for part in (problem.mask, problem.values, problem.init()))
    for _ in range(steps):
        u, _, vt = np.linalg.svd(matrix, full_matrices=False)
        matrix = matrix - learning_rate * (mask * matrix - values + strength * (u @ vt))
    return matrix


def _train(problem: lb.problems.MatrixCompletion, steps: int, **options: Any) -> lb.Run:
    method, penalty = lb.GradientDescent(LEARNING_RATE), lb.NuclearNorm(STRENGTH)
    return lb.train(problem, method, penalty, steps=steps, progress=False, **options)


def _against_numpy(numpy_steps: int, steps: int, repeats: int) -> BenchResult:
    from scipy.linalg import get_lapack_funcs

    problem = lb.problems.MatrixCompletion()
    quiet = {"memorised_at": UNREACHED, "generalised_at": UNREACHED}
    contenders: dict[str, Callable[[], Any]] = {
        "ours": lambda: _train(problem, steps, **quiet),
        "numpy": lambda: plain_numpy(problem, LEARNING_RATE, STRENGTH, numpy_steps),
    }
    gram = np.asarray(problem.truth).T @ np.asarray(problem.truth) + 1e-3 * np.eye(problem.shape[1])
    decompose: Any = get_lapack_funcs("syevd", (gram,))
    contenders["lapack"] = lambda: [decompose(gram) for _ in range(numpy_steps)]
    timed = take_turns(contenders, repeats=repeats)
    same = _train(problem, numpy_steps, **quiet).params
    difference = float(np.abs(same - timed["numpy"].answer).max())
    floor = timed["lapack"].seconds / numpy_steps
    return BenchResult.at_least(
        NAME,
        "a nuclear subgradient step 10x10, against a NumPy loop with an SVD",
        ours=timed["ours"].seconds / steps,
        theirs=timed["numpy"].seconds / numpy_steps,
        least=4,
        agree=difference <= AGREEMENT,
        note=f"with records and probes; {steps:,} and {numpy_steps:,} steps, {describe(repeats, timed['ours'])}; after "
        f"{numpy_steps:,} steps matrices {describe_difference(difference)}; LAPACK's symmetric eigendecomposition of "
        f"such a matrix alone takes {show_seconds(floor)}",
    )


def _against_singles(steps: int, seeds: int, repeats: int) -> BenchResult:
    problems = [lb.problems.MatrixCompletion(seed=seed) for seed in range(seeds)]
    method, penalty = lb.GradientDescent(LEARNING_RATE), lb.NuclearNorm(STRENGTH)
    contenders: dict[str, Callable[[], Any]] = {
        "batch": lambda: lb.run([lb.TrainJob(p, method, penalty, steps=steps) for p in problems], progress=False),
        "singles": lambda: [_train(problem, steps) for problem in problems],
    }
    timed = take_turns(contenders, repeats=repeats)
    equal = all(same_run(one, other) for one, other in zip(timed["batch"].answer, timed["singles"].answer, strict=True))
    return BenchResult.at_least(
        NAME,
        f"{seeds} seeds in a batch, against {seeds} calls of train",
        ours=timed["batch"].seconds / (seeds * steps),
        theirs=timed["singles"].seconds / (seeds * steps),
        least=3,
        agree=equal,
        note=f"{steps:,} steps a seed, {describe(repeats, timed['batch'])}; every seed is "
        + ("equal to its single run to the last bit" if equal else "NOT equal to its single run")
        + "; a step is LAPACK's time, which a batch cannot share: the cores are the bound",
    )
