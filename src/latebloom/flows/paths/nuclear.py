"""The slow flow of the nuclear norm on the matrices that fit, by minimising movements with an error estimate."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.core.arrays import check_array
from latebloom.core.threads import one_core
from latebloom.engine.outcome import Ending, Outcome
from latebloom.errors import InputError, check_count, check_number
from latebloom.flows.paths.nuclear_prox import ProxStep, prox_step
from latebloom.flows.paths.slow_path import SlowPath
from latebloom.oracles.nuclear.certificate import certify, nuclear_norm
from latebloom.oracles.nuclear.constraints import Constraints, EntryConstraints, RowConstraints
from latebloom.oracles.nuclear.minimum import CERTIFICATE, CONSISTENT
from latebloom.problems.base import require_linear
from latebloom.problems.matrix.base import AbstractMatrix, require_matrix
from latebloom.problems.matrix.entries import AbstractEntries

OPTIMAL = 1e-9  # the relative duality gap at which the flow has arrived
FIRST = 1e-3  # the first step, in units of |A|; the error estimate corrects it at once
SHORTEST = 1e-9
SAFETY, SHRINK, GROW = 0.8, 0.2, 3.0


def nuclear_path(problem: Any, *, start: Any = None, tolerance: float = 1e-4, max_steps: int = 2000) -> SlowPath:
    """The flow `dA/ds = -P ∂|A|_*` on the matrices that fit, P the projection on the kernel of X, to its end.

    Minimising movements: `A_{k+1} = argmin |A|_* + |A - A_k|² / (2τ)` subject to `X vec(A) = y`, the implicit Euler
    scheme, which sees neither the kinks where the rank falls nor the singular vectors that are not unique there. A step
    of τ is compared with two of τ/2, and with the straight line that joins its ends: both must agree to `tolerance` in
    units of `|A|`; the extrapolation of the two, of second order, goes on. The flow ends at a minimum nuclear-norm
    interpolator, with a dual certificate.

    Descent with a small nuclear-norm penalty follows it: step t of learning rate α and strength β is at `s = αβt`.

    >>> from latebloom.problems import ObservedEntries
    >>> problem = ObservedEntries((2, 2), [(0, 0), (0, 1), (1, 0)], [4.0, 2.0, 2.0], truth=[[4.0, 2.0], [2.0, 1.0]])
    >>> path = nuclear_path(problem)
    >>> path.end.round(6), path.converged
    (array([[4., 2.],
           [2., 1.]]), True)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Theorem 3.4, in the limit αβ → 0; minimising
    movements after De Giorgi (1993).
    """
    began = time.perf_counter()
    problem = require_matrix(problem, "nuclear_path")
    require_linear(problem, "nuclear_path")
    tolerance = check_number("tolerance", tolerance, above=1e-8, below=0.1)
    max_steps = check_count("max_steps", max_steps)
    with one_core():
        frame = _frame(problem)
        first = frame.constraints.project(frame.turn(_start(problem, frame, start)))
        walk = _Walk(frame.constraints, first, tolerance)
        outcome = walk.follow(max_steps)
        points = np.array([frame.turn_back(matrix) for matrix in walk.points])
        last = certify(frame.constraints, walk.points[-1], walk.multipliers, "minimising movements")
        size = float(np.linalg.norm(frame.constraints.values)) or 1.0
        misfits = [np.linalg.norm(frame.constraints.measure(m) - frame.constraints.values) for m in walk.points]
        norms = np.array([nuclear_norm(matrix) for matrix in walk.points])
    return SlowPath(
        slow_times=np.array(walk.times),
        points=points,
        norms=norms,
        dual=frame.turn_back(last.dual),
        gap=last.gap,
        certificate=CERTIFICATE,
        infeasibility=float(max(misfits)) / size,
        outcome=outcome,
        exact=False,
        seconds=time.perf_counter() - began,
    )


@dataclass(frozen=True, eq=False)
class _Frame:
    """The constraints in the bases where they are simple, the way in and the way out."""

    constraints: Constraints
    turn: Callable[[np.ndarray], np.ndarray]
    turn_back: Callable[[np.ndarray], np.ndarray]


def _frame(problem: AbstractMatrix) -> _Frame:
    if isinstance(problem, AbstractEntries):
        seen = EntryConstraints.of(np.asarray(problem.mask), np.asarray(problem.values))
        left, right = (None if basis is None else np.asarray(basis) for basis in (problem.left, problem.right))
        if left is None or right is None:
            return _Frame(seen, np.asarray, np.asarray)
        return _Frame(seen, lambda matrix: left.T @ matrix @ right, lambda matrix: left @ matrix @ right.T)
    design, targets = np.asarray(problem.design, dtype=np.float64), np.asarray(problem.targets, dtype=np.float64)
    rows = RowConstraints.of(design, targets, problem.shape)
    if targets.any() and rows.distance > CONSISTENT:
        raise InputError(
            f"the targets are at relative distance {rows.distance:.1e} from the range of the design: nothing fits "
            "them, and nuclear_path lives on what fits; take fewer measurements than unknowns, or train with a penalty"
        )
    return _Frame(rows, np.asarray, np.asarray)


def _start(problem: AbstractMatrix, frame: _Frame, start: Any) -> np.ndarray:
    if start is None:
        return np.asarray(problem.end_to_end(problem.init()), dtype=np.float64)
    matrix = check_array("start", start)
    if matrix.shape != problem.shape:
        raise InputError(f"start has shape {matrix.shape}: give one of shape {problem.shape}")
    seen = frame.constraints
    missing = float(np.linalg.norm(seen.measure(frame.turn(matrix)) - seen.values))
    if missing > 1e-6 * max(float(np.linalg.norm(seen.values)), float(np.linalg.norm(matrix))):
        raise InputError(
            f"start misses the measurements by {missing:.1e}: give a matrix with X vec(A) = y, e.g. "
            "oracles.least_squares(problem, matrix).solution"
        )
    return matrix


class _Walk:
    """The path so far, with the step that the error estimate asks for."""

    def __init__(self, constraints: Constraints, start: np.ndarray, tolerance: float):
        self.constraints = constraints
        self.size = float(np.linalg.norm(start)) or 1.0
        self.allowed = tolerance * self.size
        self.times, self.points = [0.0], [start]
        self.multipliers = constraints.measure(np.zeros_like(start))
        self.prox = 0

    def follow(self, max_steps: int) -> Outcome:
        """Step after step, to the certificate or the end of the budget."""
        step, here = FIRST * self.size, self.points[0]
        for _ in range(max_steps):
            full, half, two = self._try(here, step)
            straight = float(np.linalg.norm(half.matrix - (here + two.matrix) / 2))
            error = max(float(np.linalg.norm(two.matrix - full.matrix)), straight)
            if not (full.solved and half.solved and two.solved):
                error = np.inf
            if error > self.allowed and step > SHORTEST * self.size:
                step *= max(SHRINK, SAFETY * np.sqrt(self.allowed / error))
                continue
            self.multipliers = two.multipliers
            ended = certify(self.constraints, two.matrix, two.multipliers, "").gap <= OPTIMAL
            here = two.matrix if ended else self.constraints.project(2 * two.matrix - full.matrix)
            self.times.append(self.times[-1] + step)
            self.points.append(here)
            if ended:
                sentence = (
                    f"the minimum of |A|_* at slow time {self.times[-1]:.6g}, after {len(self.times) - 1:,} steps"
                )
                return Outcome(Ending.FINISHED, self.times[-1], sentence)
            step *= min(GROW, SAFETY * np.sqrt(self.allowed / max(error, 1e-2 * self.allowed)))
        return Outcome(
            Ending.BUDGET,
            self.times[-1],
            f"budget of {max_steps:,} steps spent at slow time {self.times[-1]:.6g}: raise max_steps or tolerance",
        )

    def _try(self, here: np.ndarray, step: float) -> tuple[ProxStep, ProxStep, ProxStep]:
        """One step, and two of half its length."""
        self.prox += 3
        half = prox_step(self.constraints, here, step / 2, self.multipliers)
        two = prox_step(self.constraints, half.matrix, step / 2, half.multipliers)
        return prox_step(self.constraints, here, step, half.multipliers), half, two
