"""The classifier of largest margin on tangent features: where the kernel phase of a classifier ends."""

from __future__ import annotations

import time
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.core.arrays import Params
from latebloom.core.threads import one_core
from latebloom.errors import InputError
from latebloom.linalg.nonnegative import nonnegative_quadratic
from latebloom.linalg.tangent import Function, tangent_maps, tangent_rows
from latebloom.oracles.margin import ACCEPTED, CERTIFICATE, NOT_SEPARABLE, MarginResult, margin_message
from latebloom.problems.base import AbstractProblem
from latebloom.problems.networks.margins import margin_constraints

MOST = 6_000  # constraints, whose Gram matrix is factorised some thirty times


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelMarginResult(MarginResult):
    """A classifier of largest margin on the tangent features at `params`.

    - `displacement`: the change h of the parameters of least norm with all margins `J h` at least one, as parameters;
      `solution` is the same as one vector, `value = |h| = 1/margin`. NaN if the features do not separate.
    - `dual`: a weight a constraint, row by row and within a row class by class.
    """

    params: Params
    displacement: Params

    def predict(self, function: Function) -> np.ndarray:
        """What the linearised model says: `J h` of a function of the parameters, e.g. the scores of test rows.

        The value at `params` plays no part: h is only known up to scale, and the phase is that of a start at zero.
        """
        return np.asarray(jax.jvp(function, (self.params,), (self.displacement,))[1])


def max_kernel_margin(problem: AbstractProblem, params: Params | None = None) -> KernelMarginResult:
    """The h that maximises the smallest margin of the model linearised at `params` (the start) over `|h| ≤ 1`.

    With labels ±1 the margins are `y_i ⟨∇f(x_i), h⟩`; with C classes there are C - 1 a row, `⟨∇f_y - ∇f_j, h⟩` for
    every wrong class j: the hard-margin multi-class support vector machine to which cross-entropy leads. Solved in the
    dual, on the Gram matrix of the constraints; both sides are evaluated at the returned point.

    If the features do not separate the training set `solved` and `separable` are false and the solution is NaN.

    >>> import latebloom as lb
    >>> data = lb.problems.GaussianGap(dimension=30, samples=8, margin=4.0, seed=2)
    >>> net = lb.problems.DiagonalClassifier(data, init_scale=3.0)
    >>> kernel, linear = max_kernel_margin(net), lb.oracles.max_l2_margin(data)
    >>> weights = kernel.predict(net.end_to_end)  # the net's tangent features are the inputs themselves
    >>> round(float(weights @ linear.direction / np.linalg.norm(weights)), 9), kernel.solved
    (1.0, True)

    Source: "Dichotomy of Early and Late Phase Implicit Biases Can Provably Induce Grokking", (K1) and Theorem 3.4,
    which are for two classes; with several, cross-entropy has the margins of Lyu and Li (2020).
    """
    began = time.perf_counter()
    start = problem.init() if params is None else params
    function = margin_constraints(problem, "max_kernel_margin")
    count = jax.eval_shape(function, start).size
    if count > MOST:
        raise InputError(
            f"max_kernel_margin would factorise a Gram matrix of {count} x {count} (rows times wrong classes): at most "
            f"{MOST} constraints are allowed; use a smaller modulus or train_share"
        )
    with one_core():
        gram = np.asarray(_gram(problem, start), dtype=np.float64)
        if not gram.any():
            raise InputError(
                "all tangent features are zero at these parameters: max_kernel_margin needs a start with a gradient"
            )
        dual = nonnegative_quadratic(gram, np.ones(count))
    dual /= dual.sum()
    return _answer(problem, start, gram, dual, began)


@eqx.filter_jit
def _gram(problem: AbstractProblem, params: Params) -> jax.Array:
    function = margin_constraints(problem, "max_kernel_margin")
    count = jax.eval_shape(function, params).size
    features = tangent_rows(function, params, jnp.arange(count))
    return features @ features.T


def _answer(
    problem: AbstractProblem, params: Params, gram: np.ndarray, dual: np.ndarray, began: float
) -> KernelMarginResult:
    margins = gram @ dual  # of h = Σ p_i z_i
    bound = float(np.sqrt(max(dual @ margins, 0.0)))
    scale, smallest = float(np.sqrt(np.diag(gram).max())), float(margins.min())
    margin = smallest / bound if bound > 0 else 0.0
    gap = max(bound - margin, 0.0) / bound if bound > 0 else np.inf
    # The Gram matrix squares the features: a norm of √eps of them is zero.
    zero = max(NOT_SEPARABLE, float(np.sqrt(np.finfo(float).eps))) * scale
    separable = True if margin > zero else False if bound <= zero else None
    _, backward = tangent_maps(margin_constraints(problem, "max_kernel_margin"), params)
    factor = jnp.asarray(dual / smallest if separable else np.full(len(dual), np.nan))
    displacement = backward(factor.astype(jnp.result_type(*jax.tree.leaves(params))))
    return KernelMarginResult(
        solution=np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(displacement)]),
        value=1 / margin if separable else float("inf"),
        gap=gap if separable else float("inf"),
        certificate=CERTIFICATE.replace("y_i x_i", "z_i") + ", z_i the tangent features of the margins",
        method="interior-point method on the Gram matrix of the constraints",
        seconds=time.perf_counter() - began,
        solved=bool(separable and gap <= ACCEPTED),
        message=margin_message(separable, gap, bound, "kernel l2", "tangent features of the margins"),
        margin=margin if separable else 0.0,
        dual=dual,
        separable=separable,
        params=params,
        displacement=displacement,
    )
