"""Where the kernel regime leads: the model linearised at a point, fitted to the training set."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np

from latebloom.core.arrays import Params
from latebloom.core.precision import require_double
from latebloom.linalg.tangent import DENSE, Function, solve_dense, tangent_kernel, tangent_maps
from latebloom.problems.base import AbstractLeastSquares, AbstractProblem, relative_norm, require_least_squares

ITERATIONS = 1_000  # of conjugate gradients


@dataclass(frozen=True, eq=False)
class KernelRegime:
    """The model linearised at `params`, with the shortest `displacement` h that fits the training set: `J h = -r`.

    `fitted` is `|J h + r| / |r|`: not zero where the features are dependent and the labels contradict them. `rank` is
    that of the kernel (None where it was not formed), at most the number of `outputs`.
    """

    params: Params
    displacement: Params
    fitted: float
    rank: int | None
    outputs: int

    def predict(self, function: Function) -> np.ndarray:
        """A function of the parameters after that displacement, to first order: `f(θ0) + J h`."""
        value, change = jax.jvp(function, (self.params,), (self.displacement,))
        return np.asarray(value + change)


def kernel_regime(problem: AbstractProblem, params: Params | None = None) -> KernelRegime:
    """Where gradient flow on squared loss ends if the model is linear in its parameters around `params` (the start).

    The minimum-norm interpolator on tangent features, `min |h|` subject to `J h = -r`, r the residuals at `params`.
    For a homogeneous model that is zero there, r = -y and the prediction does not depend on the scale of the start: it
    is the limit of Theorem 3.9, (K2). A sum of squares, a mean, or weights have the same solution.

    >>> import latebloom as lb
    >>> problem = lb.problems.DiagonalRegression(dimension=20, samples=10, sparsity=2, init_scale=7.0)
    >>> predicted = kernel_regime(problem).predict(problem.end_to_end)  # of u² - v²: the minimum-norm interpolator
    >>> bool(np.allclose(predicted, lb.oracles.min_norm(problem).solution))
    True

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", Section 3.3.1.
    """
    problem = require_least_squares(problem, "kernel_regime")
    require_double(problem, "kernel_regime")
    start = problem.init() if params is None else params
    target = -problem.residuals(start)
    multipliers, rank = _solve(problem, start, target)
    forward, backward = tangent_maps(problem.residuals, start)
    displacement = backward(multipliers)
    missed = float(relative_norm(forward(displacement) - target, target))
    return KernelRegime(start, displacement, missed, rank, len(target))


def _solve(problem: AbstractLeastSquares, params: Params, target: jax.Array) -> tuple[jax.Array, int | None]:
    """`(J Jᵀ)⁺ b`: by eigenvalues where the kernel is small, by conjugate gradients otherwise."""
    if len(target) > DENSE:
        return _by_conjugate_gradients(problem, params, target), None
    multipliers, rank = _by_eigenvalues(problem, params, target)
    return multipliers, int(rank)


@eqx.filter_jit  # problems of one structure share the program
def _by_eigenvalues(problem: AbstractLeastSquares, params: Params, target: jax.Array) -> tuple[jax.Array, jax.Array]:
    return solve_dense(tangent_kernel(problem.residuals, params), target)


@eqx.filter_jit
def _by_conjugate_gradients(problem: AbstractLeastSquares, params: Params, target: jax.Array) -> jax.Array:
    forward, backward = tangent_maps(problem.residuals, params)
    kernel = lambda v: forward(backward(v))  # noqa: E731
    return jax.scipy.sparse.linalg.cg(kernel, target, tol=1e-13, maxiter=ITERATIONS)[0]
