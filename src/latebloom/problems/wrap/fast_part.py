"""A part of the parameters that learns faster than the rest."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.core.arrays import Params
from latebloom.errors import CapabilityError, unknown_name
from latebloom.penalties import L2, AbstractPenalty, OnParts
from latebloom.problems.base import AbstractProblem
from latebloom.problems.classifier import AbstractLabelled

NOT_A_PROBLEM = "FastPart takes a problem record, not {kind}: FastPart(problem, 'second', 9)"


class FastPart(AbstractLabelled):
    """`problem` in coordinates in which `part` is divided by √speed, so that it moves `speed` times as fast.

    With `θ2 = √κ φ`, descent on φ is `θ2' = -κ ∇_θ2`: the metric diag(1, κ). It stays a gradient of a loss, so that
    every method and the flow apply. A penalty acts on the coordinates: weight decay on θ is `faster.decay(λ)`, which
    is λ on the other parts and κλ on φ; then both terms of the gradient are κ times as fast and the minima the same.

    >>> import latebloom as lb
    >>> problem = lb.problems.ModularNet(modulus=7, width=24)
    >>> faster = FastPart(problem, "second", 100.0)
    >>> bool(abs(faster.loss(faster.init()) - problem.loss(problem.init())) < 1e-12)
    True

    Source: "The Geometry of Grokking", Section 5.3: the second part is "the fast learning component".
    """

    example = "fast_part[modular_net[modulus=7,width=24],second,100]"
    problem: AbstractProblem = fields.record_of(AbstractProblem, NOT_A_PROBLEM, note="what is learned")
    part: str = fields.own(static=True, kind="text", note="the name of the part that is faster")
    speed: float = fields.number(above=0, note="κ, how many times as fast it is")

    def derive(self):
        params = self.problem.init()
        if not isinstance(params, dict):
            raise CapabilityError(
                f"FastPart needs parameters in a dictionary of parts; those of {self.problem!r} have no names"
            )
        if self.part not in params:
            raise unknown_name("part", str(self.part), params)
        return {}

    def original(self, params: Params) -> Params:
        """The problem's own parameters, from the coordinates."""
        return params | {self.part: jax.tree.map(lambda leaf: jnp.sqrt(self.speed) * leaf, params[self.part])}

    def decay(self, weight_decay: float) -> AbstractPenalty:
        """The penalty that is weight decay on the problem's own parameters."""
        fast = OnParts(L2(weight_decay * self.speed), self.part)
        others = [name for name in self.problem.init() if name != self.part]
        return OnParts(L2(weight_decay), *others) + fast if others else fast

    def init(self) -> Params:
        params = self.problem.init()
        return params | {self.part: jax.tree.map(lambda leaf: leaf / jnp.sqrt(self.speed), params[self.part])}

    def loss(self, params: Params) -> jax.Array:
        return self.problem.loss(self.original(params))

    def gradient(self, params: Params) -> Params:
        return self.original(self.problem.gradient(self.original(params)))

    def train_error(self, params: Params) -> jax.Array:
        return self.problem.train_error(self.original(params))

    def test_error(self, params: Params) -> jax.Array:
        return self.problem.test_error(self.original(params))

    def scores(self, params: Params, part: str) -> jax.Array:
        assert isinstance(self.problem, AbstractLabelled)
        return self.problem.scores(self.original(params), part)

    def labels(self, part: str) -> jax.Array:
        assert isinstance(self.problem, AbstractLabelled)
        return self.problem.labels(part)

    @property
    def labelled(self) -> bool:
        return isinstance(self.problem, AbstractLabelled) and self.problem.labelled

    @property
    def has_test(self) -> bool:
        return self.problem.has_test

    @property
    def degree(self) -> int | None:
        return self.problem.degree
