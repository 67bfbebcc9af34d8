"""Any optax optimiser as a method."""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from latebloom.errors import InputError, check_number, unknown_name
from latebloom.methods.base import AbstractMethod, check_learning_rate
from latebloom.methods.gradient_descent import total_gradient

if TYPE_CHECKING:
    import optax

# Optimisers whose step needs more than a gradient: a line search, the loss, a key.
NOT_STEPS = {"lbfgs", "polyak_sgd", "noisy_sgd"}

# What optax does not look at: a memory of 1 or more grows without end, a negative floor divides by zero.
RANGES: dict[str, dict[str, float]] = {
    **{key: {"least": 0, "below": 1} for key in ("b1", "b2", "b3", "rho", "momentum", "decay")},
    **{key: {"least": 0} for key in ("eps", "eps_root", "weight_decay")},
}


@cache
def optimiser_names() -> tuple[str, ...]:
    """The optimisers of optax that are built from a learning rate and step on a gradient."""
    import optax

    functions = [(name, item) for name, item in inspect.getmembers(optax, inspect.isfunction) if name not in NOT_STEPS]
    first = {name: next(iter(inspect.signature(item).parameters), None) for name, item in functions}
    hidden = ("_", "scale_")
    return tuple(name for name, given in first.items() if given == "learning_rate" and not name.startswith(hidden))


class Optax(AbstractMethod):
    """An optimiser of optax, by name, on `∇F + H`; every numeric option can change without compiling.

    Two kinds of weight decay have two names. *Coupled* decay is the penalty `L2`: its gradient goes through the
    optimiser together with the loss's, as in PyTorch's `Adam(weight_decay=…)`. *Decoupled* decay is the option
    `weight_decay` of `Optax("adamw", …)`: beside the step, `w` shrinks by `learning_rate · weight_decay · w`.

    A transformation of your own works too: `Optax(transformation, learning_rate=…)`, where the
    learning rate only drives the clock `time`. Functions are compared by identity: reuse the object.

    >>> Optax("adam", learning_rate=1e-3, b1=0.8).text
    'optax[optimiser=adam,learning_rate=0.001,b1=0.8]'
    """

    takes_options: ClassVar[bool] = True
    optimiser: Any = eqx.field(static=True)
    learning_rate: float
    numbers: dict[str, float]
    switches: tuple[tuple[str, Any], ...] = eqx.field(static=True)

    def __init__(self, optimiser: str | optax.GradientTransformation, learning_rate: float, **options: Any):
        self.optimiser = optimiser
        self.learning_rate = check_learning_rate(learning_rate)
        self.numbers = {k: float(v) for k, v in options.items() if isinstance(v, int | float) and type(v) is not bool}
        self.switches = tuple((k, v) for k, v in options.items() if k not in self.numbers)
        if not isinstance(optimiser, str):
            self._check_transformation(options)
            return
        if optimiser not in optimiser_names():
            raise unknown_name("optax optimiser", optimiser, optimiser_names())
        import optax

        known = inspect.signature(getattr(optax, optimiser)).parameters
        for key, value in options.items():
            if key not in known:
                raise unknown_name(f"option of {optimiser}", key, known)
            if type(known[key].default) is float or (key in RANGES and key in self.numbers):
                check_number(key, value, **RANGES.get(key, {}))
        try:
            self._transformation()
            if all(isinstance(value, bool | str | None) for _, value in self.switches):  # else they may need your tree
                self._try_a_step()
        except jax.errors.TracerBoolConversionError:
            switches = [key for key in self.numbers if type(known[key].default) is not float]
            raise InputError(
                f"optax.{optimiser} cannot compute with {' and '.join(switches)} as a number: use true or false for "
                "what is a switch, and leave other options out"
            ) from None
        except (TypeError, ValueError, AttributeError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise InputError(f"optax.{optimiser} refuses its options: {reason}") from None

    def _check_transformation(self, options: dict[str, Any]) -> None:
        if options:
            raise InputError(f"options {', '.join(options)} go with an optimiser given by name, not with an object")
        if not callable(getattr(self.optimiser, "update", None)):
            raise InputError(f"{self.optimiser!r} is not an optax transformation: pass a name such as 'adam'")

    def _try_a_step(self) -> None:
        """Traces a step on a small matrix: an option that cannot work says so here."""

        def step(method: Optax, params: jax.Array) -> Any:
            transformation = method._transformation()
            return transformation.update(params, transformation.init(params), params)

        jax.eval_shape(step, jax.tree.map(jnp.asarray, self), jax.ShapeDtypeStruct((3, 4), float))

    def parameters(self) -> dict[str, Any]:
        named = {"optimiser": self.optimiser, "learning_rate": self.learning_rate}
        return named | self.numbers | dict(self.switches)

    def _transformation(self) -> optax.GradientTransformation:
        if not isinstance(self.optimiser, str):
            return self.optimiser
        import optax

        return getattr(optax, self.optimiser)(self.learning_rate, **self.numbers, **dict(self.switches))

    def init(self, problem, penalty, params):
        return self._transformation().init(params)

    def step(self, problem, penalty, params, state):
        import optax

        slope = total_gradient(problem, penalty, params)
        updates, state = self._transformation().update(slope, state, params)
        return optax.apply_updates(params, updates), state
