"""A primal-dual interior-point method for the minimum nuclear norm, as the semidefinite program that it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from latebloom.oracles.nuclear.constraints import Constraints
from latebloom.oracles.nuclear.newton import Proposal, widest_gap

METHOD = "interior point"
STEPS = 60
# Relative gaps at which a point is proposed: Newton's method mostly succeeds from the first, and the central path
# is lost in rounding soon after the last.
MILESTONES = (1e-7, 1e-9, 1e-10)


def follow_central_path(constraints: Constraints) -> Iterator[Proposal]:
    """Proposals of rising accuracy on the way to the minimum of `tr(Z) / 2` over `Z = [[·, A], [Aᵀ, ·]] ⪰ 0`.

    The dual slack is `S = [[I, -W], [-Wᵀ, I]] / 2`; both start feasible and stay so. Predictor-corrector steps in the
    HKM direction, one Cholesky factorisation of size (number of measurements) a step. Values should be of order one.

    >>> import numpy as np
    >>> from latebloom.oracles.nuclear.constraints import EntryConstraints
    >>> seen = EntryConstraints.of(np.array([[1, 1], [1, 0]]), np.array([[1.0, 0.5], [0.5, 0.0]]))
    >>> *_, last = follow_central_path(seen)
    >>> last.matrix.round(6), last.rank
    (array([[1.  , 0.5 ],
           [0.5 , 0.25]]), 1)

    Source: Recht, Fazel and Parrilo, "Guaranteed Minimum-Rank Solutions ..." (2010), Section 2; Helmberg, Rendl,
    Vanderbei and Wolkowicz, "An Interior-Point Method for Semidefinite Programming" (1996).
    """
    primal, multipliers = _start(constraints), np.zeros(len(constraints.values))
    milestones = list(MILESTONES)
    for _ in range(STEPS):
        try:
            moved, multipliers_moved = _advance(constraints, primal, multipliers)
        except np.linalg.LinAlgError:
            break
        primal, multipliers = moved, multipliers_moved
        gap = 1 - 2 * float(multipliers @ constraints.values) / np.trace(primal)
        if gap <= milestones[0]:
            milestones = [goal for goal in milestones if goal < gap]
            yield from _propose(constraints, primal, multipliers)
        if not milestones:
            return
    yield from _propose(constraints, primal, multipliers)


def _start(constraints: Constraints) -> np.ndarray:
    smallest = constraints.adjoint(constraints.values)
    return _embed(2 * smallest) + 1.5 * float(np.linalg.svd(smallest, compute_uv=False)[0]) * np.eye(
        sum(smallest.shape)
    )


def _embed(matrix: np.ndarray) -> np.ndarray:
    """`[[0, W], [Wᵀ, 0]] / 2`."""
    n1, n2 = matrix.shape
    embedded = np.zeros((n1 + n2, n1 + n2))
    embedded[:n1, n1:] = matrix / 2
    embedded[n1:, :n1] = matrix.T / 2
    return embedded


def _propose(constraints: Constraints, primal: np.ndarray, multipliers: np.ndarray) -> Iterator[Proposal]:
    """Two guesses of the rank: where the singular values of A and of `1 - W` cross, and the widest gap of A's.

    On the central path their product is the same for all; one of them tends to zero, often slowly.
    """
    n1 = constraints.shape[0]
    matrix = primal[:n1, n1:]
    sigma = np.linalg.svd(matrix, compute_uv=False)
    slack = 1 - np.linalg.svd(constraints.adjoint(multipliers), compute_uv=False)
    crossing = int((sigma > sigma[0] * slack).sum())
    for rank in dict.fromkeys((crossing, widest_gap(sigma)[0])):
        yield Proposal(matrix, multipliers, rank, METHOD)


@dataclass(frozen=True, eq=False)
class _Centre:
    """A point of the path with what its two directions share."""

    constraints: Constraints
    primal: np.ndarray
    inverse: np.ndarray
    factor: tuple[np.ndarray, bool]

    def direction(self, centring: float, bend: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Changes of the primal, the slack and the multipliers towards `Z S = centring I`, with second-order term."""
        n1 = self.constraints.shape[0]
        goal = (centring * self.inverse - bend)[:n1, n1:]
        wanted = self.constraints.values - self.constraints.measure(goal)
        multipliers = cho_solve(self.factor, wanted, check_finite=False)
        change = _embed(self.constraints.adjoint(multipliers))
        primal = _symmetric(self.primal @ change @ self.inverse) - self.primal + centring * self.inverse - bend
        return primal, -change, multipliers


def _advance(constraints: Constraints, primal: np.ndarray, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One predictor-corrector step."""
    size = len(primal)
    slack = np.eye(size) / 2 - _embed(constraints.adjoint(multipliers))
    primal_root, slack_root = (np.linalg.inv(np.linalg.cholesky(matrix)) for matrix in (primal, slack))
    inverse = slack_root.T @ slack_root
    centre = _Centre(constraints, primal, inverse, _factorise(constraints.schur(primal, inverse)))
    centring = float(np.vdot(primal, slack)) / size
    to_primal, to_slack, _ = centre.direction(0.0, np.zeros_like(primal))
    lengths = _length(primal_root, to_primal), _length(slack_root, to_slack)
    left = float(np.vdot(primal + lengths[0] * to_primal, slack + lengths[1] * to_slack)) / size
    share = min(1.0, left / centring) ** (3 if min(lengths) > 0.5 else 2 if min(lengths) > 0.2 else 1)
    bend = _symmetric(to_primal @ to_slack @ inverse)
    to_primal, to_slack, to_multipliers = centre.direction(share * centring, bend)
    caution = 0.9 + 0.09 * min(lengths)
    primal_length = min(1.0, caution * _length(primal_root, to_primal))
    slack_length = min(1.0, caution * _length(slack_root, to_slack))
    return primal + primal_length * to_primal, multipliers + slack_length * to_multipliers


def _length(root: np.ndarray, direction: np.ndarray) -> float:
    """How far one can go, up to two steps, before the matrix stops being positive definite."""
    lowest = float(np.linalg.eigvalsh(root @ direction @ root.T)[0])
    return 2.0 if lowest >= -0.5 else -1 / lowest


def _factorise(system: np.ndarray) -> tuple[np.ndarray, bool]:
    """Cholesky; where the multipliers are not unique the system is singular in the limit, so a ridge may be needed."""
    diagonal = np.einsum("ii->i", system)
    size = float(diagonal.mean())
    for ridge in (1e-15, 1e-13, 1e-11):
        diagonal += ridge * size
        try:
            return cho_factor(system, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("the system is not positive definite")


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + matrix.T) / 2
