"""Diagonal networks: the flow in n dual variables against that of 2d parameters and descent, oracles; a ReLU net."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import latebloom as lb
from latebloom.bench.base import BenchResult
from latebloom.bench.net_gradient import gradient_row
from latebloom.bench.timing import describe, take_turns
from latebloom.problems import DiagonalClassifier, SparseSigns

NAME = "dichotomy"
WEIGHT_DECAY, INIT_SCALE, LEARNING_RATE, UNTIL = 1e-3, 128 / np.sqrt(2e5), 1e-2, 1e4
AGREEMENT = 1e-2  # relative difference of the final losses of two flows at tolerances of 1e-4
LOG_AGREEMENT = 0.3  # difference of the logarithms of the losses: the first steps of descent are not small
LIMITS = {"max_l2_margin": 3.0, "max_l1_margin": 10.0}  # seconds at d = 1e5


def measure(*, dimension: int = 10_000, samples: int = 256, large: int = 100_000, repeats: int = 2, net=(97, 1024)):
    """Every row; each function gives some of them."""
    data = SparseSigns(dimension, samples, test_samples=200)
    rows: list[Callable[[], list[BenchResult]]] = [
        lambda: [against_flow(DiagonalClassifier(data, init_scale=INIT_SCALE), repeats)],
        lambda: [against_descent(DiagonalClassifier(data, init_scale=INIT_SCALE), repeats)],
        lambda: oracles(large, samples),
        lambda: [gradient_row(NAME, *net, repeats=5 * repeats)],
    ]
    return [row for function in rows for row in function()]


def dual(problem: DiagonalClassifier):
    return _flow(problem, "dual", atol=1e-5)


def _flow(problem: DiagonalClassifier, solver: str, **options: Any):
    options |= {"rtol": 1e-4, "records_per_decade": 10, "progress": False}
    return lb.flow(problem, weight_decay=WEIGHT_DECAY, time=UNTIL, solver=solver, **options)


def against_flow(problem: DiagonalClassifier, repeats: int) -> BenchResult:
    """The same flow on all parameters, by the stabilised solver, with as many records."""
    contenders = {
        "ours": lambda: dual(problem),
        "theirs": lambda: _flow(problem, "rkc"),
    }
    timed = take_turns(contenders, repeats=repeats)
    ours, theirs = timed["ours"], timed["theirs"]
    ends = [run.answer.final["train_loss"] for run in (ours, theirs)]
    difference = abs(ends[0] / ends[1] - 1)
    return BenchResult(
        NAME,
        f"{_what(problem)}, against flow on 2d parameters",
        ours.seconds,
        theirs.seconds,
        theirs.seconds / ours.seconds,
        "none",
        None if difference <= AGREEMENT else False,
        f"{describe(repeats, ours)}; {ours.answer.provenance['gradients']:,} and "
        f"{theirs.answer.provenance['gradients']:,} gradients; final losses differ by {difference:.0e} relatively",
    )


def against_descent(problem: DiagonalClassifier, repeats: int, steps: int = 300) -> BenchResult:
    """The authors' gradient descent, compiled, a few of its 1e6 steps, scaled up."""
    total = int(UNTIL / LEARNING_RATE)
    method, penalty = lb.GradientDescent(LEARNING_RATE), lb.L2(WEIGHT_DECAY)
    contenders = {
        "ours": lambda: dual(problem),
        "theirs": lambda: lb.train(problem, method, penalty, steps=steps, progress=False),
    }
    timed = take_turns(contenders, repeats=repeats)
    ours, theirs = timed["ours"], timed["theirs"]
    reached = float(theirs.answer["time"][-1])
    path = ours.answer
    here = float(np.interp(reached, path["time"], path["log_train_loss"]))
    difference = abs(here - float(np.log(theirs.answer.final["train_loss"])))
    return BenchResult.at_least(
        NAME,
        f"{_what(problem)}, against 1e6 steps of descent",
        ours=ours.seconds,
        theirs=theirs.seconds * total / steps,
        least=50,
        agree=difference <= LOG_AGREEMENT,
        note=f"extrapolated from {steps:,} of {total:,} steps; {describe(repeats, ours)}; log losses at time "
        f"{reached:g} differ by {difference:.2g} (steps of {LEARNING_RATE:g} and records a tenth of a decade apart)",
    )


def oracles(dimension: int, samples: int) -> list[BenchResult]:
    """The two max-margin oracles alone, with their gaps."""
    data = SparseSigns(dimension, samples, test_samples=1)
    results = []
    for oracle in (lb.oracles.max_l2_margin, lb.oracles.max_l1_margin):
        began = time.perf_counter()
        found = oracle(data)
        seconds = time.perf_counter() - began
        name = oracle.__name__
        note = f"margin {found.margin:.6g}, relative duality gap {found.gap:.0e}"
        what = f"{name}, n={samples}, d={dimension:,}"
        results.append(BenchResult.within(NAME, what, ours=seconds, limit=LIMITS[name], note=note))
    return results


def _what(problem: DiagonalClassifier) -> str:
    return f"fig1a at n={len(problem.data.labels)}, d={problem.data.inputs.shape[1]:,} in dual form"
