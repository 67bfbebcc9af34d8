"""One step and fifty of every method against plain NumPy, limits against scikit-learn, refusals."""

from __future__ import annotations

from itertools import islice

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from cases import MATRIX_PROBLEMS, METHODS, PENALTIES, PROBLEMS, MethodCase, sparse
from plain import iterates
from sklearn.linear_model import Lasso

import latebloom as lb
from latebloom.errors import CapabilityError, InputError, UnknownNameError

STRENGTH = 3e-2
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


@pytest.mark.parametrize("case", METHODS, ids=str)
def test_every_step_is_that_of_plain_numpy(case: MethodCase):
    """Rung 2: one step and each of fifty."""
    found = iterates(case.method, PROBLEM, lb.L1(STRENGTH), 50)
    for step, expected in enumerate(islice(INDEPENDENT[case.name](), 50), start=1):
        # Rounding over 50 contracting steps; Adam's division by √v costs a digit or two.
        np.testing.assert_allclose(found[step - 1], expected, rtol=0, atol=1e-12, err_msg=f"step {step}")
    assert np.linalg.norm(found[-1] - found[0]) > 1e-3


@pytest.mark.parametrize("case", [case for case in METHODS if not case.needs_linear], ids=str)
@pytest.mark.parametrize("problem", [PROBLEMS[1], MATRIX_PROBLEMS[1], PROBLEMS[-1]], ids=str)
def test_every_method_descends_on_problems_that_are_not_linear(case, problem):
    penalty = lb.L2(1e-3)
    objective = lambda params: float(problem.problem.loss(params) + penalty.value(params))  # noqa: E731
    found = iterates(case.method, problem.problem, penalty, 20)
    assert objective(found[-1]) < objective(problem.problem.init())


@pytest.mark.parametrize("case", [case for case in METHODS if case.name != "projected"], ids=str)
def test_no_penalty_is_a_penalty_of_strength_zero(case):
    without = iterates(case.method, PROBLEM, None, 10)[-1]
    np.testing.assert_allclose(without, iterates(case.method, PROBLEM, lb.L1(0.0), 10)[-1], rtol=1e-13)


@pytest.mark.parametrize("case", [case for case in METHODS if case.needs_prox], ids=str)
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


@pytest.mark.parametrize("kind", [lb.ProximalGradient, lb.AcceleratedProximalGradient], ids=lambda kind: kind.name())
@pytest.mark.parametrize("case", [case for case in PENALTIES if not case.has_prox], ids=str)
def test_proximal_methods_refuse_a_penalty_without_a_prox(kind, case):
    message = rf"^{kind.__name__} needs a penalty with a prox; .* \+ .* has none: use GradientDescent instead"
    with pytest.raises(CapabilityError, match=message):
        lb.train(PROBLEM, kind(0.1), case.penalty, steps=10)


@pytest.mark.parametrize("problem", [case for case in PROBLEMS if not case.linear], ids=str)
def test_projection_refuses_a_problem_that_is_not_linear(problem):
    with pytest.raises(CapabilityError, match=r"ProjectedSubgradient needs a problem that is linear.*depth=1"):
        lb.train(problem.problem, lb.ProjectedSubgradient(0.1), lb.L1(0.1), steps=10)


def test_projection_refuses_to_go_without_a_penalty():
    with pytest.raises(CapabilityError, match="descends on the penalty alone and has none: pass penalty=L1"):
        lb.train(PROBLEM, lb.ProjectedSubgradient(0.1), steps=10)


@pytest.mark.parametrize("kind", [type(case.method) for case in METHODS[:4]], ids=lambda kind: kind.name())
@pytest.mark.parametrize("rate", [0, -0.1, float("nan"), float("inf"), "fast"])
def test_bad_learning_rates_are_refused_at_construction(kind, rate):
    with pytest.raises(InputError, match=r"learning_rate(=.* is not allowed.*above 0| must be a number)"):
        kind(rate)


def test_optax_refuses_what_optax_does_not_have():
    with pytest.raises(UnknownNameError, match="unknown optax optimiser 'adamm': did you mean 'adam'"):
        lb.Optax("adamm", 0.1)
    with pytest.raises(UnknownNameError, match=r"unknown option of adam 'beta1'.*b1"):
        lb.Optax("adam", 0.1, beta1=0.9)
    with pytest.raises(InputError, match="b1 must be a number, not 'high'"):
        lb.Optax("adam", 0.1, b1="high")
    with pytest.raises(InputError, match="options b1 go with an optimiser given by name, not with an object"):
        lb.Optax(optax.adam(0.1), 0.1, b1=0.9)
    with pytest.raises(InputError, match="3 is not an optax transformation: pass a name such as 'adam'"):
        lb.Optax(3, 0.1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"optax\.adam cannot compute with nesterov as a number: use true or false"):
        lb.Optax("adam", 0.1, nesterov=1)
    with pytest.raises(InputError, match=r"optax\.sgd refuses its options: "):
        lb.Optax("sgd", 0.1, momentum="abc")


@pytest.mark.parametrize(
    ("optimiser", "option", "value", "allowed"),
    [
        ("adam", "b1", 1.5, "at least 0 and below 1"),
        ("adam", "b2", 1, "at least 0 and below 1"),
        ("sgd", "momentum", -0.1, "at least 0 and below 1"),
        ("adam", "eps", -1e-8, "at least 0"),
        ("adamw", "weight_decay", -0.1, "at least 0"),
    ],
)
def test_optax_options_out_of_range_are_refused(optimiser, option, value, allowed):
    with pytest.raises(InputError, match=f"{option}={value} is not allowed: {option} must be finite and {allowed}"):
        lb.Optax(optimiser, 0.1, **{option: value})


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
