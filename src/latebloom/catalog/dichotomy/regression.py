"""Runs that Theorems 3.9 and 3.10 share: a diagonal network on sparse regression, from larger and larger starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog.old_base import Evidence, Request

if TYPE_CHECKING:
    from latebloom.engine.run import Run
    from latebloom.flows import FlowJob
    from latebloom.problems import DiagonalRegression

SCALES = (4, 8, 16, 32, 64)
LARGER = (128, 256)  # with --full
DIMENSION, SAMPLES, SPARSITY = 60, 30, 3
SETTINGS: dict[str, Any] = {
    "model": "f(x) = ⟨u ⊙ u - v ⊙ v, x⟩, starting at α everywhere",
    "data": f"{SAMPLES} samples N(0, I) in {DIMENSION} dimensions, labels of a {SPARSITY}-sparse truth with entries ±1",
    "loss": "mean of squares",
    "initial scale α": ", ".join(map(str, SCALES)) + "; --full adds " + ", ".join(map(str, LARGER)),
    "weight decay λ": "1/(10 α)",
    "time": "2 log(α)/λ, as gradient flow",
}


def weight_decay(scale: float) -> float:
    """`λ(α) = Θ(α^-p)` with p = 1."""
    return 0.1 / scale


def jobs(request: Request) -> dict[str, FlowJob]:
    first = lb.problems.DiagonalRegression(DIMENSION, SAMPLES, SPARSITY, seed=request.seed)
    probes = (
        lb.probes.DistanceTo("kernel", lb.theory.kernel_regime(first).predict(first.end_to_end)),
        lb.probes.DistanceTo("basis_pursuit", lb.oracles.basis_pursuit(first).solution),
        lb.probes.KernelDrift(),
        lb.probes.KKTResidual(),
    )
    return {
        f"α = {scale}": lb.FlowJob(
            lb.problems.DiagonalRegression(DIMENSION, SAMPLES, SPARSITY, init_scale=scale, seed=request.seed),
            lb.L2(weight_decay(scale)),
            time=2 * float(np.log(scale)) / weight_decay(scale),
            solver="rkc",
            probes=probes,
            memorised_at=2e-2,
            generalised_at=0.2,
            rtol=1e-4,
            atol=1e-9,
        )
        for scale in SCALES + (LARGER if request.full else ())
    }


def problem_of(evidence: Evidence) -> DiagonalRegression:
    problem = next(iter(evidence.jobs.values())).problem
    assert isinstance(problem, lb.problems.DiagonalRegression)
    return problem


def scales(evidence: Evidence) -> np.ndarray:
    return np.array([job.problem.init_scale for job in evidence.jobs.values()])  # type: ignore[attr-defined]


def stretched(run: Run, scale: float) -> np.ndarray:
    """The clock of the theorems, `λt / log α`: the kernel regime is before 1, the rich one after."""
    return run["slow_time"] / np.log(scale)


def at(evidence: Evidence, column: str, when: float) -> np.ndarray:
    """A column at `λt = when · log α`, for every α."""
    pairs = zip(evidence.runs.values(), scales(evidence), strict=True)
    return np.array([np.interp(when, stretched(run, scale), run[column]) for run, scale in pairs])


def slope(scale: np.ndarray, value: np.ndarray) -> float:
    """The exponent of a power law, by least squares in logarithms; NaN if a value is missing or not positive."""
    if not (np.isfinite(value).all() and (value > 0).all()):
        return float("nan")
    return float(np.polyfit(np.log(scale), np.log(value), 1)[0])
