"""The blog post's accounts of earlier explanations: the LU mechanism at fixed norm, and the kernel phase of a start."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import at_least, at_most, holds, near, within
from latebloom.catalog.controls import OtherBound, Set
from latebloom.core.fields import count, number
from latebloom.figures import Axis, Figure, Line, Panel, Rule

FLOW, NORMS = "flow", "losses at fixed norm"
SOURCE = "Blog post, kernel to rich regime"


class AccountSettings(Settings):
    features: int = count(default=60, note="entries of the linear model whose norm is fixed")
    samples: int = count(default=45, note="measurements of it")
    noise: float = number(default=0.05, least=0, note="standard deviation of their noise")
    dimension: int = count(default=40, note="d of the classifier ⟨u² - v², x⟩")
    points: int = count(default=12, note="n of the classifier")
    scale: float = number(default=20.0, above=0, note="α, every entry of its start")
    weight_decay: float = number(default=1e-2, above=0, note="β, of |θ|²/2")
    early: float = number(default=0.5, above=0, below=1, note="ε of t1 = (1-ε) log α/β")
    late: float = number(default=1.0, above=0, note="ε of t2 = (1+ε) log α/β")

    @property
    def time(self):
        """log α/β."""
        return float(np.log(self.scale)) / self.weight_decay


accounts = Entry(
    "beyond-l2/blog-accounts",
    "What the blog post says of the LU mechanism and of the kernel phase",
    "At fixed norm the training loss is an L and the test loss a U; at t1 the weights still lie along their start.",
    source="Blog post, Why grokking?",
    seconds=6,
    settings=AccountSettings(),
    notes=(
        "At fixed norm: the least training loss of a linear model with |a| = w. Below the norm of the least-squares "
        "solution that is ridge regression, above it a point of zero loss with the rest of the norm in a random "
        "direction of the kernel, averaged over 50 of them.",
        "The classifier is dichotomy's diagonal network, started at α everywhere, so that its tangent features are "
        "(2αx, -2αx).",
    ),
)


@accounts.runs
def accounts_runs(s):
    data = lb.problems.SparseSigns(s.dimension, s.points, sparsity=3, test_samples=200, seed=s.seed)
    problem = lb.problems.DiagonalClassifier(data, init_scale=s.scale)
    until = (1 + s.late) * s.time
    probes = (lb.probes.Trajectory(),)
    return {FLOW: lb.FlowJob(problem, lb.L2(s.weight_decay), time=until, solver="rkc", rtol=1e-6, probes=probes)}


def at_fixed_norm(s):
    """Least training loss at every norm, and the test loss there."""
    problem = lb.problems.LinearRegression.random(features=s.features, samples=s.samples, noise=s.noise, seed=s.seed)
    design, targets, truth = (np.asarray(part) for part in (problem.design, problem.targets, problem.truth))
    left, sigma, right = np.linalg.svd(design, full_matrices=False)
    inside = left.T @ targets
    nearest = right.T @ (inside / sigma)
    random, rows = np.random.default_rng([s.seed, 2]), {"norm": [], "train": [], "test": []}
    kernel = random.normal(size=(50, s.features))
    kernel -= kernel @ right.T @ right
    kernel /= np.linalg.norm(kernel, axis=1, keepdims=True)
    for norm in np.linalg.norm(nearest) * np.geomspace(0.05, 5, 41):
        points = nearest + np.sqrt(max(norm**2 - nearest @ nearest, 0.0)) * kernel
        if norm < np.linalg.norm(nearest):
            low, high = 0.0, 1e6 * sigma[0] ** 2
            for _ in range(200):  # of the ridge, by bisection on its logarithm
                middle = np.sqrt((low + 1e-12) * high)
                short = np.linalg.norm(sigma * inside / (sigma**2 + middle)) < norm
                low, high = (low, middle) if short else (middle, high)
            points = (right.T @ (sigma * inside / (sigma**2 + high)))[None]
        rows["norm"].append(norm)
        rows["train"].append(float(np.mean((points @ design.T - targets) ** 2)))
        rows["test"].append(float(np.mean(((points - truth) ** 2).sum(axis=1)) / s.features))
    return {name: np.array(values) for name, values in rows.items()}


@accounts.studies
def accounts_studies(s):
    told = {"features": s.features, "samples": s.samples, "noise": s.noise, "seed": s.seed}
    return [Study(NORMS, {"experiment": accounts.id, "version": 1, **told}, lambda: at_fixed_norm(s))]


@accounts.claim(
    holds("falls at every norm up to a point, then at most {zero:g} of the first", zero=1e-9),
    source="Blog post, LU mechanism, Figure 2",
)
def training_loss_is_an_l(e, zero):
    """At a given norm the training loss falls quickly and stays near zero for large norms."""
    train = e.tables[NORMS]["train"] / e.tables[NORMS]["train"][0]
    floor = int(np.argmax(train <= zero))
    falls = bool(np.all(np.diff(train[: floor + 1]) < 0)) and floor > 0
    return float(train[-1]), falls and bool(np.all(train[floor:] <= zero))


@accounts.claim(
    holds("more than {times:g} times its least at both ends, which is inside", times=1.5),
    source="Blog post, LU mechanism, Figure 2; Goldilocks zone",
)
def test_loss_is_a_u(e, times):
    """At a given norm the test loss is least at a norm w_c, and larger for smaller and larger ones."""
    test = e.tables[NORMS]["test"]
    ends = [float(test[end] / test.min()) for end in (0, -1)]
    return ends, min(ends) > times and 0 < int(test.argmin()) < len(test) - 1


def weights(e, share):
    """θ at a share of log α/β, as one vector."""
    run, s = e[FLOW], e.settings
    return run["parameters"][int(np.argmin(np.abs(run["time"] - share * s.time)))]


def cosine(a, b):
    """Between two vectors."""
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def tangent_direction(e):
    """The h of largest margin on the tangent features at the start."""
    return np.asarray(e.cached(lb.oracles.max_kernel_margin, e.problem()).solution).ravel()


@accounts.claim(
    at_least(0.99), "cosine of θ(t1) with the max-margin direction", source=SOURCE,
    fails="θ(t1) lies along the start; its change since then, less the decay, is what points there",
    control=OtherBound(near(0, by=0.3)),
)  # fmt: skip
def weights_at_t1_as_printed(e):
    """θ(t1)/|θ(t1)| is the direction of largest margin on the tangent features at the start."""
    return cosine(weights(e, 1 - e.settings.early), tangent_direction(e))


@accounts.claim(
    at_least(0.999), "cosine of θ(t1) with θ(0)", kind="corrected", source="dichotomy, Theorem 3.4",
    control=Set(scale=1.2),
)  # fmt: skip
def weights_along_the_start(e):
    """At t1 = (1-ε) log α/β the weights point where they did at the start."""
    return cosine(weights(e, 1 - e.settings.early), e[FLOW]["parameters"][0])


@accounts.claim(
    at_least(0.95), "cosine of θ(t1) - e^(-βt1) θ(0) with the max-margin direction", kind="corrected",
    source="dichotomy, Theorem 3.4",
)  # fmt: skip
def change_is_the_kernel_direction(e):
    """What has been added to the decayed start points in the direction of largest margin on the tangent features."""
    s = e.settings
    run = e[FLOW]
    place = int(np.argmin(np.abs(run["time"] - (1 - s.early) * s.time)))
    decayed = np.exp(-s.weight_decay * run["time"][place]) * run["parameters"][0]
    return cosine(run["parameters"][place] - decayed, tangent_direction(e))


@accounts.claim(
    near(1, by=0), "numbers in y(x) over numbers in θ", source=f"{SOURCE}, the problem after t2",
    fails="y(x) is an output and θ all the weights: ⟨y(x), θ⟩ has no meaning; y_θ(x) is meant",
    control=OtherBound(at_most(0.5)),
)  # fmt: skip
def constraint_as_printed(e):
    """After t2 θ is along a KKT point of min |θ| subject to y⟨y(x), θ⟩ ≥ 1."""
    return 1 / e[FLOW]["parameters"].shape[1]


@accounts.claim(
    within(0.97, 1), "cosine of θ(t2) with the weighted sum of y∇y_θ(x)", kind="corrected",
    source="dichotomy, Theorem 3.5",
)  # fmt: skip
def stationary_after_t2(e):
    """After t2 = (1+ε) log α/β θ is along -∇g, a weighted sum of y∇y_θ(x), as a KKT point under y·y_θ(x) ≥ 1 is."""
    shape = np.asarray(e.problem().init()).shape
    end = e[FLOW]["parameters"][-1]
    return cosine(end, -np.asarray(e.problem().gradient(end.reshape(shape))).ravel())


@accounts.figure
def accounts_figure(e):
    table, s, run = e.tables[NORMS], e.settings, e[FLOW]
    left = [Line(table["norm"], np.maximum(table[part], 1e-8), part, part) for part in ("train", "test")]
    start, kernel = run["parameters"][0], tangent_direction(e)
    clock = run["time"][1:] / s.time
    decayed = np.exp(-s.weight_decay * run["time"][1:])[:, None] * start
    right = [
        Line(clock, [cosine(row, start) for row in run["parameters"][1:]], r"$\theta$ with $\theta(0)$", "norm"),
        Line(clock, [cosine(row, kernel) for row in run["parameters"][1:]], r"$\theta$ with the kernel's", "test"),
        Line(
            clock,
            [cosine(row, kernel) for row in run["parameters"][1:] - decayed],
            r"$\theta - e^{-\beta t}\theta(0)$ with it",
            "cycle 4",
        ),
        Rule(1 - s.early, "$t_1$ of the theorem"),
    ]
    norm = Axis(r"norm $\|a\|_2$", "log")
    return Figure(
        [
            [
                Panel(left, norm, Axis("least loss at that norm", "log"), legend="lower left"),
                Panel(right, Axis(r"$\beta t / \log\alpha$", "log"), Axis("cosine"), legend="center left"),
            ]
        ],
    )
