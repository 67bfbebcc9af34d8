"""What the entries on modular addition share: the network, its runs over learning rates and strengths, their panels."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import latebloom as lb
from latebloom.catalog.measures import log_slope
from latebloom.catalog.old_base import Evidence, Measured, Request
from latebloom.figures.look import shades
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from latebloom.engine.run import Run
    from latebloom.engine.training import TrainJob
    from latebloom.problems import EmbeddingMLP

SMALL, LARGE = 31, 97  # modulus
MINIBATCH = 2048 / 3764  # as a share of the training pairs: the paper's 2,048 at p = 97
L1, L2, NUCLEAR = "l1", "l2", "nuclear"
SYMBOLS = {L1: r"$\ell_1$", L2: r"$\ell_2$", NUCLEAR: r"$\ell_*$"}
# Strengths by size and penalty: at p = 97 the data give way to weaker penalties than at p = 31.
Sizes = Mapping[str, Mapping[str, tuple[float, ...]]]
WRONG = 0.01  # t1 and t2: at most this share of pairs is wrong
PRINTED: dict[str, Any] = {
    "problem": "addition modulo p on ordered pairs, 40 % to train on",
    "modulus p": {"everyday": SMALL, "full": LARGE},
    "network": "one embedding, Hadamard product, hidden layer of 64 ReLU units, biases; d1 = d2 = 64; float32",
    "initial weights": "N(0, 1/rows) for every matrix, biases 0",
    "method": "Adam on minibatches of 54 % of the training pairs (2,048 of 3,764 at p = 97); a step is a minibatch",
    "penalty": "β |W|_1, β |W|², or β |W|_*, summed over the weight matrices, not on the biases",
}
NOTES = (
    "Everyday size: p = 31 with the paper's d1 = d2 = 64; --full is p = 97.",
    "The text leaves ∘ between the embeddings undefined: here it is the Hadamard product. With one embedding the "
    "network is symmetric, and test pairs whose mirror is in the training set are known at t1 (see blog-fig1).",
    "The l2 penalty is squared, as in the blog post: β |W|² is our L2(2β).",
)


def network(request: Request, **options: Any) -> EmbeddingMLP:
    """The network of a request; the draw is its seed."""
    return lb.problems.EmbeddingMLP(LARGE if request.full else SMALL, seed=request.seed, **options)


def network_job(
    problem: EmbeddingMLP, kind: str, rate: float, strength: float, *, steps: int, wrong: float = WRONG, **options: Any
) -> TrainJob:
    """A run of Adam on minibatches with a penalty on the weight matrices."""
    from latebloom import probes

    kinds = {L1: lb.L1(strength), L2: lb.L2(2 * strength), NUCLEAR: lb.NuclearNorm(strength)}
    measured: Any = [
        probes.TrainAccuracy(),
        probes.TestAccuracy(),
        probes.UnmirroredAccuracy(),
        probes.TestLoss(),
        *(probes.WeightNorm(norm) for norm in (L1, L2, NUCLEAR)),
    ]
    method = lb.Minibatch(
        lb.Optax("adam", learning_rate=rate), round(MINIBATCH * problem.rows), seed=int(problem.init_seed)
    )
    penalty = lb.OnParts(kinds[kind], *problem.weights)
    return lb.TrainJob(
        problem, method, penalty, steps=steps, probes=measured, memorised_at=wrong, generalised_at=wrong, **options
    )


def name_of(kind: str, rate: float, strength: float) -> str:
    """The name of a run: penalty, α and β."""
    return f"{kind}, α={rate:g}, β={strength:g}"


def grid_jobs(
    request: Request, kinds: Sequence[str], rates: Sequence[float], strengths: Mapping[str, Sequence[float]], steps: int
) -> dict[str, TrainJob]:
    """A run for every penalty, learning rate and strength, stopped when it has generalised."""
    problem = network(request)
    return {
        name_of(kind, rate, strength): network_job(problem, kind, rate, strength, steps=steps, stop_at="generalised")
        for kind in kinds
        for rate in rates
        for strength in strengths[kind]
    }


def later(run: Run) -> float:
    """t2, or infinity if the run ended before it."""
    return run.t2 or np.inf


def falls(times: Sequence[float]) -> bool:
    """Whether each time is earlier than the one before; two that were not seen are not compared."""
    pairs = itertools.pairwise(times)
    return all(after < before or (after == before == np.inf) for before, after in pairs)


def earlier_with_strength(
    evidence: Evidence, kinds: Sequence[str], rates: Sequence[float], strengths: Mapping[str, Sequence[float]]
) -> Measured:
    """t2 from the smallest strength to the largest, penalty by penalty and rate by rate: each earlier."""
    times = {
        f"{kind}, α={rate:g}": [later(evidence.runs[name_of(kind, rate, b)]) for b in sorted(strengths[kind])]
        for kind in kinds
        for rate in rates
    }
    return Measured(times, all(falls(row) and row[-1] < np.inf for row in times.values()))


def earlier_with_rate(
    evidence: Evidence, kinds: Sequence[str], rates: Sequence[float], strengths: Mapping[str, Sequence[float]]
) -> Measured:
    """t2 from the smallest learning rate to the largest, penalty by penalty and strength by strength: each earlier."""
    times = {
        f"{kind}, β={b:g}": [later(evidence.runs[name_of(kind, rate, b)]) for rate in sorted(rates)]
        for kind in kinds
        for b in strengths[kind]
    }
    return Measured(times, all(falls(row) and row[-1] < np.inf for row in times.values()))


def power(
    evidence: Evidence, kinds: Sequence[str], rates: Sequence[float], strengths: Mapping[str, Sequence[float]]
) -> dict[str, float]:
    """The exponent of t2 - t1 in αβ, penalty by penalty, over the runs that have both."""
    exponents = {}
    for kind in kinds:
        cells = [(rate * b, evidence.runs[name_of(kind, rate, b)]) for rate in rates for b in strengths[kind]]
        seen = [(product, run.milestones.delay) for product, run in cells if run.milestones.delay]
        if len(seen) >= 2:
            exponents[kind] = log_slope([p for p, _ in seen], [delay for _, delay in seen])
    return exponents


def memorise_first(runs: Sequence[Run], most: float) -> Measured:
    """t1 of every run, and whether each is early, and before t2."""
    first = [run.t1 for run in runs]
    return Measured(first, all(a is not None and a < min(most, later(run)) for a, run in zip(first, runs, strict=True)))


def accuracies(axis: Axes, runs: Mapping[str, Run], title: str = "") -> None:
    """Test accuracies, dark to light in the order of the runs, with the training accuracies dotted."""
    for (label, run), colour in zip(runs.items(), shades(len(runs)), strict=True):
        axis.plot(run["step"], 100 * run["test_accuracy"], color=colour, label=label)
        axis.plot(run["step"], 100 * run["train_accuracy"], color=colour, linewidth=0.8, linestyle=":")
    panels.log_steps(axis)
    axis.set_ylabel("accuracy (%)")
    axis.set_title(title)
    axis.legend(loc="lower right", fontsize=5.5, title="test (train dotted)", title_fontsize=5.5)
