"""The network on embeddings of residues: its scores and its steps against PyTorch, right answers, mirrored pairs."""

from __future__ import annotations

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import latebloom as lb
from latebloom.problems import EmbeddingMLP
from latebloom.problems.networks.embedding_mlp import COMBINATIONS

P, SIZE, STRENGTH, RATE = 11, 32, 1e-2, 1e-3
WEIGHTS = ("embedding", "hidden", "output")
PENALTIES = {
    "none": None,
    "l1": lb.L1(STRENGTH),
    "l2": lb.L2(STRENGTH),
    "l2-norm": lb.L2Norm(STRENGTH),
    "nuclear": lb.NuclearNorm(STRENGTH),
}
# Every combination, and every penalty on the weights alone.
STEPS = [(name, "none") for name in COMBINATIONS[1:]] + [("hadamard", penalty) for penalty in PENALTIES]


def network(combination: str = "hadamard", **changes) -> EmbeddingMLP:
    options = {"dimension": 4, "width": 8, "precision": "float64", "train_share": 0.6} | changes
    return EmbeddingMLP(P, combination=combination, **options)


def torch_penalty(torch, kind: str, weights):
    values = {
        "none": lambda w: 0 * w.sum(),
        "l1": lambda w: w.abs().sum(),
        "l2": lambda w: (w**2).sum() / 2,
        "l2-norm": torch.linalg.norm,
        "nuclear": lambda w: torch.linalg.matrix_norm(w, "nuc"),
    }
    return STRENGTH * sum(values[kind](w) for w in weights)


def torch_scores(torch, params, pairs, combination: str):
    first, second = params["embedding"][pairs[:, 0]], params["embedding"][pairs[:, 1]]
    side = int(first.shape[1] ** 0.5)
    joined = {
        "hadamard": lambda: first * second,
        "sum": lambda: first + second,
        "concatenation": lambda: torch.cat([first, second], dim=1),
        "matrix-product": lambda: torch.bmm(*(e.reshape(-1, side, side) for e in (first, second))).reshape(first.shape),
    }[combination]()
    hidden = torch.relu(torch.nn.functional.linear(joined, params["hidden"], params["hidden_bias"]))
    return torch.nn.functional.linear(hidden, params["output"], params["output_bias"])


@pytest.mark.parametrize(("combination", "kind"), STEPS)
def test_steps_of_adam_agree_with_pytorch(combination, kind):
    """Rung 2: three minibatches in double precision, every penalty and every combination, to 1e-10."""
    torch = pytest.importorskip("torch")
    problem, penalty = network(combination), PENALTIES[kind]
    if penalty is not None:
        penalty = lb.OnParts(penalty, *problem.weights)
    method = lb.Minibatch(lb.Optax("adam", learning_rate=RATE), SIZE, seed=3)
    start = jax.tree.map(lambda leaf: leaf + 0.05, problem.init())  # biases that are not zero
    theirs = {name: torch.tensor(np.asarray(leaf), requires_grad=True) for name, leaf in start.items()}
    adam = torch.optim.Adam(theirs.values(), lr=RATE)
    step = jax.jit(lambda params, state: method.step(problem, penalty, params, state))
    params, state = start, method.init(problem, penalty, start)
    for number in range(3):
        params, state = step(params, state)
        rows = np.asarray(state[1])[number * SIZE : (number + 1) * SIZE]  # 73 rows: the third minibatch is short
        pairs, labels = (torch.tensor(np.asarray(part)[rows]) for part in (problem.pairs, problem.train_labels))
        adam.zero_grad()
        loss = torch.nn.functional.cross_entropy(torch_scores(torch, theirs, pairs, combination), labels.long())
        (loss + torch_penalty(torch, kind, [theirs[name] for name in WEIGHTS])).backward()
        adam.step()
    for name, leaf in params.items():
        np.testing.assert_allclose(leaf, theirs[name].detach().numpy(), rtol=0, atol=1e-10, err_msg=name)
        assert np.max(np.abs(leaf - start[name])) > RATE


def test_scores_pair_by_pair():
    """Rung 2: plain NumPy, one pair at a time, with two embeddings and without biases."""
    problem = network("matrix-product", embeddings=2, biases=False)
    params = {name: np.asarray(leaf) for name, leaf in problem.init().items()}
    assert problem.weights == ("embedding", "second_embedding", "hidden", "output") == tuple(params)
    scores = problem.scores(params, "test")
    for row in (0, 7, 20):
        a, b = np.asarray(problem.test_pairs)[row]
        matrix = params["embedding"][a].reshape(2, 2) @ params["second_embedding"][b].reshape(2, 2)
        expected = params["output"] @ np.maximum(params["hidden"] @ matrix.ravel(), 0)
        np.testing.assert_allclose(scores[row], expected, atol=1e-14)
    right = [int(np.argmax(row)) == int(label) for row, label in zip(scores, problem.test_labels, strict=True)]
    assert float(problem.test_error(params)) == 1 - sum(right) / len(right)
    shifted = scores - jnp.max(scores, axis=1, keepdims=True)
    log_shares = shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=1, keepdims=True))
    expected = -np.mean([log_shares[i, label] for i, label in enumerate(problem.test_labels)])
    np.testing.assert_allclose(problem.test_loss(params), expected, rtol=1e-12)


def test_mirrored_pairs():
    """With one embedding (a, b) and (b, a) have one score, with two they do not; `unmirrored` finds the leak."""
    pairs = jnp.array(list(product(range(P), repeat=2)))
    for embeddings, same in ((1, True), (2, False)):
        problem = network(embeddings=embeddings)
        there, back = (problem.forward(problem.init(), p) for p in (pairs, pairs[:, ::-1]))
        assert np.allclose(there, back, atol=1e-14) is same
    train = {tuple(pair) for pair in problem.pairs.tolist()}
    expected = [(b, a) not in train for a, b in problem.test_pairs.tolist()]
    assert problem.unmirrored.tolist() == expected
    assert 0 < sum(expected) < len(expected)


def test_start():
    """Entries N(0, 1/rows) times the scale, biases zero, seeds split by purpose, the precision asked for."""
    problem = EmbeddingMLP(97, init_scale=2.0, seed=4)
    assert problem.rows == 3764
    assert len(problem.test_labels) == 5645
    for name, rows in (("embedding", 97), ("hidden", 64), ("output", 97)):
        assert np.std(problem.init()[name]) == pytest.approx(2 * rows**-0.5, rel=0.05)
    assert not np.any(problem.init()["hidden_bias"])
    assert not np.any(problem.init()["output_bias"])
    assert {str(leaf.dtype) for leaf in jax.tree.leaves(problem.init())} == {"float32"}
    other = EmbeddingMLP(97, seed=4, init_seed=5)
    assert np.array_equal(problem.pairs, other.pairs)
    assert not np.allclose(problem.init()["output"], other.init()["output"])
    assert not np.array_equal(problem.pairs, EmbeddingMLP(97, seed=5).pairs)


def test_coupled_and_decoupled_decay_are_two_things():
    """Rung 2: one step of PyTorch's Adam with weight decay (our L2) and of its AdamW (our adamw)."""
    torch = pytest.importorskip("torch")
    problem = network(biases=False)
    kinds = {
        "Adam": (lb.Optax("adam", learning_rate=RATE), lb.L2(0.1)),
        "AdamW": (lb.Optax("adamw", learning_rate=RATE, weight_decay=0.1), None),
    }
    start = problem.init()
    pairs, labels = torch.tensor(np.asarray(problem.pairs)), torch.tensor(np.asarray(problem.train_labels)).long()
    for name, (method, penalty) in kinds.items():
        theirs = {part: torch.tensor(np.asarray(leaf), requires_grad=True) for part, leaf in start.items()}
        optimiser = getattr(torch.optim, name)(theirs.values(), lr=RATE, weight_decay=0.1)
        scores = torch_scores(torch, theirs | {"hidden_bias": None, "output_bias": None}, pairs, "hadamard")
        torch.nn.functional.cross_entropy(scores, labels).backward()
        optimiser.step()
        mine, _ = jax.jit(method.step)(problem, penalty, start, method.init(problem, penalty, start))
        for part, leaf in mine.items():
            np.testing.assert_allclose(leaf, theirs[part].detach().numpy(), rtol=0, atol=1e-10, err_msg=name)
