"""One full-batch gradient of the ReLU network on modular addition against the three matrix products in it."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from latebloom.bench.base import BenchResult
from latebloom.bench.timing import describe, take_turns
from latebloom.problems import ModularClassifier

LOOP = 5  # gradients a call: memory for what is in between is taken once a call, and not once a gradient
MOST = 1.5
RATE = 1e-3
AGREEMENT = 1e-4  # of two gradients in single precision, relative


def gradient_row(name: str, modulus: int, width: int, repeats: int) -> BenchResult:
    """Both in single precision, on all cores, in a compiled loop in which nothing can be left out."""
    problem = ModularClassifier(modulus, width, train_share=0.4, precision="float32")
    start = problem.init()
    hidden = jax.jit(lambda w: problem.hidden(w, problem.inputs("train")))(start)
    slopes = jnp.asarray(np.random.default_rng(0).normal(size=(len(hidden), modulus)), hidden.dtype)
    contenders = {
        "ours": lambda: jax.block_until_ready(_descend(problem, start)),
        "theirs": lambda: jax.block_until_ready(_products(hidden, start["second"], slopes)),
    }
    timed = take_turns(contenders, repeats=repeats)
    ours, theirs = timed["ours"], timed["theirs"]
    gap = disagreement(problem, start)
    return BenchResult.at_most(
        name,
        f"a gradient of the ReLU net, p={modulus}, h={width:,}, against its three matrix products",
        ours=ours.seconds / LOOP,
        theirs=theirs.seconds / LOOP,
        most=MOST,
        agree=gap <= AGREEMENT,
        note=f"{LOOP} a call, {describe(repeats, ours)}, on {ours.cores:.1f} and {theirs.cores:.1f} cores, in "
        f"{1e3 * ours.seconds * ours.cores / LOOP:.3g} and {1e3 * theirs.seconds * theirs.cores / LOOP:.3g} ms of "
        f"processor time; autodiff's gradient differs by {gap:.0e} relatively",
    )


@eqx.filter_jit
def _descend(problem: ModularClassifier, start: Any) -> Any:
    """Steps of gradient descent."""
    step = lambda _, w: jax.tree.map(lambda a, g: a - RATE * g, w, problem.gradient(w))  # noqa: E731
    return jax.lax.fori_loop(0, LOOP, step, start)


@jax.jit
def _products(hidden: jax.Array, second: jax.Array, slopes: jax.Array) -> Any:
    """`H W`, `G Wᵀ` and `Gᵀ H`, each of something that the last turn has changed."""

    def turn(_, carry):
        weights, slopes, _ = carry
        outputs, back, last = hidden @ weights, slopes @ weights.T, slopes.T @ hidden
        return weights - 1e-6 * jax.lax.optimization_barrier(last).T, slopes + 1e-6 * outputs, back

    return jax.lax.fori_loop(0, LOOP, turn, (second, slopes, jnp.zeros_like(hidden)))


def disagreement(problem: ModularClassifier, start: Any) -> float:
    """The largest relative distance of a part of the gradient from autodiff's."""
    mine, theirs = jax.jit(problem.gradient)(start), jax.jit(jax.grad(problem.loss))(start)
    parts = jax.tree.map(lambda a, b: jnp.linalg.norm(a - b) / jnp.linalg.norm(b), mine, theirs)
    return max(float(part) for part in jax.tree.leaves(parts))
