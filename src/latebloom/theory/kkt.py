"""How near a network is to a KKT point of the max-margin problem: at a point, and on average along a path."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.arrays import Params, to_jax
from latebloom.core.threads import one_core
from latebloom.errors import InputError, check_number
from latebloom.linalg.nonnegative import nonnegative_quadratic
from latebloom.linalg.tangent import tangent_rows
from latebloom.probes.base import total_norm
from latebloom.problems.base import AbstractProblem, require_log_loss
from latebloom.problems.networks.margins import margin_constraints, require_degree

MOST = 6_000  # constraints near the smallest margin


@dataclass(frozen=True, eq=False)
class MarginKKT:
    """Stationarity of `min |θ|²` subject to all margins at least one, at θ scaled to norm one.

    - `residual`: `|θ - Σ λ_i ∇m_i| / |θ|` with the multipliers λ ≥ 0 that make it smallest; `cosine` of the two.
    - `complementarity`: `Σ λ_i (m_i - m) / Σ λ_i m_i`, m the smallest margin: zero if only the smallest carry weight.
    - `multipliers`, one an entry of `constraints`; the others are zero. `margin`: `m / |θ|^L`.
    """

    residual: float
    cosine: float
    complementarity: float
    multipliers: np.ndarray
    constraints: np.ndarray
    margin: float


def margin_kkt(problem: AbstractProblem, params: Params, *, slack: float = 0.1) -> MarginKKT:
    """The residual of the KKT conditions of (R1) at `params`: `θ = Σ λ_i ∇m_i(θ)` with λ ≥ 0 on the smallest margins.

    Only margins within a share `slack` of the smallest may have a multiplier. The scale of θ plays no part. The probe
    `KKTAngle` takes the multipliers that the loss gives, which may be far from the best.

    Gradients are taken at `params`. A ReLU network ends on kinks, where a KKT point is a combination of the gradients
    of both sides and this residual stays away from zero: see `averaged_kkt`.

    >>> import latebloom as lb
    >>> problem = lb.problems.DiagonalClassifier(lb.problems.LabelledPoints([[3.0, 0.0]], [1]))
    >>> [round(margin_kkt(problem, jnp.array([[2.0, u], [0.0, 0.0]])).residual, 6) for u in (0.0, 2.0)]
    [0.0, 0.707107]

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", (R1), Theorem 3.5; Lyu and
    Li (2020), "Gradient descent maximizes the margin of homogeneous neural networks", Definition of approximate KKT.
    """
    degree, slack = require_degree(problem, "margin_kkt"), check_number("slack", slack, least=0)
    function = margin_constraints(problem, "margin_kkt")
    unit = _unit(params)
    margins = np.asarray(function(unit), dtype=np.float64)
    smallest = float(margins.min())
    if smallest <= 0:
        raise InputError(
            f"the smallest margin is {smallest:.3g}: margin_kkt needs parameters that fit the training set; train on "
            "until train_error is 0"
        )
    near = np.flatnonzero(margins <= (1 + slack) * smallest)
    if len(near) > MOST:
        raise InputError(f"{len(near)} margins are within slack={slack:g} of the smallest: use a smaller slack")
    features = np.asarray(_features(problem, unit, to_jax(near)), dtype=np.float64)
    with one_core():
        # ⟨∇m_i, θ⟩ = L m_i, as Euler has it.
        multipliers = nonnegative_quadratic(features @ features.T, degree * margins[near])
    flat = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(unit)]).astype(np.float64)
    combined = multipliers @ features
    weighted = float(multipliers @ margins[near])
    return MarginKKT(
        residual=float(np.linalg.norm(flat - combined)),
        cosine=float(flat @ combined / max(np.linalg.norm(combined), np.finfo(float).tiny)),
        complementarity=float(multipliers @ (margins[near] - smallest)) / weighted if weighted > 0 else 0.0,
        multipliers=multipliers,
        constraints=near,
        margin=smallest,
    )


def _unit(params: Params) -> Params:
    """Parameters of norm one in the same direction, also where their squares are no floats."""
    largest = max(float(np.max(np.abs(leaf), initial=0.0)) for leaf in jax.tree.leaves(params))
    if largest == 0 or not np.isfinite(largest):
        raise InputError(f"the largest of params is {largest:g}: margin_kkt needs parameters with a direction")
    scaled = jax.tree.map(lambda leaf: jnp.asarray(leaf) / largest, params)
    size = total_norm(scaled)
    return jax.tree.map(lambda leaf: leaf / size, scaled)


def averaged_kkt(
    problem: AbstractProblem, params: Params, *, learning_rate: float, growth: float = 0.1, most: int = 20_000
) -> float:
    """`1 - cos(θ' - θ, (θ + θ')/2)`, θ' after steps of descent on the log-loss that let |θ| grow by a share `growth`.

    The displacement is a non-negative combination of gradients of margins at points near θ: if it is along θ, then θ is
    near a KKT point of (R1) in the sense of Clarke and Goldstein, who average gradients over a neighbourhood. On kinks
    of ReLU, and among margins that take turns to be the smallest, only this average is stationary.

    >>> import latebloom as lb
    >>> problem = lb.problems.DiagonalClassifier(lb.problems.LabelledPoints([[3.0, 0.0]], [1]))
    >>> start = jnp.array([[2.0, 0.0], [0.0, 0.0]])
    >>> abs(round(averaged_kkt(problem, start, learning_rate=1e-3), 9))
    0.0

    Source: (R1) as above; Lyu and Li (2020) show that directions converge to KKT points for Clarke's subdifferential.
    """
    require_log_loss(problem, "averaged_kkt")
    check_number("learning_rate", learning_rate, above=0)
    check_number("growth", growth, above=0)
    start = jax.tree.map(to_jax, params)
    made, end = _grow(problem, start, jnp.asarray(learning_rate), jnp.asarray(1 + growth), jnp.asarray(most))
    if not int(made) < most:
        raise InputError(
            f"the norm did not grow by a share {growth:g} in {most:,} steps: averaged_kkt needs parameters that fit "
            "the training set; train on until train_error is 0, or give a larger learning_rate"
        )
    before, after = (np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(at)]) for at in (start, end))
    moved, middle = after - before, (after + before) / 2
    return float(1 - moved @ middle / (np.linalg.norm(moved) * np.linalg.norm(middle)))


@eqx.filter_jit
def _grow(problem: AbstractProblem, params: Params, rate: jax.Array, factor: jax.Array, most: jax.Array):
    first = total_norm(params)

    def step(carry):
        count, at = carry
        slope = jax.grad(problem.log_loss)(at)
        return count + 1, jax.tree.map(lambda w, g: w - (rate * g).astype(w.dtype), at, slope)

    go_on = lambda carry: (carry[0] < most) & (total_norm(carry[1]) < factor * first)  # noqa: E731
    return jax.lax.while_loop(go_on, step, (jnp.zeros((), jnp.int64), params))


@eqx.filter_jit
def _features(problem: AbstractProblem, params: Params, rows: jax.Array) -> jax.Array:
    return tangent_rows(margin_constraints(problem, "margin_kkt"), params, rows)
