"""The theory of coherence (Appendix G.1): isometry constants, Welch's bound, Proposition G.3, Theorem G.4."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import at_least, at_most, each, near
from latebloom.catalog.controls import Altered, Set
from latebloom.core.fields import count, numbers
from latebloom.figures import Axis, Figure, Line, Panel, Rule

DRAWN, GAUSSIAN, FOURIER = "matrices", "Gaussian measurements", "Fourier basis"


class TheorySettings(Settings):
    rows: int = count(default=8, note="m, of the matrices whose isometry constants are computed")
    columns: int = count(default=14, note="n")
    draws: int = count(default=12, note="matrices with columns of unit norm")
    sparsities: tuple[int, ...] = numbers(default=(2, 3, 4), whole=True, least=2, note="s")
    dimension: int = count(default=200, note="n of Theorem G.4")
    measurements: int = count(default=50, note="N of Theorem G.4")
    exponents: tuple[float, ...] = numbers(default=(0.25, 0.5, 0.75, 1.0), above=0, note="C1 of Theorem G.4")


theory = Entry(
    "beyond-l2/coherence-theory",
    "Coherence and isometry: Welch's bound, Proposition G.3 and Theorem G.4, with numbers",
    "The mutual coherence is the isometry constant of order 2 and bounds the others; Theorem G.4 needs C1 ≤ 1/2.",
    source="Appendix G.1",
    seconds=3,
    settings=TheorySettings(),
    notes=("Isometry constants are computed over all supports.",),
)


def unit_columns(matrix):
    return matrix / np.linalg.norm(matrix, axis=0)


def isometry(matrix, sparsity):
    """δ_s: the largest |A_JᵀA_J - I| over all supports J of s columns."""
    gram, supports = matrix.T @ matrix, combinations(range(matrix.shape[1]), sparsity)
    return max(float(np.abs(np.linalg.eigvalsh(gram[np.ix_(j, j)]) - 1).max()) for j in supports)


def one_norm(matrix, size):
    """The largest |A_JᵀA_J - I| from l1 to l1 over all J of that size."""
    gap = np.abs(matrix.T @ matrix - np.eye(matrix.shape[1]))
    return max(float(gap[np.ix_(j, j)].sum(axis=0).max()) for j in combinations(range(len(gap)), size))


def sampled(matrix, sparsity, random):
    """The largest ||Ax|²/|x|² - 1| over random s-sparse vectors x."""
    worst = 0.0
    for _ in range(200):
        x = np.zeros(matrix.shape[1])
        x[random.permutation(len(x))[:sparsity]] = random.normal(size=sparsity)
        worst = max(worst, abs(float(np.sum((matrix @ x) ** 2) / np.sum(x**2)) - 1))
    return worst


@theory.studies
def theory_studies(s):
    def matrices():
        random, rows = np.random.default_rng(s.seed), []
        for _ in range(s.draws):
            a = unit_columns(random.normal(size=(s.rows, s.columns)))
            for size in s.sparsities:
                rows.append(
                    {
                        "sparsity": size,
                        "delta": isometry(a, size),
                        "delta_next": isometry(a, size + 1),
                        "sampled": sampled(a, size, random),
                        "mu": lb.theory.mutual_coherence(a),
                        "mu1": lb.theory.one_coherence(a, size),
                        "mu1_below": lb.theory.one_coherence(a, size - 1),
                        "one_norm": one_norm(a, size + 1),
                    }
                )
        return {name: np.array([row[name] for row in rows], dtype=float) for name in rows[0]}

    def gaussian():
        random, rows = np.random.default_rng(s.seed), []
        basis = np.linalg.qr(random.normal(size=(s.dimension, s.dimension)))[0]
        for draw in range(20):
            drawn = random.normal(size=(s.measurements, s.dimension))
            for exponent in s.exponents:
                matrix = drawn / s.dimension**exponent
                largest = float(np.abs(matrix @ basis).max())
                rows.append((draw, exponent, lb.theory.coherence(matrix.T, basis), largest))
        draws, exponents, coherences, largest = np.array(rows, dtype=float).T
        return {"draw": draws, "exponent": exponents, "coherence": coherences, "largest": largest}

    def fourier():
        order = np.arange(s.dimension)
        basis = np.exp(-2j * np.pi * np.outer(order, order) / s.dimension) / np.sqrt(s.dimension)
        own = np.abs(basis.conj().T @ basis) - np.eye(s.dimension)
        return {"coherence": np.array([own.max(), np.abs(basis).max()])}

    one = {"rows": s.rows, "columns": s.columns, "draws": s.draws, "sparsities": list(s.sparsities)}
    two = {"dimension": s.dimension, "measurements": s.measurements, "exponents": list(s.exponents)}
    base = {"experiment": theory.id, "version": 1, "seed": s.seed}
    return [
        Study(DRAWN, base | one, matrices),
        Study(GAUSSIAN, base | two, gaussian),
        Study(FOURIER, base | two, fourier),
    ]


def changed(study, **columns):
    """A change of some columns of a study."""

    def change(e):
        found = e.tables[study]
        return replace(e, tables={**e.tables, study: dict(found) | {key: f(found) for key, f in columns.items()}})

    return change


WHOLE = "columns are scaled by 2: no unit norm"


def doubled(found):
    """δ of a matrix with columns of norm 2: eigenvalues four times as large."""
    return 4 * (1 + found["delta"]) - 1


@theory.claim(
    at_most(1 + 1e-12),
    "largest ||Ax|²/|x|² - 1| over δ_s, random sparse x",
    source="Definition G.1",
    control=Altered("δ of one order less", changed(DRAWN, delta=lambda t: t["delta"] / 2)),
)
def isometry_constant(e):
    """|A_JᵀA_J - I| ≤ δ_s for all J is the isometry property: no s-sparse vector is stretched by more."""
    found = e.tables[DRAWN]
    return float((found["sampled"] / found["delta"]).max())


@theory.claim(
    at_least(0),
    "smallest δ_(s+1) - δ_s",
    source="Definition G.1",
    control=Altered("the orders exchanged", changed(DRAWN, delta=lambda t: t["delta_next"] + 0.1)),
)
def grows_with_order(e):
    """δ_s ≤ δ_(s+1)."""
    return float((e.tables[DRAWN]["delta_next"] - e.tables[DRAWN]["delta"]).min())


@theory.claim(
    at_least(1 - 1e-12),
    "smallest μ over √((n-m)/(m(n-1)))",
    source="Appendix G.1, Welch's bound",
    control=Altered("the columns are orthogonal", changed(DRAWN, mu=lambda t: 0 * t["mu"])),
)
def welch(e):
    """The mutual coherence of n unit vectors in m dimensions is at least Welch's bound."""
    return float(e.tables[DRAWN]["mu"].min() / _welch(e.settings))


@theory.claim(
    at_least(1 - 1e-12),
    "smallest μ₁(s) over s times that bound, s ≤ √(n-1)",
    source="Appendix G.1",
    control=Altered("of one column less", changed(DRAWN, mu1=lambda t: t["mu1"] / 4)),
)
def welch_of_sums(e):
    """μ₁(A, s) is at least s times Welch's bound whenever s ≤ √(n-1)."""
    found, s = e.tables[DRAWN], e.settings
    small = found["sparsity"] <= np.sqrt(s.columns - 1)
    return float((found["mu1"] / (found["sparsity"] * _welch(s)))[small].min())


@theory.claim(
    at_most(1e-12), "largest |μ - δ₂|", source="Proposition G.3", control=Altered(WHOLE, changed(DRAWN, delta=doubled))
)
def coherence_is_delta_2(e):
    """With columns of unit norm the mutual coherence is the isometry constant of order 2."""
    found = e.tables[DRAWN]
    two = found["sparsity"] == 2
    return float(np.abs(found["mu"] - found["delta"])[two].max())


@theory.claim(
    at_most(1e-12),
    "largest |μ₁(s) - max|A_JᵀA_J - I|_(1→1)|",
    source="Proposition G.3",
    control=Altered("μ₁ of s-1", changed(DRAWN, mu1=lambda t: t["mu1_below"])),
)
def one_coherence_is_a_norm(e):
    """μ₁(A, s) is the largest norm from l1 to l1 of A_JᵀA_J - I over J of at most s+1 columns."""
    return float(np.abs(e.tables[DRAWN]["mu1"] - e.tables[DRAWN]["one_norm"]).max())


@theory.claim(
    at_most(1 + 1e-12),
    "largest δ_s/μ₁(s-1) and μ₁(s-1)/((s-1)μ)",
    source="Proposition G.3",
    control=Altered(WHOLE, changed(DRAWN, delta=doubled)),
)
def coherence_bounds_isometry(e):
    """δ_s ≤ μ₁(A, s-1) ≤ (s-1)μ(A)."""
    found = e.tables[DRAWN]
    chain = found["delta"] / found["mu1_below"], found["mu1_below"] / ((found["sparsity"] - 1) * found["mu"])
    return float(np.max(chain))


def _welch(s):
    return np.sqrt((s.columns - s.rows) / (s.rows * (s.columns - 1)))


def bound_of(s, exponent):
    """Theorem G.4's bound with C2 = 1."""
    return 2 * np.sqrt(np.log(s.dimension * s.measurements)) / s.dimension**exponent


def shares(e, column):
    """By C1, the share of draws within the bound."""
    s, found = e.settings, e.tables[GAUSSIAN]
    return {f"C1={c:g}": float(np.mean(found[column][found["exponent"] == c] <= bound_of(s, c))) for c in s.exponents}


@theory.claim(
    each(at_least(0.9)),
    "share of draws within the bound (C2 = 1), by C1,",
    source="Theorem G.4",
    fails="Definition G.2 normalises the columns, so that C1 drops out of the left side: it needs C1 ≤ 1/2",
    control=Set(exponents=(0.25, 0.5)),
)
def gaussian_as_printed(e):
    """For n^C1 M standard normal, μ(Mᵀ, Φ) ≤ 2 C2 √ln(nN)/n^C1 with high probability, for any C1 > 0."""
    return shares(e, "coherence")


@theory.claim(
    each(at_least(0.9)),
    "share of draws within the bound (C2 = 1), by C1,",
    source="corrects the previous claim",
    kind="corrected",
    control=Altered("the coherence in its place", changed(GAUSSIAN, largest=lambda t: t["coherence"])),
)
def largest_entry(e):
    """What the proof bounds is the largest entry of MΦ, without the norms of the rows."""
    return shares(e, "largest")


@theory.claim(
    at_least(0.5),
    "mutual coherence of the Fourier basis over 1/√n",
    source="Example G.1",
    fails="an orthonormal basis has mutual coherence 0; 1/√n is that of the basis with the identity",
)
def fourier_as_printed(e):
    """For the Fourier basis μ₁(Φ, s) = s μ(Φ) = s/√n."""
    return float(np.sqrt(e.settings.dimension) * e.tables[FOURIER]["coherence"][0])


@theory.claim(
    near(1, by=1e-9),
    "coherence of the Fourier basis with the identity over 1/√n",
    source="corrects the previous claim",
    kind="corrected",
)
def fourier_with_identity(e):
    """1/√n is the coherence of the Fourier basis with the standard one."""
    return float(np.sqrt(e.settings.dimension) * e.tables[FOURIER]["coherence"][1])


@theory.figure
def theory_figure(e):
    s, drawn, gauss = e.settings, e.tables[DRAWN], e.tables[GAUSSIAN]
    left = [
        Line(drawn["mu1_below"], drawn["delta"], "drawn", "test", "points"),
        Line([0, drawn["mu1_below"].max()], [0, drawn["mu1_below"].max()], r"$\delta_s = \mu_1(s-1)$", "theory"),
    ]
    right = [
        Line(gauss["exponent"], gauss["coherence"], r"$\mu(M^T, \Phi)$", "test", "points"),
        Line(s.exponents, [bound_of(s, c) for c in s.exponents], "bound of Theorem G.4", "theory"),
        Rule(0.5, "$C_1 = 1/2$"),
    ]
    first = Panel(left, Axis(r"$\mu_1(A, s-1)$"), Axis(r"$\delta_s(A)$"))
    return Figure([[first, Panel(right, Axis("$C_1$"), Axis("coherence", "log"))]])
