"""An Adam step of the network on modular addition against PyTorch, seeds in a batch, and what a nuclear norm costs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import latebloom as lb
from latebloom.bench.base import BenchResult
from latebloom.bench.timing import describe, describe_difference, take_turns
from latebloom.methods.minibatch import next_epoch
from latebloom.penalties import AbstractPenalty
from latebloom.problems import EmbeddingMLP, LeastSquares

NAME = "networks"
RATE, STRENGTH = 1e-3, 1e-4
SPARSE: dict[str, Any] = {"memorised_at": 1e-300, "generalised_at": 1e-300, "records_per_decade": 1}
NEVER: dict[str, Any] = SPARSE | {"progress": False}
# Single precision: after a hundred steps entries differed by 2e-7 in one run and 1e-5 in another, after 300 by 2e-3; a
# step is 1e-3. Rounding that Adam's division enlarges where a gradient is next to 0 is the likely reason, not tested.
COMPARED, AGREEMENT = 100, RATE / 10


def measure(
    *, modulus: int = 97, size: int = 2048, steps: int = 300, seeds: int = 5, repeats: int = 5, teacher: int = 100
) -> list[BenchResult]:
    """Time per step with minibatches of 2,048 in float32; 5 seeds; the penalty on the 500x100 layer of a network."""
    problem = EmbeddingMLP(modulus)
    return [
        _against_torch(problem, size, steps, repeats),
        _seeds(modulus, size, steps, seeds, repeats),
        *(_nuclear(kind, teacher, steps, repeats) for kind in ("float32", "float64")),
    ]


def method(size: int, seed: int = 0) -> lb.Minibatch:
    """Adam on minibatches."""
    return lb.Minibatch(lb.Optax("adam", learning_rate=RATE), size, seed=seed)


def minibatches(problem: EmbeddingMLP, size: int, steps: int) -> list[np.ndarray]:
    """The rows of every step, as `Minibatch` draws them."""
    key, order, _, _ = method(size).init(problem, None, problem.init())
    place = 0
    chosen = []
    for _ in range(steps):
        if place == 0:
            key, order = next_epoch(key, order)
        chosen.append(np.asarray(order)[place : place + size])
        place = 0 if place + size >= problem.rows else place + size
    return chosen


def torch_adam(problem: EmbeddingMLP, chosen: list[np.ndarray], threads: int) -> dict[str, np.ndarray]:
    """The same steps in PyTorch, with its own embedding, loss and Adam; raises ImportError without PyTorch."""
    import torch  # pyright: ignore[reportMissingImports]

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    functional = torch.nn.functional
    params = {name: torch.tensor(np.asarray(leaf), requires_grad=True) for name, leaf in problem.init().items()}
    pairs, labels = (torch.tensor(np.asarray(part)) for part in (problem.pairs, problem.train_labels))
    adam = torch.optim.Adam(params.values(), lr=RATE)
    batches = [torch.tensor(rows) for rows in chosen]
    for rows in batches:
        adam.zero_grad()
        first, second = (functional.embedding(pairs[rows, place], params["embedding"]) for place in (0, 1))
        hidden = torch.relu(functional.linear(first * second, params["hidden"], params["hidden_bias"]))
        scores = functional.linear(hidden, params["output"], params["output_bias"])
        functional.cross_entropy(scores, labels[rows].long()).backward()
        adam.step()
    torch.set_num_threads(before)
    return {name: leaf.detach().numpy() for name, leaf in params.items()}


def _against_torch(problem: EmbeddingMLP, size: int, steps: int, repeats: int) -> BenchResult:
    what = f"an Adam step, p={problem.modulus}, d=64, minibatch {size}, float32, against PyTorch"
    contenders: dict[str, Callable[[], Any]] = {
        "ours": lambda: lb.train(problem, method(size), steps=steps, **NEVER),
    }
    try:
        importlib.import_module("torch")
        chosen = minibatches(problem, size, steps)
        contenders |= {f"{n} threads": lambda n=n: torch_adam(problem, chosen, n) for n in (1, 2)}
    except ImportError:
        ours = take_turns(contenders, repeats=repeats)["ours"].seconds / steps
        note = "PyTorch is not installed: pip install torch, or pip install 'latebloom[torch]'"
        return BenchResult(NAME, what, ours, None, None, "at least 1", None, note)
    timed = take_turns(contenders, repeats=repeats)
    best = min(("1 threads", "2 threads"), key=lambda name: timed[name].seconds)
    compared = min(COMPARED, steps)
    mine = lb.train(problem, method(size), steps=compared, **NEVER).params
    theirs = torch_adam(problem, chosen[:compared], 1)
    gap = max(float(np.abs(leaf - theirs[name]).max()) for name, leaf in mine.items())
    return BenchResult.at_least(
        NAME,
        what,
        ours=timed["ours"].seconds / steps,
        theirs=timed[best].seconds / steps,
        least=1,
        agree=gap <= AGREEMENT,
        note=f"{steps} steps, {describe(repeats, timed['ours'])}; PyTorch with {best[0]} of 1 or 2 threads, ours on "
        f"{timed['ours'].cores:.1f} cores; after {compared} steps the parameters {describe_difference(gap)}",
    )


def _seeds(modulus: int, size: int, steps: int, seeds: int, repeats: int) -> BenchResult:
    pairs = [(EmbeddingMLP(modulus, seed=seed), method(size, seed)) for seed in range(seeds)]
    contenders: dict[str, Callable[[], Any]] = {
        "batch": lambda: lb.run([lb.TrainJob(p, m, steps=steps, **SPARSE) for p, m in pairs], progress=False),
        "singles": lambda: [lb.train(p, m, steps=steps, **NEVER) for p, m in pairs],
    }
    timed = take_turns(contenders, repeats=repeats)
    both = zip(timed["batch"].answer, timed["singles"].answer, strict=True)
    equal = all(np.array_equal(one["train_loss"], other["train_loss"]) for one, other in both)
    return BenchResult.at_least(
        NAME,
        f"{seeds} seeds in one batch, against {seeds} calls of train",
        ours=timed["batch"].seconds / (seeds * steps),
        theirs=timed["singles"].seconds / (seeds * steps),
        least=1.5,
        agree=equal,
        note=f"a step of a seed; the batch had {timed['batch'].cores:.1f} cores, a single run "
        f"{timed['singles'].cores:.1f}; losses "
        f"{'are equal to the last bit' if equal else 'DIFFER'}",
    )


class TwoProducts(AbstractPenalty):
    """No penalty: the two products with the matrix that any exact polar factor `A (AᵀA)^-1/2` needs, and no more."""

    strength: float

    def value(self, params):
        return jnp.zeros(())

    def subgradient(self, params):
        return jax.tree.map(lambda w: self.strength * (w @ (w.T @ w)), params)

    @property
    def strengths(self):
        return (self.strength,)


def teacher_student(inputs: int, kind: str) -> LeastSquares:
    """`B max(A x, 0)` with A of 5 · inputs rows and two outputs, on as many samples as inputs: A is 500x100."""
    random, units = np.random.default_rng(0), 5 * inputs
    points = random.normal(size=(inputs, inputs)).astype(kind)
    values = (np.maximum(points @ random.normal(size=(inputs, units)), 0) @ random.normal(size=(units, 2))) / units
    targets, scale = values.astype(kind), np.asarray(inputs**-0.5, kind)

    def residuals(params):
        return scale * (jax.nn.relu(points @ params["A"].T) @ params["B"].T - targets).ravel()

    start = {"A": random.normal(size=(units, inputs)) / units**0.5, "B": random.normal(size=(2, units)) / 2**0.5}
    return LeastSquares(residuals, {name: jnp.asarray(w.astype(kind)) for name, w in start.items()}, label="student")


def _nuclear(kind: str, inputs: int, steps: int, repeats: int) -> BenchResult:
    problem, adam = teacher_student(inputs, kind), lb.Optax("adam", learning_rate=RATE)
    penalties = {
        "nuclear": lb.OnParts(lb.NuclearNorm(STRENGTH), "A"),
        "products": lb.OnParts(TwoProducts(STRENGTH), "A"),
        "none": None,
    }
    contenders = {
        name: lambda penalty=penalty: lb.train(problem, adam, penalty, steps=steps, **NEVER)
        for name, penalty in penalties.items()
    }
    timed = take_turns(contenders, repeats=repeats)
    floor = timed["products"].seconds / timed["none"].seconds
    return BenchResult.at_most(
        NAME,
        f"an Adam step with the nuclear norm of a {5 * inputs}x{inputs} layer, {kind}, against one without",
        ours=timed["nuclear"].seconds / steps,
        theirs=timed["none"].seconds / steps,
        most=2,
        note=f"the two products with the layer that any exact polar factor needs take {floor:.2f} alone",
    )
