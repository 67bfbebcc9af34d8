"""What Appendix F.2 runs and measures: matrices as products of layers, from a small start and from a large one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog import measures
from latebloom.catalog.beyond_l2 import low_rank
from latebloom.catalog.old_base import Evidence, Measured, Request, Study, at_least, at_most, within

if TYPE_CHECKING:
    from latebloom.engine.training import TrainJob
    from latebloom.probes import AbstractProbe

RATE, LARGE_RATE = 0.3, 0.05  # the smaller one keeps the balance of the large layers to a few per cent
SCALES = {1: 1e-6, 2: 1e-4, 3: 1e-2}
LARGE_SCALES = {1: 0.8, 2: 0.5}  # end-to-end matrices of the same size
WEIGHT_DECAY, STRONGER = 3e-4, 1e-3
DECAY_TIME = 12  # steps · learning rate · weight decay: the balance of the layers decays as exp(-2 · that)
STEPS, WITHOUT_STEPS = 10_000, 20_000
SEEN = 70
COUNTS, FULL_COUNTS = (40, 50, 60, 70, 80), tuple(range(36, 97, 6))
DRAWS, FULL_DRAWS = 10, 30
ENOUGH = 0.9  # the share of draws from which a number of entries counts as enough
LOOSE = "L=2 from 1e-2"
LARGE, LARGE_STRONGER = "large start, L=2, weight decay", "large start, L=2, stronger weight decay"
LARGE_WITHOUT, LARGE_SHALLOW = "large start, L=2, no weight decay", "large start, L=1, weight decay"
ORACLE = "minimum nuclear norm"


def name_of(depth: int) -> str:
    return f"L={depth}"


def cell(depth: int, count: int, seed: int) -> str:
    return f"L={depth}, N={count}, draw {seed}"


def counts(request: Request) -> tuple[int, ...]:
    return FULL_COUNTS if request.full else COUNTS


def draws(request: Request) -> range:
    return range(request.seed, request.seed + (FULL_DRAWS if request.full else DRAWS))


def chosen(seed: int, word: str) -> int:
    """The first draw from `seed` on of which the oracle says this."""
    while measures.oracle(measures.completion(seed, observed=SEEN)).recovery != word:
        seed += 1
    return seed


def small_job(seed: int, depth: int, *, scale: float | None = None) -> TrainJob:
    """Plain gradient descent from a small start, without a penalty."""
    scale = SCALES[depth] if scale is None else scale
    problem = measures.completion(seed, observed=SEEN, depth=depth, init_scale=scale)
    method, threshold = lb.GradientDescent(RATE), low_rank.RECOVERED
    return lb.TrainJob(
        problem, method, None, steps=STEPS, probes=probes(depth), memorised_at=threshold, generalised_at=threshold
    )


def grid_job(seed: int, depth: int, count: int) -> TrainJob:
    """The same with any number of entries; only the end counts."""
    problem = measures.completion(seed, observed=count, depth=depth, init_scale=SCALES[depth])
    return lb.TrainJob(problem, lb.GradientDescent(RATE), None, steps=STEPS, records_per_decade=10)


def large_job(seed: int, depth: int, weight_decay: float) -> TrainJob:
    """Gradient descent from a large start, with weight decay or without."""
    problem = measures.completion(seed, observed=SEEN, depth=depth, init_scale=LARGE_SCALES[depth])
    steps = round(DECAY_TIME / (LARGE_RATE * weight_decay)) if weight_decay else WITHOUT_STEPS
    penalty = lb.L2(weight_decay) if weight_decay else None
    method, threshold = lb.GradientDescent(LARGE_RATE), low_rank.RECOVERED
    return lb.TrainJob(problem, method, penalty, steps=steps, probes=probes(depth), generalised_at=threshold)


def probes(depth: int) -> tuple[AbstractProbe, ...]:
    common = lb.probes.SingularValues(), lb.probes.EffectiveRank(), lb.probes.Components()
    return (*common, lb.probes.LayerBalance()) if depth > 1 else common


def jobs(request: Request) -> dict[str, TrainJob]:
    lean, rich = chosen(request.seed, "not recoverable"), chosen(request.seed, "recovered")
    small = {name_of(depth): small_job(lean, depth) for depth in SCALES}
    grid = {
        cell(depth, count, seed): grid_job(seed, depth, count)
        for depth in (2, 3)
        for count in counts(request)
        for seed in draws(request)
    }
    large = {
        LARGE: large_job(rich, 2, WEIGHT_DECAY),
        LARGE_STRONGER: large_job(rich, 2, STRONGER),
        LARGE_WITHOUT: large_job(rich, 2, 0.0),
        LARGE_SHALLOW: large_job(rich, 1, WEIGHT_DECAY),
    }
    return small | {LOOSE: small_job(lean, 2, scale=1e-2)} | grid | large


def studies(request: Request) -> tuple[Study, ...]:
    """The oracle's word on every draw of the grid."""
    cells = [(count, seed) for count in counts(request) for seed in draws(request)]

    def compute() -> dict[str, np.ndarray]:
        words = [measures.oracle(measures.completion(seed, observed=count)).recovery for count, seed in cells]
        columns = {"count": [count for count, _ in cells], "draw": [seed for _, seed in cells]}
        arrays = {name: np.array(values) for name, values in columns.items()}
        return arrays | {"recovered": np.array([word == "recovered" for word in words])}

    return (Study(ORACLE, {"shape": [10, 10], "rank": 2, "cells": [list(pair) for pair in cells]}, compute),)


def shares(evidence: Evidence) -> dict[str, dict[int, float]]:
    """The share of draws that are recovered by the oracle and by each depth, by the number of entries."""
    table, request = evidence.tables[ORACLE], evidence.request

    def share(depth: int, count: int) -> float:
        ends = [evidence.runs[cell(depth, count, seed)].final["test_error"] for seed in draws(request)]
        return float(np.mean(np.array(ends) <= low_rank.RECOVERED))

    found = {ORACLE: {n: float(table["recovered"][table["count"] == n].mean()) for n in counts(request)}}
    return found | {name_of(depth): {n: share(depth, n) for n in counts(request)} for depth in (2, 3)}


def enough(evidence: Evidence) -> dict[str, int | None]:
    """The smallest number of entries from which nearly all draws are recovered."""
    return {
        name: next((n for n, value in by_count.items() if value >= ENOUGH), None)
        for name, by_count in shares(evidence).items()
    }


def zero_filled(evidence: Evidence) -> Measured:
    """The shallow recovery error at the end, over that of the observed entries with zeros elsewhere."""
    problem, run = measures.matrix_problem(evidence, name_of(1)), evidence.runs[name_of(1)]
    assert isinstance(problem, lb.problems.MatrixCompletion)
    unseen = float(np.linalg.norm(np.asarray((1 - problem.mask) * problem.truth))) / problem.truth_norm
    error = run.final["test_error"]
    return Measured({"error": error, "over zeros": error / unseen}, abs(error / unseen - 1) <= 1e-3 and error >= 0.3)


def beyond_oracle(evidence: Evidence) -> Measured:
    """The shares of draws recovered at N = 70, or the nearest number of entries that was run."""
    count = min(counts(evidence.request), key=lambda n: abs(n - SEEN))
    found = {name: by_count[count] for name, by_count in shares(evidence).items()}
    return Measured(found, min(found["L=2"], found["L=3"]) >= found[ORACLE] + 0.3)


def fewer_entries(evidence: Evidence) -> Measured:
    found = enough(evidence)
    never = max(counts(evidence.request)) + 1
    needed = {name: never if value is None else value for name, value in found.items()}
    return Measured(found, needed["L=3"] <= needed["L=2"] < needed[ORACLE])


def deeper_is_better(evidence: Evidence) -> Measured:
    """The smallest gain in the share of draws from depth 2 to 3, over all numbers of entries."""
    found = shares(evidence)
    gains = [found["L=3"][n] - found["L=2"][n] for n in counts(evidence.request)]
    return Measured({"least": min(gains), "most": max(gains)}, min(gains) >= -0.1 and max(gains) >= 0.2)


def too_few(evidence: Evidence) -> Measured:
    return at_most(max(by_count[min(by_count)] for by_count in shares(evidence).values()), 0.2)


def staircase(evidence: Evidence) -> Measured:
    """How much later σ_2 is half of its true value than σ_1, and the smallest effective rank in between."""
    run = evidence.runs[name_of(3)]
    sigma, truth = run["singular_values"], np.linalg.svd(measures.truth_of(evidence, name_of(3)), compute_uv=False)
    first, second = (run.first(sigma[:, i] >= truth[i] / 2) for i in (0, 1))
    if not (first and second):
        return Measured(None, False)
    between = (run["step"] >= first) & (run["step"] <= second)
    found = {"step ratio": second / first, "effective rank": float(run["effective_rank"][between].min())}
    return Measured(found, found["step ratio"] >= 1.1 and found["effective rank"] <= 1.2)


def largest_delay(evidence: Evidence) -> Measured:
    found = [evidence.runs[name_of(depth)].milestones.ratio for depth in (2, 3)]
    return at_most(None if None in found else max(r for r in found if r is not None), 4)


def groks(evidence: Evidence) -> Measured:
    run = evidence.runs[LARGE]
    memorised, ratio = run.t1, run.milestones.ratio
    if not (memorised and ratio):
        return Measured(None, False)
    found = {"error at t1": float(run.record(step=memorised)["test_error"]), "t2/t1": ratio}
    return Measured(found, found["error at t1"] >= 1 and ratio >= 100)


def time_scale(evidence: Evidence) -> Measured:
    """λ t2 with the weaker weight decay over that with the stronger one."""
    weak, strong = (evidence.runs[name].t2 for name in (LARGE, LARGE_STRONGER))
    return within(WEIGHT_DECAY * weak / (STRONGER * strong) if weak and strong else None, 0.7, 1.3)


def distance_to_oracle(evidence: Evidence) -> Measured:
    answer = measures.oracle(measures.completion(chosen(evidence.request.seed, "recovered"), observed=SEEN))
    end = evidence.runs[LARGE]["components"][-1].reshape(answer.solution.shape)
    return at_most(float(np.linalg.norm(end - answer.solution) / np.linalg.norm(answer.solution)), 2e-2)


def stays(evidence: Evidence) -> Measured:
    """Without weight decay, the recovery error at the end over that at memorisation."""
    run = evidence.runs[LARGE_WITHOUT]
    memorised = run.t1
    return at_least(run.final["test_error"] / run.record(step=memorised)["test_error"] if memorised else None, 0.9)


def without_understanding(evidence: Evidence) -> Measured:
    """The shallow run: by how much the recovery error falls after memorisation, and where it ends."""
    run = evidence.runs[LARGE_SHALLOW]
    memorised, end = run.t1, run.final["test_error"]
    if not memorised:
        return Measured(None, False)
    found = {"drop": float(run.record(step=memorised)["test_error"] / end), "end": end}
    return Measured(found, found["drop"] >= 3 and end >= 0.3)


def imbalances(evidence: Evidence, name: str) -> tuple[np.ndarray, np.ndarray]:
    """`A1ᵀA1 - A2 A2ᵀ` at the start and at the end."""
    problem: Any = evidence.jobs[name].problem
    pair = (problem.init(), evidence.runs[name].params)
    start, end = ([np.asarray(layer) for _, layer in sorted(params.items())] for params in pair)
    return start[0].T @ start[0] - start[1] @ start[1].T, end[0].T @ end[0] - end[1] @ end[1].T


def conserved(evidence: Evidence) -> Measured:
    start, end = imbalances(evidence, LARGE_WITHOUT)
    return at_most(float(np.linalg.norm(end - start) / np.linalg.norm(start)), 0.1)


def decayed(evidence: Evidence, steps: np.ndarray) -> np.ndarray:
    """`|D(0)| (1 - αλ)^(2t)` for the imbalance `D = A1ᵀA1 - A2 A2ᵀ`, as weight decay alone would have it."""
    start, _ = imbalances(evidence, LARGE)
    return np.linalg.norm(start) * (1 - LARGE_RATE * WEIGHT_DECAY) ** (2.0 * steps)


def balance_decays(evidence: Evidence) -> Measured:
    """The imbalance at the end over the prediction."""
    _, end = imbalances(evidence, LARGE)
    predicted = decayed(evidence, evidence.runs[LARGE]["step"][-1:])
    return within(float(np.linalg.norm(end) / predicted[0]), 0.75, 1.3)
