"""Sentences of the paper and its blog post that a small example refutes, each with the sentence put right beside it."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Study
from latebloom.catalog.beyond_l2.misprint_examples import (
    ROUNDING,
    MisprintSettings,
    admissible,
    after_shrinking,
    cocoercivity,
    excess,
    one_step,
    rank_left,
    turned,
    turns,
    waves,
)
from latebloom.catalog.bounds import above, at_least, at_most, below, near
from latebloom.catalog.controls import OtherBound, Set
from latebloom.figures import Axis, Figure, Line, Panel

EXACT = at_most(ROUNDING)
TURNS = "turns of the subgradient"


misprints = Entry(
    "beyond-l2/misprints",
    "Misprints: sentences that a small example refutes, and how they read",
    "A dozen printed inequalities and formulas with counterexamples of a few numbers, each with its correction.",
    source="Appendix C and the blog post",
    seconds=2,
    settings=MisprintSettings(),
    notes=("Nothing is trained: every example has a handful of numbers.",),
)


@misprints.studies
def misprints_studies(s):
    configuration = {"experiment": misprints.id, "version": 1, "second": s.second}
    return [Study(TURNS, configuration, lambda: turns(s))]


# The blog post's theorem under PL.


@misprints.claim(
    EXACT, "g(x1)/g(x0) less 1 - δ for g = x²/2 and H = -G", source="Blog post, theorem under PL",
    fails="both terms with β have the wrong sign", control=Set(strength=0.0),
)  # fmt: skip
def pl_theorem_as_printed(e):
    """If |H| ≤ |G|, g falls by the factor 1 - δ a step, δ = μα((2 - αL)(1 + β) + αβ²L)."""
    rate, strength = e.settings.learning_rate, e.settings.strength
    return excess(rate, strength, rate * ((2 - rate) * (1 + strength) + rate * strength**2))


@misprints.claim(
    EXACT, "largest g(x1)/g(x0) less 1 - δ over α, β and angles", kind="corrected",
    source="Blog post, theorem under PL", control=OtherBound(at_most(-0.01)),
)  # fmt: skip
def pl_theorem(e):
    """If |H| ≤ |G|, g falls by the factor 1 - δ a step, δ = μα((2 - αL) - 2β|1 - αL| - αβ²L), and no larger δ does."""
    return max(
        excess(rate, strength, rate * ((2 - rate) - 2 * strength * abs(1 - rate) - rate * strength**2), cosine)
        for rate in np.linspace(0.05, 1.95, 20)
        for strength in np.linspace(0, 1, 11)
        for cosine in np.linspace(-1, 1, 9)
    )


@misprints.claim(
    EXACT, "g(x1)/g(x0) less μ/L at α = 1/L", source="Theorem C.25, Equation 51", fails="it is 1 - μ/L",
    control=Set(pl_constant=0.9),
)  # fmt: skip
def rate_under_pl_as_printed(e):
    """With α = 1/L a μ-PL function falls by the factor μ/L a step."""
    return one_step(e.settings.pl_constant) - e.settings.pl_constant


@misprints.claim(
    EXACT, "largest g(x1)/g(x0) less 1 - μ/L over μ", kind="corrected", source="Theorem C.25, Equation 51",
    control=OtherBound(at_most(-0.3)),
)  # fmt: skip
def rate_under_pl(e):
    """With α = 1/L a μ-PL function falls by the factor 1 - μ/L a step."""
    return max(float(one_step(constant) - (1 - constant)) for constant in np.linspace(0.01, 1, 100))


@misprints.claim(
    below(1), "4g over r²χ at r² = 2g/μ, for g = μx²/2,", source="Theorem C.24; blog post, Assumption 1",
    fails="with equality the inequality is one, and not strict", control=Set(room=1.01),
)  # fmt: skip
def pl_gives_cl_as_printed(e):
    """A μ-PL g is r-CL, 4g < r²χ, for all r² ≥ 2g/μ."""
    constant, point = 0.5, 2.0  # χ = 2μ on every ball
    height = constant * point**2 / 2
    return float(4 * height / (e.settings.room * 2 * height / constant * 2 * constant))


# Constants of Theorems C.10 to C.16.


@misprints.claim(
    at_most(1), "σ_max over √p L₂ of a matrix of ones", source="Theorems C.10, C.14 to C.16 (L = √p L₂)",
    fails="√p is what bounds a row; the matrix needs p", control=Set(size=1),
)  # fmt: skip
def smoothness_as_printed(e):
    """A Hessian with entries up to L₂ has eigenvalues up to √p L₂."""
    return float(np.linalg.norm(np.ones((e.settings.size,) * 2), 2) / np.sqrt(e.settings.size))


@misprints.claim(
    at_most(1 + ROUNDING), "largest σ_max over pL₂ of random symmetric matrices and one of ones", kind="corrected",
    source="Theorems C.10, C.14 to C.16", control=OtherBound(at_most(0.9)),
)  # fmt: skip
def smoothness(e):
    """A Hessian with entries up to L₂ has eigenvalues up to pL₂."""
    random, size = e.settings.random(1), e.settings.size
    drawn = [random.normal(size=(size, size)) for _ in range(e.settings.draws)]
    matrices = [np.ones((size, size)), *(matrix + matrix.T for matrix in drawn)]
    return max(float(np.linalg.norm(matrix, 2) / (size * np.abs(matrix).max())) for matrix in matrices)


@misprints.claim(
    at_most(1), "|H|₂ over L_h for h = |x|₁", source="Theorem C.14 (L_h of |H|_∞)", fails="it is √p there",
    control=Set(size=1),
)  # fmt: skip
def pull_as_printed(e):
    """With L_h the largest entry of a subgradient in the ball, |H|₂ ≤ L_h."""
    pull = np.sign(e.settings.random(2).normal(size=e.settings.size))
    return float(np.linalg.norm(pull) / np.abs(pull).max())


@misprints.claim(
    at_most(1 + ROUNDING), "|H|₂ over √p L_h, largest,", kind="corrected", source="Theorem C.14",
    control=OtherBound(at_most(0.9)),
)  # fmt: skip
def pull(e):
    """|H|₂ ≤ √p L_h."""
    drawn = np.sign(e.settings.random(2).normal(size=(e.settings.draws, e.settings.size)))
    return float((np.linalg.norm(drawn, axis=1) / (np.sqrt(e.settings.size) * np.abs(drawn).max(axis=1))).max())


@misprints.claim(
    at_least(1), "share of a/b for which some ε of the proof does", source="Lemma C.11 (2), proof",
    fails="its γ exceeds every ε that the inequality allows", control=OtherBound(at_most(0)),
)  # fmt: skip
def choice_as_printed(e):
    """γ = (1-τ)/2τ and an ε below (1+τ)/2 have γ < ε and a < ((1-ε)/(1+γ))² b."""
    shares = np.linspace(0.001, 0.999, 300)
    return admissible(lambda tau: [(share * (1 + tau) / 2, (1 - tau) / (2 * tau)) for share in shares])


@misprints.claim(
    at_least(1), "share of a/b for which the choice does", kind="corrected", source="Lemma C.11 (2)",
    control=OtherBound(at_most(0)),
)  # fmt: skip
def choice(e):
    """ε = (1-τ)/3 and γ = (1-τ)/6 do."""
    return admissible(lambda tau: [((1 - tau) / 3, (1 - tau) / 6)])


# Smoothness, convexity, stationarity.


@misprints.claim(
    at_most(1), "largest φ(y) - φ(x) - ⟨y-x, ∇φ(y)⟩ over L|y-x|²/2", source="Blog post, Lemma 1 (first point)",
    control=OtherBound(at_most(0.02)),
)  # fmt: skip
def descent_lemma(e):
    """φ(y) ≤ φ(x) + ⟨y-x, ∇φ(y)⟩ + L|y-x|²/2: with the gradient at y, where the proof has that at x; both are true."""
    x, y, value, gradient, bound = waves(e.settings)
    gap = value(y) - value(x) - ((y - x) * gradient(y)).sum(axis=1)
    return float((gap / (bound * ((y - x) ** 2).sum(axis=1) / 2)).max())


@misprints.claim(
    at_most(1), "largest |∇φ(y) - ∇φ(x)| over |y-x| times the largest |eigenvalue|",
    source="Blog post, Lemma 1 (third point)", control=OtherBound(at_most(0.5)),
)  # fmt: skip
def eigenvalues_bound_smoothness(e):
    """φ is L-smooth if all eigenvalues of its Hessian are in [-L, L]: cos x₁ + cos x₂ /2, with L = 1."""
    random = e.settings.random(4)
    x = random.uniform(-4, 4, size=(20 * e.settings.draws, 2))
    y = x + random.normal(size=x.shape) * 0.1
    change = np.linalg.norm((np.sin(y) - np.sin(x)) * [1.0, 0.5], axis=1)
    return float((change / np.linalg.norm(y - x, axis=1)).max())


@misprints.claim(
    at_least(1 - ROUNDING), "least L⟨∇g(y)-∇g(x), x-y⟩ over |∇g(y)-∇g(x)|²", source="Definition C.3",
    fails="x - y stands for y - x", control=OtherBound(at_most(-1 + ROUNDING)),
)  # fmt: skip
def cocoercive_as_printed(e):
    """For a convex L-smooth g, ⟨∇g(y)-∇g(x), x-y⟩ ≥ |∇g(y)-∇g(x)|²/L."""
    return float(-cocoercivity(e).max())


@misprints.claim(
    at_least(1 - ROUNDING), "least L⟨∇g(y)-∇g(x), y-x⟩ over |∇g(y)-∇g(x)|²", kind="corrected", source="Definition C.3",
    control=OtherBound(at_least(1.5)),
)  # fmt: skip
def cocoercive(e):
    """For a convex L-smooth g, ⟨∇g(y)-∇g(x), y-x⟩ ≥ |∇g(y)-∇g(x)|²/L."""
    return float(cocoercivity(e).min())


@misprints.claim(
    near(0, by=ROUNDING), "(x - 1)² - 1 where its derivative is zero", source="Section 2.2; before Lemma C.27",
    fails="the least value must be 0 as well: the paper's own example of a convex function that is not ZSP",
    control=Set(lowest=0.0),
)  # fmt: skip
def convex_is_zsp_as_printed(e):
    """A convex function that takes its infimum is zero wherever it is stationary."""
    stationary = 1.0
    return float((stationary - 1) ** 2 + e.settings.lowest)


@misprints.claim(
    below(0), "least second derivative of x²/(1+x²), stationary at 0 only,", source="Lemma C.27 (the converse)",
    control=OtherBound(at_least(0)),
)  # fmt: skip
def zsp_is_not_convexity(e):
    """A function can be zero wherever it is stationary and not be convex: x²/(1+x²)."""
    x = np.linspace(-5, 5, 10_001)
    slope = 2 * x / (1 + x**2) ** 2
    if np.any((np.abs(slope) < ROUNDING) & (np.abs(x) > ROUNDING)):
        return None
    return float((2 * (1 - 3 * x**2) / (1 + x**2) ** 3).min())


# Descent on the norm alone, and subgradients of the nuclear norm.


@misprints.claim(
    near(0, by=0), "entries that are not zero less multiples of α", source="Lemma C.31 (3)",
    fails="multiples of α are those that end at zero", control=Set(entries=(3.0, 0.75)),
)  # fmt: skip
def entries_left_as_printed(e):
    """After sign descent on |a|₁ as many entries are not zero as were multiples of α."""
    left, multiples, _ = after_shrinking(e.settings)
    return left - multiples


@misprints.claim(
    near(0, by=0), "entries that are not zero less those that were no multiples of α", kind="corrected",
    source="Lemma C.31 (3)", control=OtherBound(above(0)),
)  # fmt: skip
def entries_left(e):
    """After sign descent on |a|₁ as many entries are not zero as were not multiples of α."""
    left, _, others = after_shrinking(e.settings)
    return left - others


@misprints.claim(
    near(0, by=0), "rank less multiples of α", source="Lemma C.42 (3)", fails="as in Lemma C.31",
    control=Set(entries=(3.0, 0.75)),
)  # fmt: skip
def rank_left_as_printed(e):
    """After descent on |A|_* alone the rank is the number of singular values that were multiples of α."""
    left, multiples, _ = rank_left(e.settings)
    return left - multiples


@misprints.claim(
    near(0, by=0), "rank less singular values that were no multiples of α", kind="corrected", source="Lemma C.42 (3)",
    control=OtherBound(above(0)),
)  # fmt: skip
def rank_left_is(e):
    """After descent on |A|_* alone the rank is the number of singular values that were not multiples of α."""
    left, _, others = rank_left(e.settings)
    return left - others


@misprints.claim(
    EXACT, "largest |H(A - A*) - H(A)|", source="Lemma C.43", fails="Σ - B need not be symmetric", control=Set(skew=0.0)
)
def same_direction_as_printed(e):
    """If A* = UBVᵀ with σ_max(B) < σ_min(A), then H(A - A*) = H(A)."""
    return turned(e.settings, e.settings.skew)


@misprints.claim(
    EXACT, "largest |H(A - A*) - H(A)|", kind="corrected", source="Lemma C.43", control=OtherBound(above(0.1))
)
def same_direction(e):
    """If besides B is symmetric, then H(A - A*) = H(A)."""
    return turned(e.settings, 0.0)


@misprints.claim(
    at_most(1), "largest |H(A - A*) - H(A)| over the bound", source="Lemma C.45",
    fails="A - A* can have a higher rank than A", control=Set(second=2.0),
)  # fmt: skip
def turn_bound_as_printed(e):
    """If σ_min(A) > σ_max(A*), |H(A - A*) - H(A)| ≤ 2√(2 rank A)/(σ_min(A)/σ_max(A*) - 1)."""
    return float((e.tables[TURNS]["measured"] / e.tables[TURNS]["bound"]).max())


@misprints.claim(
    at_most(1 + ROUNDING), "|H(A - A*) - H(A)| over |A*|/c, largest,", kind="corrected", source="Lemma C.45",
    control=OtherBound(at_most(0.5)),
)  # fmt: skip
def turn_bound(e):
    """|H(A - A*) - H(A)| ≤ |A*|/c with c of the smallest singular values of both (theory.wedin_bound)."""
    random = e.settings.random(8)
    pairs = [(random.normal(size=(3, 3)), random.normal(size=(3, 3))) for _ in range(e.settings.draws)]
    found = [lb.theory.wedin_bound(*pair) for pair in pairs]
    ratios = [float((e.tables[TURNS]["measured"] / e.tables[TURNS]["corrected"]).max())]
    return max(ratios + [float(one.measured / one.corrected) for one in found])


@misprints.figure
def misprints_figure(e):
    """Three of them: what is printed, what holds, what is measured."""
    rate = e.settings.learning_rate
    strengths, constants, table = np.linspace(0, 1, 41), np.linspace(0.01, 1, 41), e.tables[TURNS]
    falls = {
        "printed": rate * ((2 - rate) * (1 + strengths) + rate * strengths**2),
        "put right": rate * ((2 - rate) - 2 * strengths * abs(1 - rate) - rate * strengths**2),
    }
    ratios = [excess(rate, strength, 1.0) for strength in strengths]
    lines = (
        three(strengths, 1 - falls["printed"], 1 - falls["put right"], ratios),
        three(constants, constants, 1 - constants, one_step(constants)),
        three(table["size"], *(table[name] for name in ("bound", "corrected", "measured"))),
    )
    axes = (
        (Axis(r"$\beta$"), Axis(r"$g(x_1)/g(x_0)$"), "blog post: PL, $H = -G$"),
        (Axis(r"$\mu/L$"), Axis(r"$g(x_1)/g(x_0)$"), "Theorem C.25"),
        (Axis(r"$\|A^*\|$", "log"), Axis(r"$\|H(A - A^*) - H(A)\|_F$", "log"), "Lemma C.45"),
    )
    drawn = [Panel(traces, across, up, title=title) for traces, (across, up, title) in zip(lines, axes, strict=True)]
    return Figure([drawn])


def three(across, printed, right, measured):
    """A printed bound, the one that holds, and what is measured."""
    return [
        Line(across, measured, "measured", "train", width=2.2, opacity=0.6),
        Line(across, printed, "printed", "printed"),
        Line(across, right, "put right", "theory"),
    ]
