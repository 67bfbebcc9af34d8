"""A function is known by what it computes: its program, its constants, its gradient."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from latebloom.core import record
from latebloom.core.functions import digest

assert record.Record  # what chooses double precision
START = jnp.linspace(-1.0, 1.0, 5)


def squared(factor):
    @jax.custom_jvp
    def square(x):
        return x * x

    square.defjvp(lambda given, moved: (square(given[0]), factor * given[0] * moved[0]))
    return square


def squared_backwards(factor):
    @jax.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, pulled: (factor * x * pulled,))
    return square


PAIRS = {
    "a constant": (lambda w: w - 1.0, lambda w: w - 2.0),
    "the last digit": (lambda w: 0.1 * w, lambda w: (0.1 + 2e-17) * w),
    "an array": (lambda w: w - np.arange(5.0), lambda w: w - np.arange(5.0)[::-1]),
    "an operation": (jnp.sin, jnp.cos),
    "inside a loop": tuple(lambda w, n=n: jax.lax.fori_loop(0, 3, lambda i, v: v * n, w) for n in (2.0, 3.0)),
    "inside a branch": tuple(lambda w, n=n: jax.lax.cond(w[0] > 0, lambda: w, lambda: n * w) for n in (2.0, 3.0)),
    "a key": tuple(lambda w, n=n: w + jax.random.normal(jax.random.key(n), (5,)) for n in (0, 1)),
    "a rule of differentiation": (squared(2.0), squared(3.0)),
    "a rule of backward differentiation": (squared_backwards(2.0), squared_backwards(3.0)),
    "the axis": (lambda w: jnp.outer(w, w * w).sum(0), lambda w: jnp.outer(w, w * w).sum(1)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_functions_that_differ_in(name):
    one, other = PAIRS[name]
    assert digest(one, START) != digest(other, START)
    assert digest(one, START) == digest(one, START) is not None


def test_names_and_files_do_not_matter():
    texts = (
        "def f(w):\n    return jax.nn.relu(w) - 1.0",
        "\n\ndef other(u):\n    v = jax.nn.relu(u)\n    return v - 1.0",
    )
    found = []
    for file, text in enumerate(texts):
        names = {"jax": jax}
        exec(compile(text, f"file{file}.py", "exec"), names)
        found.append(digest(next(v for k, v in names.items() if k in ("f", "other")), START))
    assert found[0] == found[1] is not None


def test_what_was_traced_before_does_not_matter():
    def function(w):
        return jnp.where(w > 0, w, 0.0) + jnp.where(w < 1, w, 1.0)

    before = digest(function, START)
    jax.clear_caches()
    assert digest(function, START) == before


def test_what_calls_back_into_python_is_unknown():
    shape = jax.ShapeDtypeStruct((5,), float)
    assert digest(lambda w: jax.pure_callback(np.sin, shape, w), START) is None
    assert digest(lambda w: float(w[0]), START) is None  # it cannot be traced at all


def test_a_function_without_a_gradient_is_known_by_its_values():
    wins = digest(jnp.argmax, START)
    assert wins is not None
    assert wins != digest(jnp.argmin, START)
