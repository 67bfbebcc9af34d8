"""The two-layer ReLU network with cross-entropy on modular arithmetic."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.errors import LatebloomWarning
from latebloom.probes import TrainAccuracy
from latebloom.problems import ModularClassifier, ModularTable
from latebloom.problems.losses import cross_entropy

RATE, DECAY = 0.05, 1e-2


@pytest.fixture(scope="module")
def problem():
    return ModularClassifier(7, 16, train_share=0.6, seed=1)


@pytest.fixture(scope="module")
def params(problem):
    """Not the start, where the bias is zero."""
    return jax.tree.map(lambda leaf: leaf + 0.1 * jnp.cos(jnp.arange(leaf.size)).reshape(leaf.shape), problem.init())


def test_loss_and_gradient_against_torch(problem, params):
    """Rung 2: one-hot inputs, nn.Linear's formula, PyTorch's cross-entropy and autograd, and one step of its SGD."""
    torch = pytest.importorskip("torch")
    table = ModularTable(7, train_share=0.6, seed=1)
    pairs = table.pairs[np.sort(table.train)]
    inputs = torch.tensor(np.hstack([np.eye(7)[pairs[:, 0]], np.eye(7)[pairs[:, 1]]]))
    theirs = {name: torch.tensor(np.array(leaf), requires_grad=True) for name, leaf in params.items()}
    optimiser = torch.optim.SGD(theirs.values(), lr=RATE, weight_decay=DECAY)
    logits = torch.relu(inputs @ theirs["first"] + theirs["bias"]) @ theirs["second"]
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor(pairs.sum(axis=1) % 7))
    loss.backward()
    assert float(jax.jit(problem.loss)(params)) == pytest.approx(loss.item(), rel=1e-10)
    assert int(problem.correct(params, "train")) == int((logits.argmax(1) == torch.tensor(pairs.sum(axis=1) % 7)).sum())
    mine = jax.jit(problem.gradient)(params)
    for name, leaf in theirs.items():
        np.testing.assert_allclose(mine[name], leaf.grad.numpy(), rtol=1e-10, atol=1e-14)
    optimiser.step()
    step = jax.jit(lambda w: lb.GradientDescent(RATE).step(problem, lb.L2(DECAY), w, ())[0])(params)
    for name, leaf in theirs.items():
        np.testing.assert_allclose(step[name], leaf.detach().numpy(), rtol=1e-10, atol=1e-14)


def test_slope_of_a_tiny_loss():
    """Closed form: at a margin of 60 the slope at the label is -e^-60, which 1 - p_y rounds to 0."""
    slope = cross_entropy.slope(jnp.array([[60.0, 0.0]]), jnp.array([0]))
    np.testing.assert_allclose(slope, np.exp(-60.0) * np.array([[-1.0, 1.0]]), rtol=1e-12)


def flow(seed: int, scale: float, until: float = 100.0):
    problem = ModularClassifier(5, 64, train_share=0.8, init_scale=scale, precision="float32", seed=seed)
    options = {"weight_decay": 1e-3 * scale, "rtol": 1e-1, "atol": 1e-3, "records_per_decade": 5, "progress": False}
    return problem, lb.flow(problem, time=until, **options)


def test_all_right_is_exactly_one_and_another_seed_compiles_nothing(compiles):
    """In float32, where a mean of hits may be 0.99999994; seed, scale, weight decay and end are values."""
    problem, run = flow(1, 1.0)
    assert run.final["train_error"] == 0.0
    assert {leaf.dtype.name for leaf in jax.tree.leaves(run.params)} == {"float32"}
    assert float(TrainAccuracy().measure(problem, None, run.params)) == 1.0
    with compiles() as count:
        flow(2, 1.5, 1.0)
    assert count() == 0


def test_start():
    """The variances of He et al., the scale α on both layers, the bias zero, and data that stay as they are."""
    start = ModularClassifier(97, 1024).init()
    assert np.std(start["first"]) == pytest.approx(97**-0.5, rel=0.01)
    assert np.std(start["second"]) == pytest.approx((2 / 1024) ** 0.5, rel=0.01)
    assert not np.any(start["bias"])
    scaled = ModularClassifier(97, 1024, init_scale=3.0, second="zero", init_seed=0, seed=1)
    np.testing.assert_allclose(scaled.init()["first"], 3 * start["first"])
    assert not np.any(scaled.init()["second"])
    assert float(scaled.loss(scaled.init())) == pytest.approx(np.log(97))
    other = ModularClassifier(97, 1024, seed=1)
    np.testing.assert_array_equal(other.operands["train"], scaled.operands["train"])
    assert len(other.labels("train")) == 3764  # 40 % of 97²


def test_operands_and_results_that_are_never_seen_are_named():
    with pytest.warns(LatebloomWarning, match="no training pair has first operand|results without a training row"):
        ModularClassifier(7, 16, train_share=0.08)
