"""Any optax optimiser as a method."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from latebloom.core import fields
from latebloom.errors import InputError, check_number, unknown_name
from latebloom.methods.base import AbstractMethod
from latebloom.methods.optimiser import AbstractOptimiser

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


class Optax(AbstractOptimiser):
    """An optimiser of optax, by name, on `∇F + H`; every numeric option can change without compiling.

    Two kinds of weight decay have two names. *Coupled* decay is the penalty `L2`: its gradient goes through the
    optimiser together with the loss's, as in PyTorch's `Adam(weight_decay=…)`. *Decoupled* decay is the option
    `weight_decay` of `Optax("adamw", …)`: beside the step, `w` shrinks by `learning_rate · weight_decay · w`.

    A transformation of your own works too, `lb.train(problem, optax.chain(…), steps=…)`, which is short for
    `Optax(transformation)`; a `learning_rate` beside it only drives the clock `time`, which else counts steps.
    Functions are compared by identity: reuse the object. A `name` stands for it in the store, so that another process
    finds the run: give another name to another transformation.

    >>> Optax("adam", learning_rate=1e-3, b1=0.8).text
    'optax[optimiser=adam,learning_rate=0.001,b1=0.8]'
    """

    example = "optax[lion,learning_rate=0.001,b1=0.8]"

    optimiser: Any = fields.own(static=True, note="an optimiser of optax, by name, or a transformation of yours")
    learning_rate: float | None = fields.number(default=None, above=0, note="η, the size of a step")
    known_as: str | None = fields.text(
        default=None, alias="name", static=True, kw_only=True, note="stands for a transformation of yours in the store"
    )
    numbers: dict[str, float] = fields.options(  # type: ignore[misc]
        alias="options", note="options of the optimiser, as optax names them"
    )
    switches: tuple[tuple[str, Any], ...] = fields.derived(static=True)  # those that are no numbers

    if TYPE_CHECKING:

        def __init__(
            self,
            optimiser: str | optax.GradientTransformation,
            learning_rate: float | Callable[[Any], Any] | None = None,
            *,
            name: str | None = None,
            **options: Any,
        ): ...

    def derive(self):
        given: dict[str, Any] = self.numbers
        numbers = {key: float(value) for key, value in given.items() if is_number(value)}
        switches = {key: value for key, value in given.items() if key not in numbers}
        if isinstance(self.optimiser, str):
            _check_options(self.optimiser, given)
            if self.learning_rate is None:
                raise InputError(f"{self.optimiser} needs a learning rate: Optax({self.optimiser!r}, learning_rate=…)")
            if self.known_as is not None:
                raise InputError(f"{self.optimiser!r} is its own name: leave name={self.known_as!r} out")
            try_options(self.optimiser, self.learning_rate, numbers, switches)
        else:
            _check_transformation(self.optimiser, given)
        return {"numbers": numbers, "switches": tuple(switches.items())}

    def parameters(self) -> dict[str, Any]:
        named = {"optimiser": self.optimiser, "learning_rate": self.learning_rate, "name": self.known_as}
        given = {key: value for key, value in named.items() if value is not None}
        return given | self.numbers | dict(self.switches)

    def identity(self) -> dict[str, Any]:
        """A transformation by the name that stands for it, or by its numbers in this process."""
        hidden = {"optimiser"} if self.known_as is not None else set()
        return {key: value for key, value in self.parameters().items() if key not in hidden}

    def transformation(self) -> optax.GradientTransformation:
        if not isinstance(self.optimiser, str):
            return self.optimiser
        import optax

        return getattr(optax, self.optimiser)(self.learning_rate, **self.numbers, **dict(self.switches))

    @property
    def stable_below(self) -> float | None:
        """That of plain steps and of heavy-ball momentum m, `2 (1 + m)`; others scale the gradient by its history."""
        switches = {key: value for key, value in self.switches if value not in (None, False)}
        if self.optimiser != "sgd" or switches or self.numbers.keys() - {"momentum"}:
            return None
        return 2.0 * (1 + float(self.numbers.get("momentum", 0.0)))


def as_method(what: str, value: Any) -> AbstractMethod:
    """A method as it is, and a transformation of optax as the method that it is."""
    if isinstance(value, tuple) and callable(getattr(value, "update", None)):
        return Optax(value)  # type: ignore[arg-type]
    return fields.require_record(AbstractMethod, value, f"{what} must be a method record, not {{kind}}")


def _check_transformation(transformation: Any, options: dict[str, Any]) -> None:
    if options:
        raise InputError(f"options {', '.join(options)} go with an optimiser given by name, not with an object")
    if not callable(getattr(transformation, "update", None)):
        raise InputError(f"{transformation!r} is not an optax transformation: pass a name such as 'adam'")


def _check_options(optimiser: str, given: dict[str, Any]) -> None:
    """Refuses names that optax does not know, and numbers out of their range."""
    if optimiser not in optimiser_names():
        raise unknown_name("optax optimiser", optimiser, optimiser_names())
    known = known_options(optimiser)
    for key, value in given.items():
        if key not in known:
            raise unknown_name(f"option of {optimiser}", key, known)
        if type(known[key].default) is float or (key in RANGES and is_number(value)):
            check_number(key, value, **RANGES.get(key, {}))


def is_number(value: Any) -> bool:
    """Whether an option is a number, and no switch."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def known_options(optimiser: str) -> dict[str, inspect.Parameter]:
    """The options of an optimiser of optax."""
    import optax

    return dict(inspect.signature(getattr(optax, optimiser)).parameters)


def try_options(optimiser: str, learning_rate: float, numbers: dict[str, float], switches: dict[str, Any]) -> None:
    """Traces a step on a small matrix: an option that cannot work says so here."""
    import optax

    make = getattr(optax, optimiser)

    def step(rate: Any, values: Any, params: jax.Array) -> Any:
        transformation = make(rate, **values, **switches)
        return transformation.update(params, transformation.init(params), params)

    try:
        make(learning_rate, **numbers, **switches)
        if all(isinstance(value, bool | str | None) for value in switches.values()):  # else they may need your tree
            arrays = jax.tree.map(jnp.asarray, (learning_rate, numbers))
            jax.eval_shape(step, *arrays, jax.ShapeDtypeStruct((3, 4), float))
    except jax.errors.TracerBoolConversionError:
        known = known_options(optimiser)
        as_numbers = [key for key in numbers if type(known[key].default) is not float]
        raise InputError(
            f"optax.{optimiser} cannot compute with {' and '.join(as_numbers)} as a number: use true or false for "
            "what is a switch, and leave other options out"
        ) from None
    except (TypeError, ValueError, AttributeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"optax.{optimiser} refuses its options: {reason}") from None
