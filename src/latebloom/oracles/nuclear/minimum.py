"""The interpolator of minimum nuclear norm, where a vanishing nuclear-norm penalty ends."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.core.threads import one_core
from latebloom.errors import CapabilityError, InputError
from latebloom.oracles.nuclear.certificate import Certified, certify, is_unique, nuclear_norm, numerical_rank
from latebloom.oracles.nuclear.constraints import Constraints, EntryConstraints, RowConstraints
from latebloom.oracles.nuclear.interior import follow_central_path
from latebloom.oracles.nuclear.newton import Proposal, polish
from latebloom.oracles.nuclear.splitting import split
from latebloom.oracles.result import OracleResult, relative
from latebloom.problems.matrix.base import AbstractMatrix, require_matrix
from latebloom.problems.matrix.entries import AbstractEntries, UnobservedWarning
from latebloom.problems.matrix.observed_entries import ObservedEntries

CERTIFICATE = "relative duality gap (|A|_* - yᵀν) / |A|_* with |X*ν|_op <= 1"
CONSISTENT = 1e-9  # |X vec(A) - y| / |y| of the least-squares solution, above which nothing interpolates
OPTIMAL = 1e-12  # a gap that ends the search; Newton's method gives it when it gives anything
ACCEPTED = 1e-6
SAME = 1e-6
SMALL = 400  # measurements, up to which the interior point takes tens of milliseconds whatever the draw
LARGEST_PROGRAM = 3000  # measurements; an interior-point step of that size takes a second
SHORT, LONG = 200, 3000  # steps of the splitting, with and without an interior point to fall back on


@dataclass(frozen=True, eq=False, kw_only=True)
class NuclearResult(OracleResult):
    """An oracle's answer that is a matrix.

    - `rank`: singular values of `solution` above 1e-7 of the largest.
    - `dual`: the dual matrix `X*ν`, with spectral norm at most one; NaN where there is no solution.
    - `unique`: whether no other matrix that fits has the same norm; None where the certificate cannot tell.
    - `truth_norm`: the nuclear norm of the truth; NaN without one.
    - `recovery`: "recovered" (the solution is the truth to 1e-6), "not recoverable" (the truth is not the minimiser,
      or not the only one), "undecided" (the certificate is too weak to tell) or "no truth".
    """

    rank: int
    dual: np.ndarray
    unique: bool | None
    truth_norm: float
    recovery: str


def min_nuclear_norm(problem: Any, *, symmetric: bool = False) -> NuclearResult:
    """The minimiser of the nuclear norm `|A|_*` subject to `X vec(A) = y`; among symmetric matrices if `symmetric`.

    An interior point (few measurements) or Douglas-Rachford splitting (many) finds the rank, and Newton's method on
    the matrices of that rank the digits. The certificate is weak duality at the returned point: `|A|_* >= max yᵀν` over
    `|X*ν|_op <= 1`, with equality at the optimum. In bases of measurement everything turns with them.

    If nothing fits the measurements, `solved` is false and the solution is NaN.

    A symmetric matrix whose entry (i, j) is observed has its entry (j, i) observed too, and with mirrored observations
    the mean of an interpolator and its transpose is one of no larger norm: `symmetric` is for observed entries, and is
    where weight decay on `U Uᵀ - V Vᵀ` ends.

    >>> from latebloom.problems import ObservedEntries
    >>> problem = ObservedEntries((2, 2), [(0, 0), (0, 1), (1, 0)], [4.0, 2.0, 2.0], truth=[[4.0, 2.0], [2.0, 1.0]])
    >>> result = min_nuclear_norm(problem)
    >>> result.solution.round(9), result.rank, result.recovery
    (array([[4., 2.],
           [2., 1.]]), 1, 'recovered')

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Section 3.2 and Appendix G.2.
    """
    began = time.perf_counter()
    problem = require_matrix(problem, "min_nuclear_norm")
    with one_core():
        return _minimise(mirrored(problem) if symmetric else problem, began)


def mirrored(problem: AbstractMatrix) -> ObservedEntries:
    """The completion problem in which (j, i) is observed wherever (i, j) is, with the matrix itself as parameters.

    >>> mirrored(ObservedEntries((2, 2), [(0, 0), (0, 1), (1, 1)], [1.0, 2.0, 3.0])).values.tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    if not isinstance(problem, AbstractEntries) or problem.left is not None or problem.shape[0] != problem.shape[1]:
        raise CapabilityError(
            f"symmetric=True needs observed entries of a square matrix in the standard basis; {problem!r} has other "
            "measurements: leave it out"
        )
    mask, values = np.asarray(problem.mask) > 0, np.asarray(problem.values)
    both = np.where(mask, values, values.T)
    away = np.abs(both - both.T)
    if away.max() > CONSISTENT * np.abs(values).max():
        row, column = (int(side) for side in np.unravel_index(away.argmax(), away.shape))
        raise InputError(
            f"entries {(row, column)} and {(column, row)} are observed as {both[row, column]:g} and "
            f"{both[column, row]:g}: no symmetric matrix fits; observe one of them, e.g. as their average"
        )
    truth = np.asarray(problem.truth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnobservedWarning)  # the problem has said so
        known = truth if np.isfinite(truth).all() else None
        return ObservedEntries(problem.shape, mask | mask.T, both[mask | mask.T], truth=known)


def _minimise(problem: AbstractMatrix, began: float) -> NuclearResult:
    seen = _entries(problem) if isinstance(problem, AbstractEntries) else _rows(problem)
    if not seen.targets.any():
        zero = np.zeros(problem.shape)
        return _answer(Certified(zero, zero, 0.0, "the targets are zero"), True, seen, problem, began)
    constraints = seen.constraints()
    if isinstance(constraints, RowConstraints) and constraints.distance > CONSISTENT:
        return _refuse(problem, constraints.distance, began)
    found = _solve(constraints)
    return _answer(found, is_unique(constraints, found), seen, problem, began)


@dataclass(frozen=True, eq=False)
class _Seen:
    """The measurements; `constraints` are in the frame where they are solved, `turn_back` leads out of it."""

    targets: np.ndarray
    constraints: Callable[[], Constraints]
    turn_back: Callable[[np.ndarray], np.ndarray]
    measure: Callable[[np.ndarray], np.ndarray]

    def misfit(self, matrix: np.ndarray) -> float:
        """`|X vec(A) - y| / |y|`."""
        away = self.measure(matrix) - self.targets
        return relative(float(np.linalg.norm(away)), float(np.linalg.norm(self.targets)))


def _entries(problem: AbstractEntries) -> _Seen:
    """The nuclear norm does not see a rotation, so bases of measurement are turned away."""
    mask, values = np.asarray(problem.mask), np.asarray(problem.values)
    left, right = (
        np.eye(side) if basis is None else np.asarray(basis)
        for side, basis in zip(problem.shape, (problem.left, problem.right), strict=True)
    )
    return _Seen(
        targets=values[mask > 0],
        constraints=lambda: EntryConstraints.of(mask, values),
        turn_back=lambda matrix: left @ matrix @ right.T,
        measure=lambda matrix: (left.T @ matrix @ right)[mask > 0],
    )


def _rows(problem: AbstractMatrix) -> _Seen:
    design, targets = np.asarray(problem.design, dtype=np.float64), np.asarray(problem.targets, dtype=np.float64)
    return _Seen(
        targets=targets,
        constraints=lambda: RowConstraints.of(design, targets, problem.shape),
        turn_back=lambda matrix: matrix,
        measure=lambda matrix: design @ matrix.ravel(),
    )


def _solve(constraints: Constraints) -> Certified:
    """The best certified point, in the problem's own units."""
    smallest = constraints.adjoint(constraints.values)
    u, sigma, vt = np.linalg.svd(smallest, full_matrices=False)
    if len(constraints.values) == smallest.size:
        return certify(constraints, smallest, constraints.measure(u @ vt), "only one matrix fits")
    unit = constraints.scaled(1 / sigma[0])
    best: Certified | None = None
    for proposal in _proposals(unit):
        found = polish(unit, proposal)
        best = found if best is None or found.gap < best.gap else best
        if best.gap <= OPTIMAL:
            break
    assert best is not None  # every solver proposes its last point
    return certify(constraints, sigma[0] * best.matrix, constraints.measure(best.dual), best.method)


def _proposals(constraints: Constraints) -> Iterator[Proposal]:
    count = len(constraints.values)
    if count > SMALL:
        yield from split(constraints, steps=SHORT if count <= LARGEST_PROGRAM else LONG)
    if count <= LARGEST_PROGRAM:
        yield from follow_central_path(constraints)


def _answer(found: Certified, unique: bool | None, seen: _Seen, problem: AbstractMatrix, began: float) -> NuclearResult:
    solution, truth = seen.turn_back(found.matrix), np.asarray(problem.truth)
    misfit = seen.misfit(solution)
    solved = bool(found.gap <= ACCEPTED and misfit <= CONSISTENT)
    return NuclearResult(
        solution=solution,
        value=nuclear_norm(solution),
        gap=found.gap,
        certificate=CERTIFICATE,
        method=found.method,
        seconds=time.perf_counter() - began,
        solved=solved,
        message=(
            "a minimum nuclear-norm interpolator"
            if solved
            else f"no optimum was certified: gap {found.gap:.1e}, |X vec(A) - y|/|y| {misfit:.1e}; "
            "the value is within that gap of the minimum"
        ),
        infeasibility=misfit,
        rank=numerical_rank(solution),
        dual=seen.turn_back(found.dual),
        unique=unique,
        truth_norm=_norm_if_known(truth),
        recovery=_recovery(solution, truth, seen, solved=solved, unique=unique),
    )


def _recovery(solution: np.ndarray, truth: np.ndarray, seen: _Seen, *, solved: bool, unique: bool | None) -> str:
    if np.isnan(truth).any():
        return "no truth"
    if unique is False:
        return "not recoverable"  # even if the solver happened to end there
    if solved and np.linalg.norm(solution - truth) <= SAME * np.linalg.norm(truth):
        return "recovered"
    # A matrix that fits and has a smaller norm, by more than rounding, rules the truth out whatever the gap.
    beaten = nuclear_norm(solution) < (1 - 1e-11 - 10 * seen.misfit(solution)) * _norm_if_known(truth)
    if beaten or seen.misfit(truth) > CONSISTENT:
        return "not recoverable"
    return "undecided"


def _norm_if_known(truth: np.ndarray) -> float:
    return nuclear_norm(truth) if np.isfinite(truth).all() else float("nan")


def _refuse(problem: AbstractMatrix, distance: float, began: float) -> NuclearResult:
    nothing, truth = np.full(problem.shape, np.nan), np.asarray(problem.truth)
    return NuclearResult(
        solution=nothing,
        value=float("nan"),
        gap=float("inf"),
        certificate=CERTIFICATE,
        method="none",
        seconds=time.perf_counter() - began,
        solved=False,
        message=(
            f"no matrix interpolates: the targets are at relative distance {distance:.1e} from the range of the "
            "design; use least_squares(problem)"
        ),
        infeasibility=distance,
        rank=0,
        dual=nothing,
        unique=None,
        truth_norm=_norm_if_known(truth),
        recovery="no truth" if np.isnan(truth).any() else "undecided",
    )
