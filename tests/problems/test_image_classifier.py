"""The network on images: its steps against PyTorch, its splits, its start, its errors."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import latebloom as lb
from latebloom.problems import ImageClassifier
from latebloom.problems.data.image_file import read_images

RATE, STRENGTH = 1e-2, 1e-3


@pytest.mark.parametrize("kind", ["cross_entropy", "squared"])
def test_steps_of_adam_agree_with_pytorch(kind):
    """Rung 2: three steps on all rows in double precision, with l1, to 1e-10."""
    torch = pytest.importorskip("torch")
    problem = ImageClassifier(train=60, width=12, init_scale=2.0, loss_kind=kind, precision="float64")
    method, penalty = lb.Optax("adam", learning_rate=RATE), lb.L1(STRENGTH)
    images, labels = (torch.tensor(np.asarray(part)) for part in (problem.train_images, problem.train_labels))
    theirs = {name: torch.tensor(np.asarray(leaf), requires_grad=True) for name, leaf in problem.init().items()}
    adam = torch.optim.Adam(theirs.values(), lr=RATE)
    step = jax.jit(lambda params, state: method.step(problem, penalty, params, state))
    value = jax.jit(problem.loss)
    params, state = problem.init(), method.init(problem, penalty, problem.init())
    for _ in range(3):
        adam.zero_grad()
        scores = torch.relu(images @ theirs["hidden"].T) @ theirs["output"].T
        if kind == "cross_entropy":
            loss = torch.nn.functional.cross_entropy(scores, labels.long())
        else:
            loss = torch.nn.functional.mse_loss(scores, torch.nn.functional.one_hot(labels.long(), 10).double())
        np.testing.assert_allclose(value(params), loss.item(), rtol=1e-12)
        (loss + STRENGTH * sum(part.abs().sum() for part in theirs.values())).backward()
        adam.step()
        params, state = step(params, state)
    for name, leaf in params.items():
        np.testing.assert_allclose(leaf, theirs[name].detach().numpy(), rtol=0, atol=1e-10, err_msg=name)
        assert np.max(np.abs(leaf - problem.init()[name])) > RATE


def test_split_start_and_errors():
    """Every image is used once, matrices start as N(0, 1/rows), wrong answers are counted."""
    problem = ImageClassifier(train=300, test=500, width=400, init_scale=8.0, seed=3)
    digits = read_images()
    known = {row.tobytes() for row in digits.pixels.astype(np.float32)}
    both = np.concatenate([problem.train_images, problem.test_images])
    assert both.shape == (800, 64)
    assert {row.tobytes() for row in both} <= known
    assert len({row.tobytes() for row in both}) == 800
    assert np.std(problem.init()["hidden"]) == pytest.approx(8 / 20, rel=0.05)
    assert np.std(problem.init()["output"]) == pytest.approx(8 / np.sqrt(10), rel=0.05)
    params = {name: np.asarray(part) for name, part in problem.init().items()}
    hidden = np.maximum(np.asarray(problem.test_images) @ params["hidden"].T, 0)
    wrong = np.argmax(hidden @ params["output"].T, axis=1) != np.asarray(problem.test_labels)
    assert float(problem.test_error(params)) == pytest.approx(np.mean(wrong), abs=1e-9)
    other = ImageClassifier(train=300, test=500, width=400, seed=3, init_seed=4)
    assert np.array_equal(problem.train_images, other.train_images)
    assert not np.allclose(problem.init()["output"], 8 * other.init()["output"])
