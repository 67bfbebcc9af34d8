"""What a function of a user's own computes, as a digest that is the same in every process.

It is that of the function's program as JAX traces it (jaxpr), with every constant by its value, and of the program of
its gradient, in which rules of differentiation are seen. Names, addresses and source files are no part of it.
"""

from __future__ import annotations

import hashlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

# Functions that differentiate: what they do is seen in the program of the gradient.
_RULES = {"jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd", "out_trees", "optimize_remat"}
_LABELS = {"name", "debug_info", "ctx_mesh"}


class UnknowableError(ValueError):
    """A program calls back into Python, or holds something that has no text of its own."""


def digest(function: Any, *examples: Any) -> str | None:
    """Sixteen hexadecimal digits; None if what the function computes cannot be told, or not with these arguments.

    >>> shift = 1.0
    >>> first = digest(lambda w: w - shift, np.zeros(2))
    >>> first == digest(lambda weights: weights - 1.0, np.zeros(2)), first == digest(lambda w: w - 2.0, np.zeros(2))
    (True, False)
    """
    try:
        program = jax.make_jaxpr(function)(*examples)
        text = _Reader().program(program)
    except Exception:  # whatever a function raises when it is traced: then it has no program
        return None
    try:
        text += _Reader().program(jax.make_jaxpr(lambda *given: _pulled(function, *given))(*examples))
    except UnknowableError:
        return None
    except Exception:  # no gradient: nobody takes one, then
        text += "no gradient"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _pulled(function: Any, *examples: Any) -> Any:
    value, pull_back = jax.vjp(function, *examples)
    return pull_back(jax.tree.map(jnp.ones_like, value))


class _Reader:
    """A program as text: variables numbered as they come, arrays by their digest."""

    def __init__(self):
        self.numbers: dict[Any, int] = {}

    def program(self, closed: Any) -> str:
        return self.body(closed.jaxpr) + self.value(list(closed.consts))

    def body(self, jaxpr: Any) -> str:
        given = [self.atom(var) for var in (*jaxpr.constvars, *jaxpr.invars)]
        lines = [self.line(equation) for equation in jaxpr.eqns]
        return "\n".join([f"given {given}", *lines, f"gives {[self.atom(var) for var in jaxpr.outvars]}"])

    def line(self, equation: Any) -> str:
        if "callback" in equation.primitive.name:
            raise UnknowableError(equation.primitive.name)
        told = {key: value for key, value in equation.params.items() if key not in _RULES | _LABELS}
        params = ",".join(f"{key}={self.value(told[key])}" for key in sorted(told))
        taken, made = ([self.atom(var) for var in side] for side in (equation.invars, equation.outvars))
        return f"{equation.primitive.name}[{params}]{taken}{made}"

    def atom(self, var: Any) -> str:
        if isinstance(var, core.Literal):
            return self.value(var.val)
        number = self.numbers.setdefault(var, len(self.numbers))
        return f"v{number}:{var.aval.str_short()}"

    def value(self, value: Any) -> str:
        if isinstance(value, core.ClosedJaxpr):
            return f"{{{_Reader().program(value)}}}"  # its variables are its own
        if isinstance(value, core.Jaxpr):
            return f"{{{_Reader().body(value)}}}"
        if type(value).__name__ == "PRNGImpl":  # a record of functions, known by its name
            return str(value.name)
        if isinstance(value, tuple | list):
            return f"({','.join(self.value(item) for item in value)})"
        if isinstance(value, dict):
            return self.value(sorted((str(key), self.value(item)) for key, item in value.items()))
        if isinstance(value, np.ndarray | np.generic | jax.Array) and hasattr(value, "dtype"):
            return _array(value)
        text = repr(value)
        if (callable(value) and not isinstance(value, type | np.dtype)) or " at 0x" in text:
            raise UnknowableError(text)
        return text


def _array(value: Any) -> str:
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    data = np.ascontiguousarray(np.asarray(value))
    return f"{data.dtype}{data.shape}{hashlib.sha256(data.tobytes()).hexdigest()}"
