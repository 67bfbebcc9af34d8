"""The dual of the l1 margin, `min |Zᵀp|_inf` over distributions p, by a barrier method that generates its columns.

The optimal p are rarely unique: on ±1 data hundreds of points share the margin. A simplex method returns a corner of
that face, which violates coordinates that no program has seen yet, and column generation crawls. The barrier's p is in
the middle of the face, and few coordinates are ever needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FIRST, AGAIN = 300, 200  # columns at the start, and at most so many that violate at a time
SHRINK = 0.2  # of the barrier's weight from one centre to the next
CENTRED = 1e-2  # Newton's decrement squared: near enough to the centre to go on
NEWTON = 60  # steps to a centre, at most
PRECISE = 1e-10  # relative gap at which the path ends
VANISHED = 3e-10  # of the largest entry: a bound that small is zero


@dataclass
class _Centre:
    """A distribution and a bound above all `|Z_jᵀp|` of the chosen columns."""

    dual: np.ndarray
    bound: float


def central_dual(rows: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distribution p at the end of the central path, the columns that it needed, and the primal weights on them.

    `rows` are the `y_i x_i`, scaled to a largest entry of one; `start` is a distribution to begin with.
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
