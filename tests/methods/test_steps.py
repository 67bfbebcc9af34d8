"""One step and fifty of every method against plain NumPy, limits against scikit-learn, optax by name and by object."""

from __future__ import annotations

from itertools import islice

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from cases import ON_A_VECTOR, MethodCase, sparse
from cases.methods import STRENGTH
from plain import iterates
from sklearn.linear_model import Lasso

import latebloom as lb

PROBLEM = sparse(init_scale=2.0)
X, Y, START = (np.asarray(array) for array in (PROBLEM.design, PROBLEM.targets, PROBLEM.start))


def slope(w: np.ndarray) -> np.ndarray:
    return X.T @ (X @ w - Y) + STRENGTH * np.sign(w)


def shrink(w: np.ndarray, amount: float) -> np.ndarray:
    return np.sign(w) * np.maximum(np.abs(w) - amount, 0)


def numpy_subgradient(rate=0.1):
    w = START
    while True:
        w = w - rate * slope(w)
        yield w


def numpy_projected(rate=0.01):
    w = START
    while True:
        w = w - rate * STRENGTH * np.sign(w)
        # The projection by the normal equations of the constraint, not by the pseudo-inverse.
        w = w - X.T @ np.linalg.solve(X @ X.T, X @ w - Y)
        yield w


def numpy_ista(rate=0.1):
    w = START
    while True:
        w = shrink(w - rate * X.T @ (X @ w - Y), rate * STRENGTH)
        yield w


def numpy_fista(rate=0.1):
    w = z = START
    t = 1.0
    while True:
        old, w = w, shrink(z - rate * X.T @ (X @ z - Y), rate * STRENGTH)
        t_old, t = t, (1 + np.sqrt(1 + 4 * t * t)) / 2
        z = w + (t_old - 1) / t * (w - old)
        yield w


def numpy_adam(rate=0.01, b1=0.9, b2=0.999, eps=1e-8):
    w, m, v, k = START, np.zeros(20), np.zeros(20), 0
    while True:
        k, g = k + 1, slope(w)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        w = w - rate * (m / (1 - b1**k)) / (np.sqrt(v / (1 - b2**k)) + eps)
        yield w


def numpy_momentum(rate=0.01, momentum=0.9):
    w, velocity = START, np.zeros(20)
    while True:
        velocity = momentum * velocity + slope(w)
        w = w - rate * velocity
        yield w


def numpy_label_noise():
    design, targets = np.asarray(PROBLEM.design), np.asarray(PROBLEM.targets)
    w, key = np.asarray(PROBLEM.init()), jax.random.key(0)
    while True:
        key, sample_key, noise_key = jax.random.split(key, 3)
        i = int(jax.random.randint(sample_key, (), 0, len(targets)))
        gap = design[i] @ w - targets[i] + 0.01 * float(jax.random.normal(noise_key))
        w = w - 0.005 * (len(targets) * gap * design[i] + STRENGTH * np.sign(w))
        yield w


INDEPENDENT = {
    "subgradient": numpy_subgradient,
    "projected": numpy_projected,
    "ista": numpy_ista,
    "fista": numpy_fista,
    "adam": numpy_adam,
    "adam-with-options": lambda: numpy_adam(b1=0.8, b2=0.95),
    "label-noise": numpy_label_noise,
    "momentum": numpy_momentum,
}


@pytest.mark.parametrize("case", ON_A_VECTOR, ids=str)
def test_every_step_is_that_of_plain_numpy(case: MethodCase):
    """Rung 2: one step and each of fifty. Minibatches and the log-loss have files of their own."""
    found = iterates(case.method, PROBLEM, lb.L1(STRENGTH), 50)
    for step, expected in enumerate(islice(INDEPENDENT[case.name](), 50), start=1):
        # Rounding over 50 contracting steps; Adam's division by √v costs a digit or two.
        np.testing.assert_allclose(found[step - 1], expected, rtol=0, atol=1e-12, err_msg=f"step {step}")
    assert np.linalg.norm(found[-1] - found[0]) > 1e-3


@pytest.mark.parametrize("case", [case for case in ON_A_VECTOR if case.needs_prox], ids=str)
def test_the_limit_is_the_lasso_of_scikit_learn(case):
    """Rung 2: scikit-learn minimises `|Xw - y|²/(2N) + α|w|_1`, so α is strength/N; coordinate descent there."""
    problem = sparse(init_scale=0.1)
    run = lb.train(problem, case.method, lb.L1(1e-3), steps=20_000)
    lasso = Lasso(alpha=1e-3 / 12, fit_intercept=False, tol=1e-14, max_iter=1_000_000)
    expected = lasso.fit(np.asarray(problem.design), np.asarray(problem.targets)).coef_
    # Both stop at rounding of an objective that is about 1e-3: √(1e-16 · 1e-3 / curvature) of the argument.
    np.testing.assert_allclose(run.params, expected, rtol=0, atol=1e-8)
    assert ((run.params != 0) == (expected != 0)).all()
    assert 0 < (expected != 0).sum() < 20


def test_fista_is_faster_than_ista():
    penalty, goal = lb.L1(1e-3), None
    reached = {}
    for method in (lb.AcceleratedProximalGradient(0.1), lb.ProximalGradient(0.1)):
        objective = lambda params: float(PROBLEM.loss(params) + penalty.value(params))  # noqa: E731
        goal = goal or objective(jnp.asarray(lb.train(PROBLEM, method, penalty, steps=20_000).params)) + 1e-6
        run = lb.train(PROBLEM, method, penalty, steps=20_000)
        reached[type(method)] = run["step"][np.argmax(run["train_loss"] + run["penalty_value"] <= goal)]
    assert 0 < reached[lb.AcceleratedProximalGradient] < reached[lb.ProximalGradient] / 3


def test_projected_subgradient_interpolates_after_one_step():
    run = lb.train(PROBLEM, lb.ProjectedSubgradient(1e-3), lb.L1(0.1), steps=300)
    assert run["train_error"][0] > 0.1
    assert (run["train_error"][1:] < 1e-13).all()
    assert run.milestones.memorised.step == 1
    assert run["l1_norm"][-1] < run["l1_norm"][1]


def test_the_projection_is_orthogonal():
    """The step off the interpolators is undone along the rows of the design: what is left is in its null space."""
    first, second = iterates(lb.ProjectedSubgradient(0.01), PROBLEM, lb.L1(STRENGTH), 2)
    move, push = np.asarray(second - first), -0.01 * STRENGTH * np.sign(np.asarray(first))
    np.testing.assert_allclose(X @ move, 0, atol=1e-14)
    assert (push - move) @ move == pytest.approx(0, abs=1e-16)


def test_a_transformation_of_your_own_is_a_method():
    named = iterates(lb.Optax("adam", 0.01), PROBLEM, lb.L1(STRENGTH), 10)[-1]
    own = iterates(lb.Optax(optax.adam(0.01), 0.01), PROBLEM, lb.L1(STRENGTH), 10)[-1]
    np.testing.assert_allclose(own, named, rtol=1e-13)


def test_different_transformations_are_different_methods():
    assert lb.Optax(optax.adam(0.01), 0.1) != lb.Optax(optax.adam(0.02), 0.1)


def test_optax_takes_its_switches():
    named = lb.Optax("sgd", 0.01, momentum=0.9, nesterov=True)
    own = lb.Optax(optax.sgd(0.01, momentum=0.9, nesterov=True), 0.01)
    last = [iterates(method, PROBLEM, lb.L1(STRENGTH), 10)[-1] for method in (named, own)]
    np.testing.assert_allclose(*last, rtol=1e-13)
    plain = iterates(lb.Optax("sgd", 0.01, momentum=0.9), PROBLEM, lb.L1(STRENGTH), 10)[-1]
    assert np.abs(plain - last[0]).max() > 1e-6
