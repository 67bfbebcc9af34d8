"""Theorem 3.10: by (1+c)/λ · log α regression is near a KKT point of norm minimisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import latebloom as lb
from latebloom.catalog.dichotomy.regression import SETTINGS, at, jobs, problem_of, scales, slope, stretched
from latebloom.catalog.old_base import Claim, Evidence, Experiment, Measured, at_least, at_most, within
from latebloom.figures.look import GREY, THEORY, canvas, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AFTER = 2.0  # (1 + c) with c = 1


def smallest_norm(evidence: Evidence) -> float:
    """`|θ|` at the solution of (R2): `|u|² + |v|²` at its least is the l1 norm of `u ⊙ u - v ⊙ v`."""
    return float(np.sqrt(lb.oracles.basis_pursuit(problem_of(evidence)).value))


def bounded(evidence: Evidence) -> Measured:
    norms = at(evidence, "l2_norm", AFTER) / smallest_norm(evidence)
    return Measured([float(norm) for norm in norms], bool(norms.max() <= 3 and (np.diff(norms) < 0).all()))


def least_residuals(evidence: Evidence) -> np.ndarray:
    """The least KKT residual between `log(α)/λ` and `(1+c) log(α)/λ`, for every α."""
    pairs = zip(evidence.runs.values(), scales(evidence), strict=True)
    return np.array([run["kkt_residual"][stretched(run, scale) >= 1].min() for run, scale in pairs])


def approaches_kkt(evidence: Evidence) -> Measured:
    least = least_residuals(evidence)
    return Measured([float(value) for value in least], bool((np.diff(least) < 0).all() and least[-1] <= 0.3))


def becomes_feasible(evidence: Evidence) -> Measured:
    errors = at(evidence, "train_error", AFTER)
    return Measured([float(error) for error in errors], bool(errors[-1] <= 5e-3 and errors[-1] <= 0.3 * errors[0]))


def reaches_basis_pursuit(evidence: Evidence) -> Measured:
    gaps = at(evidence, "distance_to_basis_pursuit", AFTER)
    return Measured([float(gap) for gap in gaps], bool((np.diff(gaps) < 0).all() and gaps[-1] <= 0.15))


CLAIMS = (
    Claim(
        "norms-are-bounded",
        "The norms |θ(t_k)| are uniformly bounded.",
        "Theorem 3.10",
        "norm at 2 log(α)/λ at most 3 times the least that interpolates, and smaller for larger α",
        bounded,
    ),
    Claim(
        "tends-to-a-kkt-point",
        "Every limit point of θ(t_k), α_k → ∞, is a KKT point of min |θ|² subject to f_i(θ) = y_i: stationarity.",
        "Theorem 3.10",
        "least min over ν of |θ - Jᵀν| / |θ| in [1, 2] · log(α)/λ falls with every α, to at most 0.3 at α = 64",
        approaches_kkt,
        rate=0.9,
    ),
    Claim(
        "becomes-feasible",
        "Every limit point is a KKT point: feasibility.",
        "Theorem 3.10",
        "training error at 2 log(α)/λ at most 5e-3 at α = 64, and 0.3 of that at α = 4",
        becomes_feasible,
    ),
    Claim(
        "slow-in-alpha",
        "The approach is slow: the theorem has no rate, and coordinates whose dual is nearly active decay last.",
        "Theorem 3.10 with the rate measured",
        "exponent of the KKT residual at 2 log(α)/λ in α between -0.9 and -0.3",
        lambda e: within(slope(scales(e)[1:], at(e, "kkt_residual", AFTER)[1:]), -0.9, -0.3),
        rate=0.8,
    ),
    Claim(
        "rich-predictor",
        "For this network the solution of (R2) is the interpolator of minimum l1 norm.",
        "Section 3.2.3 for the classification case",
        "relative distance to the basis-pursuit solution at 2 log(α)/λ falls with every α, to at most 0.15 at α = 64",
        reaches_basis_pursuit,
        rate=0.8,
    ),
    Claim(
        "no-kkt-point-before",
        "There is a transition around log(α)/λ: before it the parameters are nowhere near a KKT point.",
        "Section 3.3",
        "KKT residual at log(α)/2λ at least 0.99 at every α",
        lambda e: at_least(float(at(e, "kkt_residual", 0.5).min()), 0.99),
    ),
    Claim(
        "generalises-after",
        "After the transition the network generalises, where minimum l1 norm does.",
        "Section 3.3",
        "recovery error at 2 log(α)/λ at most 0.15 at α = 64; depends on the draw",
        lambda e: at_most(float(at(e, "test_error", AFTER)[len(scales(e)) - 1]), 0.15),
        rate=0.7,
    ),
)


def draw(evidence: Evidence) -> Figure:
    figure, (residual, norm, gap) = canvas(1, 3)
    for (name, run), scale, colour in zip(
        evidence.runs.items(), scales(evidence), shades(len(evidence.runs)), strict=True
    ):
        when, label = stretched(run, scale), name.replace("α", r"$\alpha$")
        residual.plot(when, run["kkt_residual"], color=colour, label=label)
        norm.plot(when, run["l2_norm"], color=colour)
        gap.plot(when, run["distance_to_basis_pursuit"], color=colour)
    norm.axhline(smallest_norm(evidence), color=THEORY, linestyle="--", linewidth=0.9, label="minimum of (R2)")
    norm.legend(loc="upper right")
    residual.legend(loc="lower left", fontsize=6)
    labels = (
        r"KKT residual $\min_\nu |\theta - J^\top\nu| / |\theta|$",
        r"norm $|\theta|$",
        "distance to minimum $l_1$ norm",
    )
    for axis, label in zip((residual, norm, gap), labels, strict=True):
        axis.axvline(1.0, color=GREY, linestyle="--", linewidth=0.8)
        axis.set_yscale("log")
        axis.set_xlim(0, 2)
        axis.set_xlabel(r"$\lambda t \,/\, \log\alpha$")
        axis.set_ylabel(label)
    return figure


EXPERIMENT = Experiment(
    id="dichotomy/thm3.10",
    title="Regression in the rich regime: KKT residual, norm and predictor after (1+c)/λ · log α",
    claim="By twice log(α)/λ the norm is bounded and the KKT residual falls with α, slowly: α^-0.5 to α^-0.8.",
    source="Theorem 3.10, Section 3.3.2",
    seconds=12,
    settings=SETTINGS,
    jobs=jobs,
    claims=CLAIMS,
    draw=draw,
    notes=("On an interpolator θ of a 2-homogeneous model, θ = Jᵀν is what (R2) asks for besides f_i(θ) = y_i.",),
)
