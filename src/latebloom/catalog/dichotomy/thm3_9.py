"""Theorem 3.9: until (1-c)/λ · log α regression is kernel regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.dichotomy.regression import SETTINGS, at, jobs, problem_of, scales, slope, stretched
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, at_least, at_most, within
from latebloom.figures.look import GREY, THEORY, canvas, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEFORE = 0.5  # (1 - c) with c = 1/2


def falls(evidence: Evidence) -> Measured:
    """The distance to the kernel predictor at T_c^-, from the smallest α to the largest."""
    gaps = at(evidence, "distance_to_kernel", BEFORE)
    return Measured([float(gap) for gap in gaps], bool((np.diff(gaps) < 0).all() and gaps[-1] <= 1e-4))


def independent(evidence: Evidence) -> Measured:
    regime = lb.theory.kernel_regime(problem_of(evidence))
    return Measured(regime.rank, regime.rank == regime.outputs)


CLAIMS = (
    Claim(
        "features-are-independent",
        "The NTK features of the training samples are linearly independent.",
        "Assumption 3.8",
        "rank of the kernel on the training set: 30",
        independent,
    ),
    Claim(
        "kernel-limit",
        "As α → ∞ the predictor at (1-c)/λ · log α tends to the minimum-norm interpolator on NTK features.",
        "Theorem 3.9",
        "relative distance at c = 1/2 falls with every α, to at most 1e-4 at α = 64",
        falls,
    ),
    Claim(
        "kernel-limit-exponent",
        "The distance is that of ridge regression with the shrunken kernel: of order λ / (α e^{-λt})², or α^-(p+2c).",
        "Theorem 3.9 with the rate kept, λ of order α^-p",
        "measured exponent in α at p = 1, c = 1/2 between -2.1 and -1.9",
        lambda e: within(slope(scales(e), at(e, "distance_to_kernel", BEFORE)), -2.1, -1.9),
    ),
    Claim(
        "kernel-keeps-its-direction",
        "Before the transition the direction of the parameters stays near the initial one, and so does the kernel.",
        "Section 3.2 and Appendix D.1",
        "change of the normalised kernel at c = 1/2 at most 2e-6 at α = 64, its exponent in α between -2.1 and -1.9",
        lambda e: Measured(
            slope(scales(e), at(e, "kernel_drift", BEFORE)),
            within(slope(scales(e), at(e, "kernel_drift", BEFORE)), -2.1, -1.9).holds
            and bool(at(e, "kernel_drift", BEFORE)[-1] <= 2e-6),
        ),
    ),
    Claim(
        "kernel-does-not-generalise",
        "The kernel predictor, here the interpolator of minimum l2 norm, does not recover a sparse truth.",
        "Section 3.3",
        "recovery error at c = 1/2 at least 0.5",
        lambda e: at_least(float(at(e, "test_error", BEFORE).min()), 0.5),
    ),
    Claim(
        "fits-in-the-kernel-regime",
        "The training data are fitted in the kernel regime.",
        "Section 3.3.1",
        "training error at c = 1/2 at most 0.02 at every α",
        lambda e: at_most(float(at(e, "train_error", BEFORE).max()), 2e-2),
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (curves, law, errors) = canvas(1, 3)
    for (name, run), scale, colour in zip(
        evidence.runs.items(), scales(evidence), shades(len(evidence.runs)), strict=True
    ):
        when = stretched(run, scale)
        curves.plot(when, run["distance_to_kernel"], color=colour, label=name.replace("α", r"$\alpha$"))
        errors.plot(when, run["test_error"], color=colour)
        errors.plot(when, run["train_error"], color=colour, linestyle=":", linewidth=0.8)
    for axis, label in ((curves, "distance to the NTK predictor"), (errors, "recovery error (train dotted)")):
        axis.axvline(BEFORE, color=GREY, linestyle="--", linewidth=0.8)
        axis.set_yscale("log")
        axis.set_xlim(0, 2)
        axis.set_xlabel(r"$\lambda t \,/\, \log\alpha$")
        axis.set_ylabel(label)
    curves.set_ylim(1e-7, 2)
    errors.set_ylim(1e-6, 2)
    curves.legend(loc="lower right", fontsize=6)
    alpha = scales(evidence)
    gaps, drift = at(evidence, "distance_to_kernel", BEFORE), at(evidence, "kernel_drift", BEFORE)
    law.loglog(alpha, gaps, "o", label="distance to the predictor")
    law.loglog(alpha, drift, "s", label="change of the kernel")
    for values in (gaps, drift):
        law.loglog(alpha, values[0] * (alpha / alpha[0]) ** -2.0, color=THEORY, linestyle="--", linewidth=0.9)
    law.set_xticks(alpha, [f"{scale:g}" for scale in alpha])
    law.minorticks_off()
    law.set_xlabel(r"initial scale $\alpha$")
    law.set_ylabel(r"at $\lambda t = \frac{1}{2}\log\alpha$ (slope $-2$ dashed)")
    law.legend(fontsize=6)
    return figure


EXPERIMENT = Experiment(
    id="dichotomy/thm3.9",
    title="Regression in the kernel regime: the predictor before (1-c)/λ · log α",
    claim="Up to half of log(α)/λ the network is the NTK's minimum-norm interpolator, to an error of order α^-2.",
    source="Theorem 3.9, Section 3.3.1",
    seconds=12,
    settings=SETTINGS,
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=("The theorem gives a limit; the exponents are measured here and not in the paper.",),
)
