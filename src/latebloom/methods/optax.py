"""Any optax optimiser as a method."""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

import equinox as eqx

from latebloom.errors import CapabilityError, InputError, check_number, unknown_name
from latebloom.methods.base import AbstractMethod, check_learning_rate
from latebloom.methods.gradient_descent import total_gradient

if TYPE_CHECKING:
    import optax


@cache
def optimiser_names() -> tuple[str, ...]:
    """The optimisers of optax that are built from a learning rate."""
    import optax

    functions = inspect.getmembers(optax, inspect.isfunction)
    first = {name: next(iter(inspect.signature(item).parameters), None) for name, item in functions}
    return tuple(name for name, parameter in first.items() if parameter == "learning_rate")


class Optax(AbstractMethod):
    """An optimiser of optax, by name, on `∇F + H`; every numeric option can change without compiling.

    A transformation of your own works too: `Optax(transformation, learning_rate=…)`, where the
    learning rate only drives the clock `time`. Functions are compared by identity: reuse the object.

    >>> Optax("adam", learning_rate=1e-3, b1=0.8).text
    'optax[optimiser=adam,learning_rate=0.001,options={b1:0.8}]'
    """

    optimiser: Any = eqx.field(static=True)
    learning_rate: float
    options: dict[str, float]

    def __init__(self, optimiser: str | optax.GradientTransformation, learning_rate: float, **options: float):
        self.optimiser = optimiser
        self.learning_rate = check_learning_rate(learning_rate)
        self.options = {key: check_number(key, value) for key, value in options.items()}
        if not isinstance(optimiser, str):
            if options:
                raise InputError(f"options {', '.join(options)} go with an optimiser given by name, not with an object")
            return
        if optimiser not in optimiser_names():
            raise unknown_name("optax optimiser", optimiser, optimiser_names())
        import optax

        known = list(inspect.signature(getattr(optax, optimiser)).parameters)
        for key in options:
            if key not in known:
                raise unknown_name(f"option of {optimiser}", key, known)

    def check(self, problem, penalty):
        if not isinstance(self.optimiser, str) and not hasattr(self.optimiser, "update"):
            raise CapabilityError(f"{self.optimiser!r} is not an optax transformation: pass a name such as 'adam'")

    def _transformation(self) -> optax.GradientTransformation:
        if not isinstance(self.optimiser, str):
            return self.optimiser
        import optax

        return getattr(optax, self.optimiser)(self.learning_rate, **self.options)

    def init(self, problem, penalty, params):
        return self._transformation().init(params)

    def step(self, problem, penalty, params, state):
        import optax

        slope = total_gradient(problem, penalty, params)
        updates, state = self._transformation().update(slope, state, params)
        return optax.apply_updates(params, updates), state
