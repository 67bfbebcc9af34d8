"""The linear classifiers of largest margin, in the l2 and in the l1 norm: where the kernel and the rich phase end."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from latebloom.core.threads import one_core
from latebloom.errors import CapabilityError, InputError
from latebloom.oracles.result import OracleResult
from latebloom.problems.data.labelled_points import AbstractPoints
from latebloom.problems.networks.diagonal_classifier import DiagonalClassifier

CERTIFICATE = "relative duality gap (γ_dual - γ) / γ_dual; γ_dual = |Σ p_i y_i x_i|_* with p ≥ 0, Σ p_i = 1"
ACCEPTED = 1e-6  # a gap that certifies an optimum
NOT_SEPARABLE = 1e-9  # a convex combination of the points y_i x_i of this relative size is zero
NEAR = 1e-3  # coordinates whose pull is this near to the largest may carry weight
# The barrier method of the l1 margin.
FIRST, AGAIN = 300, 200  # columns at the start, and at most so many that violate at a time
SHRINK = 0.2  # of the barrier's weight from one centre to the next
CENTRED = 1e-2  # Newton's decrement squared: near enough to the centre to go on
NEWTON = 60  # steps to a centre, at most
PRECISE = 1e-10  # relative gap at which the path ends
VANISHED = 3e-10  # of the largest entry: a bound that small is zero


@dataclass(frozen=True, eq=False, kw_only=True)
class MarginResult(OracleResult):
    """A classifier of largest margin.

    - `solution`: the weights w of least norm with `y_i ⟨w, x_i⟩ ≥ 1` for all i, so `value = |w| = 1/margin`.
    - `margin`: `γ = min_i y_i ⟨w, x_i⟩ / |w|`, zero if no w separates the data.
    - `dual`: weights `p_i` of the points, a distribution; of a separable problem they sit on the support vectors.
    - `separable`: whether some w has all margins positive; None where neither was proved.
    """

    margin: float
    dual: np.ndarray
    separable: bool | None

    @property
    def direction(self) -> np.ndarray:
        """`w / |w|_2`."""
        return self.solution / np.linalg.norm(self.solution)


def max_l2_margin(problem: Any) -> MarginResult:
    """The maximiser of `min_i y_i ⟨w, x_i⟩` over `|w|_2 ≤ 1` (a support vector machine without bias).

    Its dual is the point of the convex hull of the `y_i x_i` that is nearest to the origin: a non-negative
    least-squares problem of size n in the Gram matrix. Both sides are evaluated at the returned point.

    If the hull contains the origin no w separates: `solved` and `separable` are false, the solution is NaN.

    >>> from latebloom.problems import LabelledPoints
    >>> found = max_l2_margin(LabelledPoints([[1.0, 1.0], [-1.0, 1.0]], [1, -1]))
    >>> found.solution.round(12).tolist(), round(found.margin, 12), found.separable
    ([1.0, 0.0], 1.0, True)

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", (K1) and Corollary 3.6.
    """
    began = time.perf_counter()
    with one_core():
        rows = signed_rows(problem, "max_l2_margin")
        dual = _nearest(rows @ rows.T)
        weights = dual @ rows
        return _answer(rows, weights, dual, 2, "non-negative least squares on the Gram matrix", began)


def max_l1_margin(problem: Any) -> MarginResult:
    """The maximiser of `min_i y_i ⟨w, x_i⟩` over `|w|_1 ≤ 1`.

    A linear program in d variables of which at most n are not zero. Its dual, `min |Σ p_i y_i x_i|_inf` over
    distributions p, is solved by a barrier method on few coordinates, which those that violate join; then a linear
    program (HiGHS) on the coordinates that may carry weight gives w. The dual bound over all d of them certifies it.

    >>> from latebloom.problems import LabelledPoints
    >>> found = max_l1_margin(LabelledPoints([[3.0, 1.0], [-1.0, -1.0]], [1, -1]))
    >>> found.margin, found.separable
    (1.0, True)

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Section 3.2.3 after
    Corollary 3.7.
    """
    began = time.perf_counter()
    with one_core():
        rows = signed_rows(problem, "max_l1_margin")
        weights, dual = _largest_l1(rows / np.abs(rows).max())
        return _answer(
            rows, weights, dual, 1, "barrier method with column generation, then a linear program (HiGHS)", began
        )


def signed_rows(problem: Any, who: str) -> np.ndarray:
    """`y_i x_i` of labelled data or of a problem on them; refuses points that are all zero."""
    data = problem.data if isinstance(problem, DiagonalClassifier) else problem
    if not isinstance(data, AbstractPoints):
        raise CapabilityError(
            f"{who} needs points with labels ±1; {type(problem).__name__} has none: "
            "use LabelledPoints(inputs, labels), SparseSigns or GaussianGap"
        )
    rows = np.asarray(data.inputs) * np.asarray(data.labels)[:, None]
    if not rows.any():
        raise InputError(f"all inputs are zero: {who} needs points with a direction")
    return rows


def _nearest(gram: np.ndarray) -> np.ndarray:
    """The distribution p of least `pᵀ G p`."""
    from scipy.optimize import nnls

    values, vectors = np.linalg.eigh(gram / np.trace(gram) * len(gram))
    kept = values > 1e-14 * values[-1]
    root = (vectors[:, kept] * np.sqrt(values[kept])).T
    # Of min |R p|² + (Σp - 1)² over p ≥ 0 the solution is a multiple of p: the sum only sets the scale.
    system = np.vstack([root, np.ones(len(gram))])
    found, _ = nnls(system, np.append(np.zeros(len(root)), 1.0), maxiter=30 * len(gram))
    return _polish(gram, found / found.sum())


def _polish(gram: np.ndarray, dual: np.ndarray) -> np.ndarray:
    """On the support all margins are equal: solved once more there, if that leaves p a distribution."""
    support = np.flatnonzero(dual > 1e-12)
    if np.linalg.matrix_rank(gram[np.ix_(support, support)]) < len(support):
        return dual
    exact = np.zeros_like(dual)
    exact[support] = np.linalg.solve(gram[np.ix_(support, support)], np.ones(len(support)))
    if (exact < 0).any():
        return dual
    exact /= exact.sum()
    return exact if exact @ gram @ exact <= dual @ gram @ dual * (1 + 1e-9) else dual


def _largest_l1(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights of l1 norm at most one, and the dual distribution."""
    dual, chosen, part = _central_dual(rows, _nearest(rows @ rows.T))
    pull = np.abs(dual @ rows[:, chosen])
    near = np.flatnonzero(pull >= (1 - NEAR) * pull.max())
    exact = np.zeros(len(chosen))
    exact[near] = _program(rows[:, chosen[near]])
    best = max((part, exact), key=lambda w: (rows[:, chosen] @ w).min() / max(np.abs(w).sum(), 1e-300))
    weights = np.zeros(rows.shape[1])
    weights[chosen] = best
    return weights, dual


def _program(rows: np.ndarray) -> np.ndarray:
    """The w of the linear program `max γ` subject to `Z w ≥ γ`, `|w|_1 ≤ 1`, written with `w = a - b`."""
    from scipy.optimize import linprog

    count, size = rows.shape
    objective = np.append(np.zeros(2 * size), -1.0)
    above = np.block([[-rows, rows, np.ones((count, 1))], [np.ones((1, 2 * size)), np.zeros((1, 1))]])
    bounds = [(0, None)] * (2 * size) + [(None, None)]
    found = linprog(objective, A_ub=above, b_ub=np.append(np.zeros(count), 1.0), bounds=bounds, method="highs-ds")
    return np.zeros(size) if found.x is None else found.x[:size] - found.x[size : 2 * size]


@dataclass
class _Centre:
    """A distribution and a bound above all `|Z_jᵀp|` of the chosen columns."""

    dual: np.ndarray
    bound: float


def _central_dual(rows: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The p of `min |Zᵀp|_inf` over distributions, the columns of Z that it needed, and the primal weights on them.

    A barrier method that generates its columns; p is the end of its central path. The optimal p are rarely unique: on
    ±1 data hundreds of points share the margin. A simplex method returns a corner of that face, which violates
    coordinates that no program has seen yet, and column generation crawls. The barrier's p is in the middle of the
    face, and few coordinates are ever needed. `rows` are the `y_i x_i`, scaled to a largest entry of one; `start` is a
    distribution to begin with.
    """
    dual = 0.9 * start + 0.1 / len(start)  # inside the simplex
    pull = np.abs(dual @ rows)
    chosen = np.argsort(-pull, kind="stable")[:FIRST]
    point = _Centre(dual, 1.1 * pull[chosen].max())
    weight = 0.1 * point.bound / (2 * len(chosen) + len(dual))
    while True:
        point = _centre(rows[:, chosen], point, weight)
        pull = np.abs(point.dual @ rows)
        pull[chosen] = 0
        worst = np.argpartition(-pull, min(AGAIN, len(pull) - 1))[:AGAIN]
        new = worst[pull[worst] >= point.bound]
        if len(new):
            chosen = np.concatenate([chosen, new])
            point.bound = float(max(1.01 * point.bound, (1 + 1e-6) * pull[new].max()))
            continue
        if weight * (2 * len(chosen) + len(dual)) <= PRECISE * point.bound or point.bound <= VANISHED:
            break
        weight *= SHRINK
    reach = point.dual @ rows[:, chosen]
    return point.dual, chosen, weight / (point.bound - reach) - weight / (point.bound + reach)


def _centre(rows: np.ndarray, point: _Centre, weight: float) -> _Centre:
    """The minimiser of `t/weight - Σ log(t - g) - Σ log(t + g) - Σ log p` with `g = Zᵀp`, by Newton's method."""
    dual, bound = point.dual.copy(), point.bound
    for _ in range(NEWTON):
        reach = dual @ rows
        above, below = 1 / (bound - reach), 1 / (bound + reach)
        slope = np.append(rows @ (above - below) - 1 / dual, 1 / weight - above.sum() - below.sum())
        step, decrement = _newton(rows, dual, above, below, slope)
        if step is None or decrement < CENTRED:
            break
        length = _longest(dual, bound - reach, bound + reach, step, rows)
        # Damped steps converge from anywhere inside; a longer one is taken where the boundary is far.
        length = min(1.0, 0.9 * length) if decrement < 0.25 else max(1 / (1 + np.sqrt(decrement)), 0.5 * length)
        length = min(length, 1.0)
        moved, raised = dual + length * step[:-1], bound + length * step[-1]
        moved = moved / moved.sum()
        if moved.min() <= 0 or np.abs(moved @ rows).max() >= raised:  # rounding: this is as near as one gets
            break
        dual, bound = moved, raised
    return _Centre(dual, float(bound))


def _newton(rows, dual, above, below, slope):
    """The Newton step on `Σ p = 1` and its decrement squared; None where the system cannot be solved any more."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    curve, mixed = above**2 + below**2, below**2 - above**2
    hessian = np.empty((len(dual) + 1, len(dual) + 1))
    hessian[:-1, :-1] = (rows * curve) @ rows.T + np.diag(1 / dual**2)
    hessian[:-1, -1] = hessian[-1, :-1] = rows @ mixed
    hessian[-1, -1] = curve.sum()
    scale = 1 / np.sqrt(np.diag(hessian))  # entries span twenty orders of magnitude near the end
    try:
        factor = cho_factor(hessian * np.outer(scale, scale))
    except LinAlgError:
        return None, 0.0
    ones = np.append(np.ones(len(dual)), 0.0)
    free, across = (scale * cho_solve(factor, scale * side) for side in (-slope, ones))
    step = free - across * (ones @ free) / (ones @ across)
    return step, float(max(-slope @ step, 0.0))


def _longest(dual, upper, lower, step, rows) -> float:
    """How far one can go along the step before leaving the domain."""
    move = step[:-1] @ rows
    rates = np.concatenate([step[:-1] / dual, (step[-1] - move) / upper, (step[-1] + move) / lower])
    worst = rates.min()
    return np.inf if worst >= 0 else float(-1 / worst)


def _answer(
    rows: np.ndarray, weights: np.ndarray, dual: np.ndarray, order: int, method: str, began: float
) -> MarginResult:
    scale = float(np.abs(rows).max()) if order == 1 else float(np.linalg.norm(rows, axis=1).max())
    pull, size = dual @ rows, float(np.linalg.norm(weights, order))
    bound = float(np.linalg.norm(pull, 2 if order == 2 else np.inf))
    smallest = float((rows @ weights).min())
    margin = smallest / size if size > 0 else 0.0
    gap = max(bound - margin, 0.0) / bound if bound > 0 else np.inf
    separable = True if margin > NOT_SEPARABLE * scale else False if bound <= NOT_SEPARABLE * scale else None
    solved = bool(separable and gap <= ACCEPTED)
    return MarginResult(
        solution=weights / smallest if separable else np.full(rows.shape[1], np.nan),
        value=1 / margin if separable else float("inf"),
        gap=gap if separable else float("inf"),
        certificate=CERTIFICATE,
        method=method,
        seconds=time.perf_counter() - began,
        solved=solved,
        message=margin_message(separable, gap, bound, f"l{order}"),
        margin=margin if separable else 0.0,
        dual=dual,
        separable=separable,
    )


def margin_message(separable: bool | None, gap: float, bound: float, kind: str, what: str = "points y_i x_i") -> str:
    """What was found out, in a sentence."""
    if separable is False:
        return (
            f"not separable: a convex combination of the {what} has norm {bound:.1e}, so no w has "
            "only positive margins; check the labels, or use more features than points"
        )
    if separable is None:
        return f"neither separated nor proved inseparable: every margin is at most {bound:.1e}; scale the data"
    if gap > ACCEPTED:
        return f"a separating classifier, not certified as the best: gap {gap:.1e}"
    return f"the maximum {kind}-margin classifier"
