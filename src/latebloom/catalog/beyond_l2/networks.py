"""What the entries on networks share: penalties by name, modular addition, and when a run generalises."""

from __future__ import annotations

import itertools

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Settings
from latebloom.core.fields import count, number
from latebloom.figures import Axis, Line, Panel, panels

L1, L2, NUCLEAR = "l1", "l2", "nuclear"
SYMBOLS = {L1: r"$\ell_1$", L2: r"$\ell_2$", NUCLEAR: r"$\ell_*$"}
NAME = "{penalty}, α={learning_rate:g}, β={strength:g}"
ACCURACY = Axis("accuracy", unit="%")
BEHIND = "test (thin: train, dot: $t_2$)"
NETWORK_NOTES = (
    "Everyday size: p = 31 with the paper's d1 = d2 = 64. The network has one embedding, a hidden layer of ReLU units "
    "and biases; matrices start as N(0, 1/rows), biases at 0; float32. Adam makes a step per minibatch.",
    "The text leaves ∘ between the embeddings undefined: here it is the Hadamard product. With one embedding the "
    "network is symmetric, and test pairs whose mirror is in the training set are known at t1 (see blog-fig1).",
    "The penalty is summed over the weight matrices, without the biases. The l2 penalty is squared, as in the blog "
    "post: β |W|² is our L2(2β).",
)


VALUES_NOTE = "The figure's values of α and β are not printed; these show the same."


class ModularSettings(Settings):
    """Addition modulo p, learned by Adam on minibatches."""

    modulus: int = count(default=31, least=2, note="p")
    dimension: int = count(default=64, note="d1, numbers in an embedding")
    width: int = count(default=64, note="d2, hidden units")
    train_share: float = number(default=0.4, above=0, below=1, note="of the ordered pairs")
    batch_share: float = number(
        default=2048 / 3764, above=0, most=1, note="of the training pairs in a minibatch: 2,048 of 3,764 at p = 97"
    )
    steps: int = count(default=12_000, note="minibatches")
    wrong: float = number(default=0.01, above=0, note="share of wrong pairs at t1 and t2")

    def network(self, **changes):
        """The network at its start, with some parameters changed."""
        chosen = {name: getattr(self, name) for name in ("modulus", "dimension", "width", "train_share", "seed")}
        return lb.problems.EmbeddingMLP(**chosen | changes)

    def job(self, problem, penalty, learning_rate, strength, **options):
        """A run of Adam on minibatches with a penalty on the weight matrices."""
        probes = lb.probes.TrainAccuracy(), lb.probes.TestAccuracy(), lb.probes.UnmirroredAccuracy()
        norms = (lb.probes.WeightNorm(norm) for norm in (L1, L2, NUCLEAR))
        chosen = {"steps": self.steps, "memorised_at": self.wrong, "generalised_at": self.wrong}
        return lb.TrainJob(
            problem,
            lb.Minibatch(
                lb.Optax("adam", learning_rate=learning_rate),
                max(round(self.batch_share * problem.rows), 1),
                seed=int(problem.init_seed),
            ),
            lb.OnParts(penalty_of(penalty, strength), *problem.weights),
            probes=(*probes, lb.probes.TestLoss(), *norms),
            **chosen | options,
        )


def penalty_of(kind, strength):
    """β |W|_1, β |W|² or β |W|_*."""
    return {L1: lb.L1, L2: lambda b: lb.L2(2 * b), NUCLEAR: lb.NuclearNorm}[kind](strength)


def later(run):
    """t2, or infinity if the run ended before it."""
    return np.inf if run.t2 is None else run.t2


def each_earlier(times):
    """Rows of t2 by name, and whether each is earlier than the one before; two that were not seen are not compared."""

    def falls(row):
        pairs = itertools.pairwise(row)
        return row[-1] < np.inf and all(after < before or (after == before == np.inf) for before, after in pairs)

    return times, all(falls(row) for row in times.values())


def memorise_first(runs, most):
    """t1 of every run, and whether each is early, and before t2."""
    first = [run.t1 for run in runs]
    return first, all(t1 is not None and t1 < min(most, later(run)) for t1, run in zip(first, runs, strict=True))


def at_t1(run, column):
    """A column where the run has memorised; None if it has not."""
    return None if run.t1 is None else float(run.record(step=run.t1)[column])


def percent(run, column, label="", role="cycle 0", marks="", *, name="", **look):
    """A share of a run in percent, against the step."""
    name = name or label or column.replace("_", " ")
    return Line(run["step"], 100 * run[column], label, role, marks, name=name, **look)


def reached(run, column, label, shade):
    """A dot on the curve of a share where the run has generalised; nothing if it has not."""
    if run.t2 is None:
        return []
    look = {"marks": "points", "shade": shade, "size": 3.2, "above": 1}
    return [Line(run.t2, 100 * float(run.record(step=run.t2)[column]), name=f"{label}, t2", **look)]


def accuracies(runs, title, legend: str | None = "lower right"):
    """Test accuracies, dark to light in the order of the runs, with the training accuracies behind them, and t2."""
    traces = []
    for place, (label, run) in enumerate(runs.items()):
        shade = panels.shade_of(place, len(runs))
        traces.append(percent(run, "test_accuracy", label, shade=shade))
        traces.append(percent(run, "train_accuracy", name=f"{label}, train", marks="behind", shade=shade))
        traces += reached(run, "test_accuracy", label, shade)
    return Panel(traces, panels.STEPS, ACCURACY, title=title, legend=legend, legend_title=BEHIND)
