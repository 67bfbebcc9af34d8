"""The limit map Φ of the unregularised flow, and its derivative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from latebloom.core.arrays import Params, to_jax
from latebloom.core.precision import require_double
from latebloom.errors import InputError, check_number
from latebloom.flows.slow import approach
from latebloom.problems.base import AbstractLeastSquares, AbstractProblem, require_least_squares
from latebloom.zero_loss.set import RESIDUAL, residual_goal, residual_size, tangent_projection

BUDGET = 10_000_000  # gradients


@dataclass(frozen=True)
class LimitPoint:
    """Φ(w0): `params`, its `|r|`, whether that is zero loss, and the gradients it took."""

    params: Any
    residual: float
    zero_loss: bool
    gradients: int


class _From(AbstractLeastSquares):
    """A problem with another start; arrays, so that another start compiles nothing."""

    problem: Any
    start: Any

    def init(self) -> Any:
        return self.start

    def residuals(self, params: Any) -> jax.Array:
        return self.problem.residuals(params)

    def gradient(self, params: Any) -> Any:
        return self.problem.gradient(params)

    def train_error(self, params: Any) -> jax.Array:
        return self.problem.train_error(params)

    def test_error(self, params: Any) -> jax.Array:
        return self.problem.test_error(params)


def limit_map(problem: AbstractProblem, params: Params | None = None, *, rtol: float = 1e-6) -> LimitPoint:
    """Φ(w0), the end of `w' = -∇F(w)` from `params` (default: the problem's start).

    By the stabilised flow to a relative residual of 1e-6, then Gauss-Newton steps to 1e-10. Where the flow stops short
    of zero loss, the point where it stopped, with `zero_loss=False`.

    >>> import latebloom as lb
    >>> toy = lb.problems.LinearRegression([[1.0, 1.0]], [2.0], init=[0.0, 1.0])
    >>> limit_map(toy).params.round(9).tolist()
    [0.5, 1.5]

    Source: "A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation", Section 4.2.
    """
    problem = require_least_squares(problem, "limit_map")
    require_double(problem, "limit_map")
    rtol = check_number("rtol", rtol, above=1e-11, below=1)
    arrays: Any = jax.tree.map(to_jax, problem)
    moved = arrays if params is None else _From(arrays, _like(params, problem))  # a slow flow begins with the former
    lane = approach.fast_lane(moved, None, 100 * rtol)
    found = approach.reach(lane, None, _goal(moved), BUDGET)
    return LimitPoint(
        jax.tree.map(np.asarray, _as_parameters(arrays, found.point)),
        float(found.residual),
        bool(found.arrived),
        int(found.gradients),
    )


@jax.jit
def _goal(problem: Any) -> jax.Array:
    return residual_goal(problem, RESIDUAL)


@jax.jit
def _as_parameters(problem: Any, flat: jax.Array) -> Any:
    return ravel_pytree(problem.init())[1](flat)


def limit_map_derivative(problem: AbstractProblem, params: Params) -> Callable[[Params], Params]:
    """DΦ(w) at a point w of zero loss, as a linear map: the orthogonal projection onto the kernel of ∇²F(w).

    Refused elsewhere: off the set DΦ has no such formula; differences of `limit_map` give it.

    >>> import latebloom as lb, numpy as np
    >>> derivative = limit_map_derivative(lb.problems.ToyModel("plane"), np.ones(3))
    >>> derivative(np.array([3.0, 0.0, 0.0])).round(9).tolist()
    [2.0, -1.0, -1.0]

    Source: "A Theoretical Framework for Grokking: Interpolation followed by Riemannian Norm Minimisation", Section 4.2,
    after Eq. 6.
    """
    problem = require_least_squares(problem, "limit_map_derivative")
    require_double(problem, "limit_map_derivative")
    point = _like(params, problem)
    size = float(residual_size(problem, ravel_pytree(point)[0]))
    if size > 1e-6 * max(1.0, float(residual_size(problem, ravel_pytree(problem.init())[0]))):
        raise InputError(
            f"params has |r| = {size:.3g}, and DΦ is known at zero loss only: give limit_map(problem).params"
        )
    project = jax.jit(lambda vector: tangent_projection(problem, point, vector))
    return lambda vector: project(_like(vector, problem))


def _like(params: Any, problem: AbstractProblem) -> Any:
    """The parameters as arrays in the problem's own tree."""
    start = problem.init()
    shapes = [jax.tree.map(np.shape, tree) for tree in (start, params)]
    if shapes[0] != shapes[1]:
        raise InputError(f"params has shape {shapes[1]}: the problem's parameters have {shapes[0]}")
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=float), params)
