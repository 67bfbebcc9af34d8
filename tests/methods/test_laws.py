"""Laws of the methods, over the whole table of cases."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import METHODS, ON_A_VECTOR, MethodCase, problem_case, student, without_a_case
from plain import iterates, step_of

import latebloom as lb
from latebloom.methods import AbstractMethod

CASES = pytest.mark.parametrize("case", METHODS, ids=str)
NOT_LINEAR = ("sparse-recovery-depth-2", "completion-depth-2", "a-net")


def objective(problem, penalty, params) -> float:
    return float(problem.loss(params) + (0.0 if penalty is None else penalty.value(params)))


def test_every_method_has_a_case():
    records = [case.method for case in METHODS]
    assert not (sentence := without_a_case(AbstractMethod, records, "tests/cases/methods.py")), sentence


@CASES
def test_a_step_keeps_the_form_of_parameters_and_memory(case: MethodCase):
    """Shapes and types after a step are those before it, or no loop over steps could be compiled."""
    method, problem, penalty, params = case.method, case.problem, case.penalty, case.problem.init()
    method.check(problem, penalty)
    state = method.init(problem, penalty, params)
    after = step_of(method, problem, penalty, params, state)
    formed = lambda tree: jax.tree.map(lambda leaf: (jnp.shape(leaf), jnp.result_type(leaf)), tree)  # noqa: E731
    assert formed(after) == formed((params, state))


@CASES
def test_steps_descend(case: MethodCase):
    last = iterates(case.method, case.problem, case.penalty, 30)[-1]
    assert objective(case.problem, case.penalty, last) < objective(case.problem, case.penalty, case.problem.init())


@pytest.mark.parametrize("case", [case for case in ON_A_VECTOR if not case.needs_linear], ids=str)
@pytest.mark.parametrize("name", NOT_LINEAR)
def test_steps_descend_on_problems_that_are_not_linear(case: MethodCase, name):
    problem, penalty = problem_case(name).problem, lb.L2(1e-3)
    last = iterates(case.method, problem, penalty, 20)[-1]
    assert objective(problem, penalty, last) < objective(problem, penalty, problem.init())


@pytest.mark.parametrize("case", [case for case in METHODS if case.penalty and not case.needs_linear], ids=str)
def test_no_penalty_is_a_penalty_of_strength_zero(case: MethodCase):
    without, zero = (iterates(case.method, case.problem, penalty, 10)[-1] for penalty in (None, lb.L1(0.0)))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15), without, zero)


@pytest.mark.parametrize(
    "method",
    [lambda seed: lb.Minibatch(lb.GradientDescent(0.1), 4, seed=seed), lambda seed: lb.LabelNoise(0.1, seed=seed)],
    ids=["minibatches", "label noise"],
)
def test_large_seeds_are_told_apart(method):
    net = student(precision="float32")
    ends = [lb.train(net, method(seed), steps=5, progress=False).final["train_loss"] for seed in (0, 2**32, 2**40)]
    assert len(set(ends)) == 3
