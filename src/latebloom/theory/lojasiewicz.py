"""Chatterjee–Łojasiewicz constants: how steep a loss is for its height, around a point."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from latebloom.core.arrays import Params, to_jax
from latebloom.core.seeds import generator
from latebloom.errors import check_count, check_number
from latebloom.linalg.spectrum import Spectrum
from latebloom.oracles.l2 import least_squares
from latebloom.problems.base import AbstractLeastSquares, require_least_squares, require_linear


@dataclass(frozen=True)
class LocalCL:
    """`|∇g|²/g` at a point, and the smallest value seen in a ball around it: an upper bound on χ, not χ itself.

    >>> LocalCL(at_point=2.0, estimate=1.0, loss=0.5, radius=1.0, exact=False).estimate
    1.0
    """

    at_point: float
    estimate: float
    loss: float
    radius: float
    exact: bool


@dataclass(frozen=True)
class CLCheck:
    """Whether `4 g(x) < r² χ(g, x, r)`; `exact` is false where χ is a sampled estimate.

    A sampled χ is an upper bound: a check that fails has failed, one that passes is evidence.

    >>> CLCheck(holds=True, radius=2.0, left=1.0, right=4.0, exact=True).holds
    True
    """

    holds: bool
    radius: float
    left: float
    right: float
    exact: bool


def cl_constant_linear(problem: Any) -> float:
    """The exact constant `χ = 2 σ_min⁺(XXᵀ)` of `g(a) = |X a - y|² / 2` less its minimum.

    `∇g = Xᵀr` and `g = |r|² / 2` with r in the range of X, so `|∇g|²/g >= 2 σ_min²`, with equality for r along
    the last left singular vector. On any ball that holds an interpolator in its interior it is the infimum.

    >>> from latebloom.problems import LinearRegression
    >>> cl_constant_linear(LinearRegression([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]], [1.0, 1.0]))
    8.0

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Eq. 2.
    """
    problem = require_linear(problem, "cl_constant_linear")
    return float(2 * Spectrum.of(np.asarray(problem.design)).sigma[-1] ** 2)


def local_cl_constant(problem: Any, params: Params, radius: float, *, samples: int = 1000, seed: int = 0) -> LocalCL:
    """An estimate of `χ(g, x, r) = inf |∇g(y)|² / g(y)` over the ball `|y - x| <= r`.

    The smallest value at x and at `samples` points drawn uniformly in the ball: an upper bound on χ that is loose
    in high dimension. For a linear problem use `cl_constant_linear`, which is exact.

    >>> import jax.numpy as jnp
    >>> from latebloom.problems import LeastSquares
    >>> problem = LeastSquares(lambda w: jnp.array([w[0] * w[1] - 1.0]), jnp.array([1.0, 2.0]))
    >>> round(local_cl_constant(problem, problem.init(), radius=0.0, samples=1).at_point, 12)
    10.0

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Eq. 2.
    """
    problem = require_least_squares(problem, "local_cl_constant")
    radius = check_number("radius", radius, least=0)
    loss, ratio, smallest = _probe(problem, params, samples, seed)
    return LocalCL(at_point=ratio, estimate=smallest(radius), loss=loss, radius=radius, exact=False)


def is_r_cl(problem: Any, params: Params, radius: float, *, samples: int = 1000, seed: int = 0) -> CLCheck:
    """Whether the loss satisfies the r-CL inequality `4 g(x) < r² χ(g, x, r)` at a point.

    Then, for a small learning rate and a small penalty, descent memorises without leaving the ball.
    Exact for a linear problem (with g less its minimum), sampled for others.

    >>> from latebloom.problems import LinearRegression
    >>> problem = LinearRegression([[1.0, 0.0]], [2.0])
    >>> is_r_cl(problem, problem.init(), 1.9).holds, is_r_cl(problem, problem.init(), 2.1).holds
    (False, True)

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Section 2, Definition C.9.
    """
    problem = require_least_squares(problem, "is_r_cl")
    radius = check_number("radius", radius, above=0)
    if problem.linear:
        height, constant = excess_loss(problem, params), cl_constant_linear(problem)
    else:
        local = local_cl_constant(problem, params, radius, samples=samples, seed=seed)
        height, constant = local.loss, local.estimate
    right = radius**2 * constant
    return CLCheck(4 * height < right, radius, 4 * height, right, problem.linear)


def smallest_cl_radius(problem: Any, params: Params, *, most: float = 1e3, samples: int = 1000, seed: int = 0) -> float:
    """The smallest radius r with `4 g(x) <= r² χ(g, x, r)`, infinite if none up to `most` times the first guess.

    `2 sqrt(g / χ)` for a linear problem. For others χ falls with r, and the smallest conceivable radius is
    `2 g / |∇g|`; radii are scanned from there by steps of 5 %, with the sampled estimate of χ.

    >>> from latebloom.problems import LinearRegression
    >>> problem = LinearRegression([[1.0, 0.0]], [2.0])
    >>> smallest_cl_radius(problem, problem.init())
    2.0

    Source: "Grokking Beyond the Euclidean Norm of Model Parameters", Definition C.9.
    """
    problem = require_least_squares(problem, "smallest_cl_radius")
    most = check_number("most", most, least=1)
    if problem.linear:
        return 2 * math.sqrt(excess_loss(problem, params) / cl_constant_linear(problem))
    loss, ratio, smallest = _probe(problem, params, samples, seed)
    if loss == 0 or ratio == 0:
        return 0.0 if loss == 0 else math.inf
    first = 2 * math.sqrt(loss / ratio)
    radii = first * 1.05 ** np.arange(1 + math.floor(math.log(most) / math.log(1.05)))
    return next((float(r) for r in radii if 4 * loss <= r**2 * smallest(float(r))), math.inf)


def excess_loss(problem: AbstractLeastSquares, params: Params) -> float:
    """`g(x) - min g`: the theorems take the minimum to be zero, which noise with N > n makes false.

    The minimum is known for a linear problem, and taken to be zero for others.

    >>> from latebloom.problems import LinearRegression
    >>> round(excess_loss(LinearRegression([[1.0], [1.0]], [1.0, 3.0], init=[1.0]), 1.0 * np.ones(1)), 12)
    1.0
    """
    lowest = least_squares(problem).value if problem.linear else 0.0
    return max(float(problem.loss(params)) - lowest, 0.0)


def _probe(
    problem: AbstractLeastSquares, params: Params, samples: int, seed: int
) -> tuple[float, float, Callable[[float], float]]:
    """`g(x)`, `|∇g(x)|²/g(x)`, and the smallest ratio over sampled points as a function of the radius."""
    centre, unravel = ravel_pytree(params)
    directions = to_jax(_unit_ball(check_count("samples", samples), centre.size, seed))

    def ratio(point: jax.Array) -> jax.Array:
        height = problem.loss(unravel(point))
        gradient, _ = ravel_pytree(problem.gradient(unravel(point)))
        # Where g vanishes the ratio is not defined and the infimum skips it.
        return jnp.where(height > 0, jnp.sum(gradient**2) / jnp.where(height > 0, height, 1.0), jnp.inf)

    sampled = jax.jit(lambda radius: jnp.min(jax.vmap(ratio)(centre + radius * directions)))
    here = float(ratio(centre))
    return float(problem.loss(params)), here, lambda radius: min(here, float(sampled(radius)))


def _unit_ball(samples: int, size: int, seed: int) -> np.ndarray:
    random = generator(seed, "ball")
    directions = random.normal(size=(samples, size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * random.uniform(size=(samples, 1)) ** (1 / size)
