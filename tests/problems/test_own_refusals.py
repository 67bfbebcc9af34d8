"""What a user's own function may get wrong is a sentence, at construction."""

from __future__ import annotations

import itertools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from refusals import Refusal, refusals

import latebloom as lb
from latebloom.errors import InputError
from latebloom.problems import LeastSquares

START = jnp.array([1.0, 2.0])
CALLS = itertools.count()


def _residuals(function: Any) -> Any:
    return LeastSquares(function, START)


def _test(function: Any) -> Any:
    return LeastSquares(lambda w: w - 1.0, START, test=function)


def _if(w):
    return w if w.sum() > 0 else -w


def _impure(w):
    return w + next(CALLS)


TRACED = "(params) is traced by JAX: use jax.numpy (jnp) instead of NumPy, …jnp.where(condition, a, b) instead of `if`"
DIFFERS = "(init) differs from call to call: it must depend on the parameters alone"
REFUSED = [
    (_residuals, lambda w: np.sin(np.asarray(w)), f"residuals{TRACED}"),
    (_residuals, lambda w: jnp.array([float(w[0])]), f"residuals{TRACED}"),
    (_residuals, _if, f"residuals{TRACED}"),
    (_test, lambda w: math.sqrt(w[0]), f"test{TRACED}"),
    (_test, lambda w: 0.0 if w[0] > 1 else 1.0, f"test{TRACED}"),
    (_residuals, _impure, f"residuals{DIFFERS}"),
    (_residuals, lambda w: w + np.random.default_rng().standard_normal(2), f"residuals{DIFFERS}"),
    (_test, lambda w: w[0] + next(CALLS), f"test{DIFFERS}"),
    (_residuals, lambda w: w[None], "residuals(init) has shape (1, 2): return a non-empty vector"),
    (_residuals, lambda w: jnp.log(-w), "residuals(init) has NaN or infinite entries: check the data"),
    (_residuals, lambda w: w * 1j, "residuals(init) are of dtype complex128: they must be real numbers"),
    (_residuals, lambda w: jnp.round(w).astype(int), "residuals(init) are of dtype int64: they must be real numbers"),
    (_residuals, lambda w: w["a"], "residuals(init) raises …: try it by itself on init"),
    (_residuals, lambda w: w @ jnp.ones(3), "residuals(init) raises TypeError (…): try it by itself on init"),
    (_residuals, lambda: 1.0, "residuals(init) raises TypeError (…): try it by itself on init"),
    (_test, lambda w: w, "test(init) must be one number, not of shape (2,): average over the test set"),
    (_test, lambda w: jnp.log(-w[0]), "test(init) is nan: it must be a real number"),
    (_test, lambda w: w[0] * 1j, "test(init) is …j…: it must be a real number"),
    (_residuals, "w - 1", "residuals must be a function of the parameters, not str"),
]


@refusals({InputError: REFUSED})
def test_a_function_that_cannot_be_trained_on_is_refused(refusal: Refusal):
    refusal.check()


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_what_is_pure_is_taken(precision):
    """Sums in another order, constants of NumPy, lists, and whole-number test measures are no fault."""
    data = np.random.default_rng(0).standard_normal((200, 2)).astype(precision)
    problem = LeastSquares(lambda w: jnp.cumsum(data @ w), START, test=lambda w: (w > 0).sum(), precision=precision)
    assert lb.train(problem, lb.GradientDescent(1e-6), steps=3).outcome.sentence == "finished after 3 steps"
