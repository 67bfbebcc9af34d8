"""The teacher–student network: its steps against PyTorch, Sobolev training against finite differences, R²."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.problems import TeacherStudent
from latebloom.problems.networks.teacher_student import jacobians, network

STRENGTH, SOBOLEV, RATE, STEPS = 1e-2, 0.3, 1e-3, 3
PENALTIES = {
    "none": None,
    "l1": lb.L1(STRENGTH),
    "l2": lb.L2(STRENGTH),
    "nuclear": lb.NuclearNorm(STRENGTH),
    "sobolev": None,
}
METHODS = {"Adam": lb.Optax("adam", learning_rate=RATE), "SGD": lb.GradientDescent(RATE)}


def small(**changes) -> TeacherStudent:
    options = {"samples": 12, "test_samples": 40, "precision": "float64"} | changes
    return TeacherStudent(5, 9, **options)


def torch_objective(torch, problem: TeacherStudent, kind: str, first, second):
    """The paper's formulas, the Jacobian by PyTorch's own differentiation."""
    inputs = torch.tensor(np.asarray(problem.inputs), requires_grad=True)
    outputs = torch.relu(inputs @ first.T) @ second.T
    loss = ((outputs - torch.tensor(np.asarray(problem.targets))) ** 2).sum() / (2 * len(inputs))
    if kind == "sobolev":
        a, b = (torch.tensor(np.asarray(problem.teacher[part])) for part in ("first", "second"))
        for k in range(len(second)):
            (slope,) = torch.autograd.grad(outputs[:, k].sum(), inputs, create_graph=True)
            theirs = (inputs.detach() @ a.T > 0).double() * b[k] @ a
            loss = loss + SOBOLEV * ((slope - theirs) ** 2).sum() / len(inputs)
    values = {
        "l1": lambda w: w.abs().sum(),
        "l2": lambda w: (w**2).sum() / 2,
        "nuclear": lambda w: torch.linalg.matrix_norm(w, "nuc"),
    }
    return loss + sum(STRENGTH * values[kind](w) for w in (first, second)) if kind in values else loss


@pytest.mark.parametrize("kind", PENALTIES)
@pytest.mark.parametrize("optimiser", METHODS)
def test_steps_agree_with_pytorch(optimiser, kind):
    """Rung 2: three steps in double precision, every penalty, to 1e-10."""
    torch = pytest.importorskip("torch")
    problem, method, penalty = small(sobolev=SOBOLEV * (kind == "sobolev")), METHODS[optimiser], PENALTIES[kind]
    theirs = [torch.tensor(np.asarray(leaf), requires_grad=True) for leaf in problem.init().values()]
    stepper = getattr(torch.optim, optimiser)(theirs, lr=RATE)
    step = jax.jit(lambda params, state: method.step(problem, penalty, params, state))
    params, state = problem.init(), method.init(problem, penalty, problem.init())
    for _ in range(STEPS):
        params, state = step(params, state)
        stepper.zero_grad()
        torch_objective(torch, problem, kind, *theirs).backward()
        stepper.step()
    for (name, leaf), other in zip(params.items(), theirs, strict=True):
        np.testing.assert_allclose(leaf, other.detach().numpy(), rtol=0, atol=1e-10, err_msg=name)
        assert np.max(np.abs(leaf - problem.init()[name])) > RATE / 10


@pytest.fixture(scope="module")
def sobolev() -> TeacherStudent:
    return small(sobolev=SOBOLEV, seed=3, init_seed=4)


def test_jacobians_in_the_input(sobolev):
    """Rung 2: JAX's derivative of the network, input by input."""
    params = sobolev.init()
    expected = jax.vmap(jax.jacobian(lambda x: network(params, x)))(sobolev.inputs)
    np.testing.assert_allclose(jacobians(params, sobolev.inputs), expected, atol=1e-14)


def test_loss_is_the_printed_sum(sobolev):
    """Rung 2: plain NumPy, sample by sample; residuals, rows and the mean over minibatches say the same."""
    params = {name: np.asarray(leaf) for name, leaf in sobolev.init().items()}
    truth = {name: np.asarray(leaf) for name, leaf in sobolev.teacher.items()}

    def parts(w, x):
        before = w["first"] @ x
        return w["second"] @ np.maximum(before, 0), w["second"] @ np.diag(before > 0) @ w["first"]

    terms = []
    for x in np.asarray(sobolev.inputs):
        (y, slope), (y_true, slope_true) = parts(params, x), parts(truth, x)
        terms.append(np.sum((y - y_true) ** 2) / 2 + SOBOLEV * np.sum((slope - slope_true) ** 2))
    assert float(sobolev.loss(params)) == pytest.approx(np.mean(terms), rel=1e-12)
    assert float(jnp.sum(sobolev.residuals(params) ** 2) / 2) == pytest.approx(np.mean(terms), rel=1e-12)
    rows = jnp.array([3, 0, 7])
    assert float(sobolev.loss_on(params, rows)) == pytest.approx(np.mean([terms[i] for i in rows]), rel=1e-12)


def test_data_and_start():
    """Entries as printed: x and A* N(0, 1), B* N(0, 1/r²), A N(0, 1/r), B N(0, 1/c); seeds split by purpose."""
    problem = TeacherStudent(40, 600, output_dimension=3, init_scale=2.0, seed=2)
    assert np.std(problem.inputs) == pytest.approx(1.0, rel=0.05)
    assert np.std(problem.teacher["first"]) == pytest.approx(1.0, rel=0.05)
    assert np.std(problem.teacher["second"]) == pytest.approx(1 / 600, rel=0.05)
    assert np.std(problem.init()["first"]) == pytest.approx(2 * 600**-0.5, rel=0.05)
    assert np.std(problem.init()["second"]) == pytest.approx(2 * 3**-0.5, rel=0.05)
    assert {str(leaf.dtype) for leaf in jax.tree.leaves(problem.init())} == {"float32"}
    other = TeacherStudent(40, 600, output_dimension=3, seed=2, init_seed=5)
    assert np.array_equal(problem.test_targets, other.test_targets)
    assert not np.allclose(problem.init()["first"], 2 * other.init()["first"])
