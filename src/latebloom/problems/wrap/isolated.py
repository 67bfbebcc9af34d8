"""Isolated dynamics: the first part of a network, while the second is always at its best."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax.linalg import cholesky
from jax.scipy.linalg import cho_solve

from latebloom.core import fields
from latebloom.core.arrays import Params
from latebloom.core.threads import one_core
from latebloom.errors import InputError
from latebloom.linalg.gram import lower_gram
from latebloom.problems.classifier import AbstractLabelled
from latebloom.problems.last_layer import FIRST, SECOND, AbstractLinearInSecond, require_linear_in_second

# Below this share of its largest eigenvalue, the smallest of HHᵀ is rounding: a Cholesky factor would be noise.
RANK_TOLERANCE = 1e-12


class Solved(NamedTuple):
    """The regression on the features: `dual` is `A Y`, `second` is `Hᵀ A Y`, with `A = (H Hᵀ + λ/weight I)⁻¹`."""

    dual: jax.Array
    second: jax.Array


class Isolated(AbstractLabelled):
    """`R(θ1) = min_θ2 F(θ1, θ2) + (λ/2)(|θ1|² + |θ2|²)`, over λ, as a problem in θ1 alone.

    For `F = (weight/2) |H(θ1) θ2 - Y|²` the minimum is reached at `θ2 = Hᵀ A Y` with `A = (H Hᵀ + (λ/weight) I)⁻¹`, and

        R(θ1)/λ = (|θ1|² + tr(Yᵀ A Y)) / 2,        ∇R/λ = θ1 - H'(θ1)ᵀ[A Y Yᵀ A H],

    which is the paper's Equation 21 for any λ, not only for small ones. Dividing by λ makes time the slow time
    `λ t` and leaves a limit at `weight_decay=0`: there θ2 interpolates, R/λ is half the squared norm of all weights on
    the zero-loss set, and `train(isolated, GradientDescent(1e-3), steps=5000)` is the paper's Euler iteration.
    Equations are solved by Cholesky, never inverted.

    - `problem`: linear in its second part; its own second part is not used.
    - `weight_decay`: λ in the gradient term `λ w`. The paper's λ multiplies `|θ|²` and is entered with 2λ. 0 is the
      limit, and needs features of full row rank: at least as many hidden units as training samples.

    `train_error` and `test_error` are the problem's, at `(θ1, θ2*(θ1))`: for `weight_decay=0` the train error is
    rounding (below 1e-9), whatever θ1 is.

    >>> import latebloom as lb
    >>> isolated = Isolated(lb.problems.ModularNet(modulus=7, width=24))
    >>> isolated.init().shape, float(isolated.train_error(isolated.init())) < 1e-9
    ((7, 24), True)
    >>> run = lb.train(isolated, lb.GradientDescent(1e-3), steps=100, progress=False)
    >>> bool(run["train_error"].max() < 1e-9)
    True

    Source: "The Geometry of Grokking", Theorem 5.1, Equations 10 to 21.
    """

    example = "isolated[modular_net[modulus=7,width=24]]"
    problem: AbstractLinearInSecond | Any = fields.own(
        lambda _, problem: require_linear_in_second(problem, "Isolated"),
        kind="record",
        base=AbstractLinearInSecond,
        note="linear in its second part",
    )
    weight_decay: float = fields.number(default=0.0, least=0, note="λ, in the gradient term λ w; 0 is the limit")
    ridge: float = fields.derived()

    def derive(self):
        ridge = self.weight_decay / float(self.problem.weight)
        features = np.asarray(self.problem.features(self.init()))
        rows, units = features.shape
        if self.weight_decay == 0 and units < rows:
            raise InputError(
                f"weight_decay=0 needs features of full row rank, and {units} hidden units cannot have it on {rows} "
                f"training samples: use a width of {rows} or more, or weight_decay=1e-3"
            )
        with one_core():
            eigenvalues = np.linalg.eigvalsh(features @ features.T) + ridge
        if not eigenvalues[0] > RANK_TOLERANCE * eigenvalues[-1]:
            raise InputError(
                f"the features of the {rows} training samples are dependent (eigenvalues of HHᵀ + λ/weight from "
                f"{eigenvalues[0]:.0e} to {eigenvalues[-1]:.0e}), and weight_decay={self.weight_decay:g} does not "
                "make up for it: use more hidden units, leave out repeated samples, or raise weight_decay"
            )
        return {"ridge": ridge}

    def init(self) -> Params:
        return self.problem.init()[FIRST]

    def solve(self, features: jax.Array) -> Solved:
        """The best second part for these features, and the dual variables that give it."""
        gram = lower_gram(features, self.ridge)
        dual = cho_solve((cholesky(gram, symmetrize_input=False), True), self.problem.targets)
        return Solved(dual, features.T @ dual)

    def complete(self, first: Params) -> dict[str, Params]:
        """The parameters of the whole problem: θ1 with its best θ2."""
        return {FIRST: first, SECOND: self.solve(self.problem.features(first)).second}

    def loss(self, params: Params) -> jax.Array:
        features = self.problem.features(params)
        squares = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))
        return 0.5 * (squares + jnp.sum(self.problem.targets * self.solve(features).dual))

    def gradient(self, params: Params) -> Params:
        features, pull_back = jax.vjp(self.problem.features, params)
        solved = self.solve(features)
        # A Y Yᵀ A H = (A Y)(Hᵀ A Y)ᵀ: two thin factors, where the formula as printed multiplies square matrices.
        (force,) = pull_back(solved.dual @ solved.second.T)
        return jax.tree.map(lambda weights, pull: weights - pull, params, force)

    def train_error(self, params: Params) -> jax.Array:
        return self.problem.train_error(self.complete(params))

    def test_error(self, params: Params) -> jax.Array:
        return self.problem.test_error(self.complete(params))

    def scores(self, params: Params, part: str) -> jax.Array:
        return self._labelled().scores(self.complete(params), part)

    def labels(self, part: str) -> jax.Array:
        return self._labelled().labels(part)

    def _labelled(self) -> AbstractLabelled:
        assert isinstance(self.problem, AbstractLabelled)
        return self.problem

    @property
    def labelled(self) -> bool:
        return isinstance(self.problem, AbstractLabelled)

    @property
    def has_test(self) -> bool:
        return self.problem.has_test
