"""The engine's numbers once more, in plain NumPy: what the runs are compared with."""

from __future__ import annotations

from functools import cache, reduce

import jax
import jax.numpy as jnp
import numpy as np
from cases import sparse

import latebloom as lb
from latebloom.engine.run import Run

RATE = 0.1  # the learning rate of most tests


def same_run(first: Run, second: Run) -> bool:
    """Whether every number of two runs is the same to the last bit."""
    return (
        first.columns.keys() == second.columns.keys()
        and all(np.array_equal(first[name], second[name], equal_nan=True) for name in first.columns)
        and jax.tree.all(jax.tree.map(np.array_equal, first.params, second.params))
        and (first.milestones, first.outcome) == (second.milestones, second.outcome)
    )


step_of = jax.jit(lambda method, problem, penalty, params, state: method.step(problem, penalty, params, state))


def iterates(method, problem, penalty, count: int) -> list:
    """The parameters after 1, ..., `count` steps of the engine, taken one by one."""
    params = problem.init()
    state, found = method.init(problem, penalty, params), []
    for _ in range(count):
        params, state = step_of(method, problem, penalty, params, state)
        found.append(params)
    return found


def polar(matrix: np.ndarray, rank: int | None = None) -> np.ndarray:
    """Rung 2: `U Vᵀ` over the `rank` largest singular values, or all, by NumPy's SVD."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return left[:, :rank] @ right[:rank]


def shrink_singular_values(matrix: np.ndarray, threshold: float) -> np.ndarray:
    """Rung 2: `U max(Σ - threshold, 0) Vᵀ` by NumPy's SVD."""
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    return left * np.maximum(sizes - threshold, 0) @ right


def subgradient_iterates(problem, rate: float, strength: float, steps: int) -> np.ndarray:
    """Rung 2: every iterate of subgradient descent with l1, in plain NumPy, from step 0."""
    design, targets = np.asarray(problem.design), np.asarray(problem.targets)
    w = np.asarray(problem.init())
    path = [w]
    for _ in range(steps):
        w = w - rate * (design.T @ (design @ w - targets) + strength * np.sign(w))
        path.append(w)
    return np.array(path)


def errors_along(problem, path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Train and test error of every iterate, in plain NumPy."""
    design, targets, truth = (np.asarray(a) for a in (problem.design, problem.targets, problem.truth))
    train = np.linalg.norm(path @ design.T - targets, axis=1) / np.linalg.norm(targets)
    return train, np.linalg.norm(path - truth, axis=1) / np.linalg.norm(truth)


def first_below(values: np.ndarray, threshold: float) -> int | None:
    below = np.flatnonzero(values <= threshold)
    return int(below[0]) if len(below) else None


def stable_below(values: np.ndarray, threshold: float) -> int | None:
    above = np.flatnonzero(~(values <= threshold))
    after = int(above[-1]) + 1 if len(above) else 0
    return after if after < len(values) else None


@cache
def reference():
    """A problem, a run of 3,000 steps on it, and every iterate of the same run in NumPy."""
    problem = sparse()
    run = lb.train(problem, lb.GradientDescent(RATE), lb.L1(2e-4), steps=3_000, memorised_at=0.02, generalised_at=0.1)
    return problem, run, subgradient_iterates(problem, RATE, 2e-4, 3_000)


def moved(params, scale: float = 0.3, seed: int = 0):
    """The parameters a random step away."""
    leaves, structure = jax.tree.flatten(params)
    random = np.random.default_rng(seed)
    there = [np.asarray(leaf) + scale * random.normal(size=leaf.shape) for leaf in leaves]
    return structure.unflatten(
        [jnp.asarray(array, dtype=leaf.dtype) for array, leaf in zip(there, leaves, strict=True)]
    )


def tanh_net(params, inputs):
    """A network of a hidden layer, to be differentiated."""
    return jnp.tanh(inputs @ params["hidden"]) @ params["out"]


def drawn_tanh_net(seed: int = 0):
    """Parameters, inputs and labels for it."""
    random = np.random.default_rng(seed)
    params = {"hidden": jnp.asarray(random.normal(size=(3, 7))), "out": jnp.asarray(random.normal(size=7))}
    return params, jnp.asarray(random.normal(size=(5, 3))), jnp.asarray(random.normal(size=5))


def as_matrix(problem, params) -> np.ndarray:
    """Rung 2: the end-to-end matrix in plain NumPy."""
    if problem.form == "symmetric":
        return params["W"] @ params["W"].T
    if problem.form == "difference":
        return params["U"] @ params["U"].T - params["V"] @ params["V"].T
    if problem.depth == 1:
        return params
    return np.linalg.multi_dot([params[f"A{k + 1}"] for k in range(problem.depth)])


def by_hand(problem, params):
    """Rung 2: the gradient in NumPy, by the product rule, from the dense design."""
    design, targets = np.asarray(problem.design), np.asarray(problem.targets)
    slope = (design.T @ (design @ as_matrix(problem, params).ravel() - targets)).reshape(problem.shape)
    if problem.form == "symmetric":
        return {"W": (slope + slope.T) @ params["W"]}
    if problem.form == "difference":
        return {"U": (slope + slope.T) @ params["U"], "V": -(slope + slope.T) @ params["V"]}
    if problem.depth == 1:
        return slope
    layers = [params[f"A{k + 1}"] for k in range(problem.depth)]
    rows, columns = (np.eye(side) for side in problem.shape)
    before = [reduce(np.matmul, layers[:k], rows) for k in range(problem.depth)]
    after = [reduce(np.matmul, [*layers[k + 1 :], columns]) for k in range(problem.depth)]
    return {f"A{k + 1}": before[k].T @ slope @ after[k].T for k in range(problem.depth)}
