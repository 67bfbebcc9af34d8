"""The blog post's argument against a shell of good weights: a rescaled network is the same function at any norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from latebloom.catalog.beyond_l2.equal_functions import (
    ACTIVATIONS,
    DECAY,
    DECAYED,
    FACTORS,
    FREE,
    INPUTS,
    OUTPUTS,
    RATE,
    STEPS,
    TRAIN_IMAGES,
    UNITS,
    WIDTH,
    Family,
    balanced_factor,
    families,
    imbalance,
    jobs,
    rescaled,
    rescalings,
    scalings,
    squares,
    trained,
)
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, at_least, at_most
from latebloom.figures.look import GREY, NORM, TEST, THEORY, TRAIN, canvas, shades
from latebloom.figures.old import panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGE = 8.0  # the start that near_start measures from, in units of N(0, 1/rows)


def same_answers(evidence: Evidence) -> Measured:
    """How many test images more or fewer are right, the largest change of the test loss, and the range of norms."""
    found = rescalings(evidence)
    counts, losses = int(np.ptp(found.right)), float(np.ptp(found.test) / found.test[0])
    spread = float(found.norms.max() / found.norms.min())
    return Measured([counts, losses, spread], counts == 0 and losses < 1e-10 and spread > 50)


def one_shell(evidence: Evidence) -> Measured:
    """The largest over the smallest norm of the rescalings that answer as well as the trained network."""
    found = rescalings(evidence)
    norms = found.norms[found.right >= found.right.max()]
    return at_most(float(norms.max() / norms.min()), 2.0)


def u_shape(evidence: Evidence) -> Measured:
    """Test loss at the smallest and largest norm over its least, train loss at the largest over that at the least."""
    found = scalings(evidence)
    ends = [float(found.test[end] / found.test.min()) for end in (0, -1)]
    falls = bool(np.all(np.diff(found.train) <= 0))
    return Measured(ends, min(ends) > 1.5 and falls)


def near_start(evidence: Evidence) -> Measured:
    """The least distance of a rescaling from a large start of another draw, over the norm of that start."""
    random = np.random.default_rng([evidence.request.seed, 35])
    first, second = trained(evidence)
    starts = [LARGE * random.normal(size=part.shape) / np.sqrt(len(part)) for part in (first, second)]
    gaps = [
        squares(*(mine - theirs for mine, theirs in zip(rescaled(first, second, factor, 1), starts, strict=True)))
        for factor in FACTORS
    ]
    return at_most(float(np.sqrt(min(gaps) / squares(*starts))), 0.5)


def balanced(evidence: Evidence, name: str) -> float:
    """λ0 of a trained network: 1 if its norm is the least among its rescalings."""
    final = evidence.runs[name].final
    return balanced_factor(final["l2_norm_of_hidden"] ** 2, final["l2_norm_of_output"] ** 2, 1)


def follows(evidence: Evidence, name: str) -> float:
    """The largest distance of `a - b` from its law, over its start."""
    gap, law = imbalance(evidence, name)
    return float(np.max(np.abs(gap - law)) / abs(gap[0]))


def worst(evidence: Evidence, gap: Callable[[Family], float], most: float) -> Measured:
    """The largest of a gap over the degrees."""
    return at_most(max(gap(found) for found in families(evidence)), most)


def least_at_formula(evidence: Evidence) -> Measured:
    found = families(evidence)
    shapes = [
        bool(np.all((np.diff(f.sizes) < 0)[FACTORS[1:] < f.predicted_best]))
        and bool(np.all((np.diff(f.sizes) > 0)[FACTORS[:-1] > f.predicted_best]))
        for f in found
    ]
    gap = max(abs(f.best / f.predicted_best - 1) for f in found)
    return Measured(gap, gap <= 1e-6 and all(shapes))


SOURCE = "Blog post, Goldilocks zone & LU mechanism"
CLAIMS = (
    Claim(
        "same-function",
        "For all λ > 0, y_λ(x) = (B/λ^L) φ(λ A x) = y(x) for all x.",
        SOURCE,
        "largest change of an output over 200 points, λ from 0.01 to 100 and L = 1, 2, 3: at most 1e-13 of the largest",
        lambda e: worst(e, lambda f: f.changed, 1e-13),
    ),
    Claim(
        "norm-by-formula",
        "The (squared) norm of the parameters of y_λ is w(λ) = a λ² + b / λ^2L.",
        SOURCE,
        "largest relative difference from the sum of squares of the rescaled matrices at most 1e-13",
        lambda e: worst(e, lambda f: float(np.max(np.abs(f.sizes / f.predicted - 1))), 1e-13),
    ),
    Claim(
        "least-where-the-formula-says",
        "w decreases from λ = 0 to λ0 = (L b / a)^(1/(2(L+1))), then increases.",
        SOURCE,
        "least norm found by search at λ0 to a relative 1e-6, and w falls before λ0 and rises after it",
        least_at_formula,
    ),
    Claim(
        "least-value",
        "w(λ0) = (L^(1/(L+1)) + L^(-L/(L+1))) (a^L b)^(1/(L+1)).",
        SOURCE,
        "relative difference from the least norm found by search at most 1e-12",
        lambda e: worst(e, lambda f: abs(f.least / f.predicted_least - 1), 1e-12),
    ),
    Claim(
        "any-norm-generalises-alike",
        "We can arbitrarily increase the norm of the parameters without changing generalisation.",
        SOURCE,
        "trained network, norms over a range of more than 50: no test image answered differently, test loss to 1e-10",
        same_answers,
    ),
    Claim(
        "shell-as-printed",
        "Generalising solutions lie near a spherical shell in weight space (the view the blog post argues against).",
        f"{SOURCE}, Figure 2",
        "largest over smallest norm of the equally good rescalings at most 2; fails: it is as large as one likes",
        one_shell,
        documented=False,
    ),
    Claim(
        "u-shape-along-a-ray",
        "The training loss is L-shaped and the test loss U-shaped as functions of the norm.",
        f"{SOURCE}, Figure 2",
        "along (c A, c B): test loss at both ends more than 1.5 times its least, training loss falls throughout",
        u_shape,
    ),
    Claim(
        "near-any-start-as-printed",
        "So one can find a solution that generalises close to the initialisation, however large that is.",
        SOURCE,
        "a rescaling within half of the norm of a start x 8; fails: a whole norm away, in another direction",
        near_start,
        documented=False,
    ),
    Claim(
        "decay-balances",
        "Weight decay picks the rescaling of least norm, λ0 = 1.",
        "d(a - L b)/dt = -2λ (a - L b) under the flow",
        "λ0 of the network trained with weight decay within 0.001 of 1",
        lambda e: at_most(abs(balanced(e, DECAYED) - 1), 1e-3),
    ),
    Claim(
        "imbalance-law",
        "Weight decay shrinks a - b at a known pace, and without it a - b stays.",
        "(a - b)(t) = (1 - αλ)^2t (a - b)(0), exact up to α² terms",
        "largest distance from the law at most 0.02 of the start, with weight decay and without",
        lambda e: at_most(max(follows(e, name) for name in (DECAYED, FREE)), 0.02),
    ),
    Claim(
        "free-stays-unbalanced",
        "Without weight decay the norm at the end is not the least.",
        "the same law with λ = 0",
        "λ0 of the network trained without weight decay at least 0.005 from 1",
        lambda e: at_least(abs(balanced(e, FREE) - 1), 5e-3),
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (sizes, view, law, balance) = canvas(2, 2, height=2.2)
    for found, colour in zip(families(evidence), shades(len(ACTIVATIONS)), strict=True):
        name = ACTIVATIONS[found.degree][0]
        sizes.plot(FACTORS, found.sizes, color=colour, linewidth=2.2, alpha=0.6, label=f"L = {found.degree}: {name}")
        sizes.plot(FACTORS, found.predicted, "--", color=THEORY, linewidth=0.8)
        sizes.plot(found.predicted_best, found.predicted_least, "o", color=THEORY, markersize=3)
    sizes.set_xscale("log")
    sizes.set_yscale("log")
    sizes.set_ylim(top=1e9)
    sizes.set_xlabel(r"$\lambda$")
    sizes.set_ylabel(r"$w(\lambda) = \|\lambda A\|^2 + \|B/\lambda^L\|^2$")
    sizes.set_title("one function, any norm (dots: $\\lambda_0$)")
    sizes.legend(fontsize=6)
    goldilocks(view, evidence)
    for name, colour in ((DECAYED, NORM), (FREE, GREY)):
        run = evidence.runs[name]
        gap, expected = imbalance(evidence, name)
        law.plot(run["step"], np.abs(gap), color=colour, linewidth=2.2, alpha=0.6, label=name)
        law.plot(run["step"], np.abs(expected), "--", color=THEORY, linewidth=0.8)
        factor = np.sqrt(run["l2_norm_of_output"] / run["l2_norm_of_hidden"])
        balance.plot(run["step"], factor, color=colour, label=name)
    law.set_yscale("log")
    law.set_ylabel(r"$\left|\,\|A\|^2 - \|B\|^2\right|$")
    balance.axhline(1.0, color=THEORY, linestyle="--", linewidth=0.8)
    balance.set_ylabel(r"$\lambda_0$ of the network")
    for axis in (law, balance):
        axis.legend(fontsize=6)
        panels.log_steps(axis)
    return figure


def goldilocks(axis: Axes, evidence: Evidence) -> None:
    """Losses against the norm: along a ray they are L and U, along the rescalings they are flat."""
    ray, same = scalings(evidence), rescalings(evidence)
    for part, colour in (("train", TRAIN), ("test", TEST)):
        axis.plot(ray.norms, getattr(ray, part), color=colour, label=f"{part}, $(cA, cB)$")
        order = np.argsort(same.norms)
        axis.plot(
            same.norms[order],
            getattr(same, part)[order],
            "--",
            color=colour,
            label=rf"{part}, $(\lambda A, B/\lambda)$",
        )
    run = evidence.runs[FREE]
    axis.plot(run["l2_norm_of_weights"], run["test_loss"], ":", color=GREY, label="test, along training")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_ylim(bottom=1e-6)
    axis.set_xlabel(r"norm of the weights $\|\theta\|_2$")
    axis.set_ylabel("cross-entropy")
    axis.legend(fontsize=5.5, loc="lower left")


EXPERIMENT = Experiment(
    id="beyond-l2/rescaling",
    title="A rescaled network is the same function at any norm",
    claim="(λ A, B/λ^L) answers alike for every λ; its norm is least at λ0 and without bound: no Goldilocks shell.",
    source=SOURCE,
    seconds=10,
    settings={
        "networks": f"y(x) = B φ(A x), {INPUTS} inputs, {WIDTH} units, {OUTPUTS} outputs, drawn at random",
        "φ": {f"L = {degree}": name for degree, (name, _) in ACTIVATIONS.items()},
        "λ": "201 values from 0.01 to 100",
        "trained network": f"{TRAIN_IMAGES} of scikit-learn's digits, {UNITS} ReLU units, cross-entropy; float64",
        "method": f"gradient descent, α = {RATE:g}, weight decay {DECAY:g} or none, {STEPS:,} steps",
    },
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=(
        "The blog post calls w(λ) the norm; it is the square of the norm.",
        "What rescaling shows: no norm above the least is special. What it does not show: that there is a solution "
        "near a given large start; the claim near-any-start-as-printed measures the rescalings only.",
    ),
)
