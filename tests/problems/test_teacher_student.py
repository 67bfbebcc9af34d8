"""The teacher–student network: its steps against PyTorch, Sobolev training against finite differences, R²."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import sparse

import latebloom as lb
from latebloom.errors import CapabilityError, InputError, UnknownNameError
from latebloom.problems import TeacherStudent
from latebloom.problems.networks.teacher_student import jacobians, network, unexplained

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


def test_gradient_of_sobolev_training(sobolev):
    """Rung 1: central differences of the loss in random directions, in which no unit changes its side."""
    params = sobolev.init()
    slope, loss = jax.jit(sobolev.gradient)(params), jax.jit(sobolev.loss)
    rng, size = np.random.default_rng(0), 1e-5
    for _ in range(5):
        ahead = {name: rng.normal(size=leaf.shape) for name, leaf in params.items()}
        moved = [{name: leaf + sign * size * ahead[name] for name, leaf in params.items()} for sign in (1, -1)]
        sides = [np.asarray(sobolev.inputs @ w["first"].T > 0) for w in (params, *moved)]
        assert all(np.array_equal(side, sides[0]) for side in sides)
        expected = float(sum(jnp.sum(slope[name] * ahead[name]) for name in params))
        assert float(loss(moved[0]) - loss(moved[1])) / (2 * size) == pytest.approx(expected, rel=1e-7)


def test_jacobians_in_the_input(sobolev):
    """Rung 2: JAX's derivative of the network, input by input."""
    params = sobolev.init()
    expected = jax.vmap(jax.jacobian(lambda x: network(params, x)))(sobolev.inputs)
    np.testing.assert_allclose(jacobians(params, sobolev.inputs), expected, atol=1e-14)


def test_outputs_are_homogeneous(sobolev):
    once, twice = (sobolev.predict({k: s * v for k, v in sobolev.init().items()}, sobolev.inputs) for s in (1, 2))
    np.testing.assert_allclose(twice, 2**sobolev.degree * once, rtol=1e-13)


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


def test_r2_of_a_run():
    """Rung 2: plain NumPy on the parameters of a short run; 0 is the best constant, also under a crushing penalty."""
    problem, probe = small(precision="float32", test_samples=300), lb.probes.TestR2()
    run = lb.train(problem, lb.Optax("adam", learning_rate=1e-2), lb.L2(1e-4), steps=200, probes=[probe])
    targets = np.asarray(problem.test_targets, float)
    left = targets - np.asarray(problem.predict(run.params, problem.test_inputs))
    expected = 1 - np.sum(left**2) / np.sum((targets - targets.mean(axis=0)) ** 2)
    assert run.final["test_r2"] == pytest.approx(expected, rel=1e-4)
    assert run.final["test_error"] == pytest.approx(1 - expected, rel=1e-4)
    assert run["train_error"].dtype == run["test_r2"].dtype
    constant = jnp.broadcast_to(problem.test_targets.mean(axis=0), targets.shape)
    assert float(unexplained(constant, problem.test_targets)) == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(CapabilityError, match="TestR2 needs test targets with a variance and SparseRecovery has none"):
        lb.train(sparse(), lb.GradientDescent(0.1), steps=1, probes=[probe])


def test_a_crushing_penalty_is_said_in_the_outcome():
    run = lb.train(small(), lb.Optax("adam", learning_rate=1e-2), lb.L2(10.0), steps=600, progress=False)
    said = "no lower than that of the mean of the targets: probably L2(strength=10) outweighs the loss"
    assert said in run.outcome.sentence


def test_a_penalty_that_is_not_felt_is_not_blamed():
    run = lb.train(small(), lb.Optax("adam", learning_rate=1e-5), lb.L2(1e-12), steps=3, progress=False)
    assert run.final["train_error"] > 1
    assert run.outcome.sentence == "finished after 3 steps"


def test_values_at_points_are_for_functions_of_one_variable():
    with pytest.raises(CapabilityError, match=r"one variable and TeacherStudent's have 5: .*problem\.predict"):
        lb.train(small(), lb.GradientDescent(0.1), steps=1, probes=[lb.probes.FunctionValues([1.0, 2.0])])


def test_targets_without_a_variance_are_refused():
    with pytest.raises(InputError, match="with seed=1 the teacher gives all 2 samples one value"):
        TeacherStudent(1, 1, samples=2, seed=1, output_dimension=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 1}, "samples must be finite and at least 2"),
        ({"test_samples": 0}, "test_samples must be finite and at least 2"),
        ({"sobolev": -0.1}, "sobolev must be finite and at least 0"),
        ({"output_dimension": 1.5}, "output_dimension must be a whole number"),
        ({"init_scale": float("nan")}, "init_scale must be finite and at least 0"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(InputError, match=message):
        TeacherStudent(5, 9, **options)
    with pytest.raises(UnknownNameError, match="unknown precision 'float16'"):
        TeacherStudent(5, 9, precision="float16")
