"""Which measurements find a matrix: leverage sampling, matrices of one entry, coherent sensing, degrees of freedom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study, any_draw
from latebloom.catalog.bounds import at_least, at_most, each, holds, near, within
from latebloom.catalog.controls import Altered
from latebloom.catalog.measures import log_slope
from latebloom.core.fields import count, numbers
from latebloom.core.seeds import generator
from latebloom.figures import Axis, Figure, Line, Panel

SAMPLING, ONE_ENTRY, SENSING, SIZES, FREEDOM = "sampling", "one entry", "sensing", "sizes", "degrees of freedom"
FLAT = -1.0  # stands for singular vectors of entries ±1/√n, in the place of an exponent
SMALL_CONSTANT = 0.02  # c0 at which few probabilities are cut off at 1


class SamplingSettings(Settings):
    """Planted matrices whose rows and columns count more or less evenly."""

    side: int = count(default=10, note="n1 = n2")
    rank: int = count(default=1, note="r")
    expected: int = count(default=55, note="expected number of observed entries, drawn independently")
    draws: int = count(default=20, note="of every share")
    exponents: tuple[float, ...] = numbers(
        default=(FLAT, 0, 1, 2), note="a: the i-th row of U and V has weight i^-a; -1 for entries ±1/√n"
    )
    coherences: tuple[float, ...] = numbers(default=(0, 0.1, 0.2, 1), least=0, most=1, note="τ, of matrix sensing")
    sensing_rank: int = count(default=2, note="r, of matrix sensing")
    measurements: int = count(default=50, note="N, of matrix sensing")
    sides: tuple[int, ...] = numbers(default=(20, 40, 80, 160, 320), whole=True, least=4, note="n, of the counts")

    def truth(self, exponent, draw, side=None):
        """A matrix of rank r with equal singular values and this weight of its rows and columns."""
        n = self.side if side is None else side
        random = generator(1000 * self.seed + draw, "truth")
        if exponent == FLAT:
            u, v = (random.choice([-1.0, 1.0], size=(n, self.rank)) / np.sqrt(n) for _ in range(2))
        else:
            weights = (np.arange(1, n + 1.0) ** -exponent)[:, None]
            u, v = (np.linalg.qr(weights * random.normal(size=(n, self.rank)))[0] for _ in range(2))
        return u @ v.T / np.sqrt(self.rank)


theorem_g12 = Entry(
    "beyond-l2/thm-g12",
    "Local coherence sampling, matrices of one entry, coherent sensing, degrees of freedom",
    "Entries drawn with probability in proportion to their leverage recover every draw where uniform ones do not.",
    source="Section 3.4, Appendices G.2.1 and G.2.2, Theorem G.12",
    seconds=15,
    settings=SamplingSettings(),
    notes=(
        "The theorem's constant c0 is not known. Here it is the one with which as many entries are expected as in the "
        "uniform draw beside it.",
        "On ten other seeds the smallest share with leverage sampling is 0.65 to 1. What is missed are flat matrices, "
        "for which it is uniform sampling: at this size a row may get no entry.",
        "A draw counts as recovered if the minimum of the nuclear norm is the planted matrix, by its certificate.",
    ),
)


@theorem_g12.studies
def theorem_g12_studies(s):
    told = {"experiment": "beyond-l2/thm-g12", "settings": s.text}
    parts: dict[str, Callable] = {
        SAMPLING: measure_sampling,
        ONE_ENTRY: measure_one_entry,
        SENSING: measure_sensing,
        SIZES: measure_sizes,
        FREEDOM: measure_freedom,
    }
    return [Study(name, told, lambda part=part: part(s)) for name, part in parts.items()]


def probabilities(truth, expected):
    """Those of Theorem G.12, with the c0 that lets so many entries be expected."""
    low, high = 1e-9, 1e3
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if lb.theory.expected_samples(truth, middle) < expected else (low, middle)
    return lb.theory.sampling_probabilities(truth, high)


def distance_found(truth, mask):
    """Whether the oracle certifies the truth, and how far its matrix is from it."""
    with any_draw():
        problem = lb.problems.ObservedEntries(truth.shape, mask, truth[mask], truth=truth)
    answer = lb.oracles.min_nuclear_norm(problem)
    return answer.recovery == "recovered", float(np.linalg.norm(answer.solution - truth))


def measure_sampling(s):
    """By exponent: coherences, and the share of draws recovered with uniform and with leverage sampling."""
    rows = []
    for exponent in s.exponents:
        found = []
        for draw in range(s.draws):
            truth, random = s.truth(exponent, draw), generator(1000 * s.seed + draw, "entries")
            scores, even = lb.theory.leverage_scores(truth), np.full(truth.shape, s.expected / truth.size)
            chances = random.random(truth.shape)
            masks = [chances < even, chances < probabilities(truth, s.expected)]
            hits = [distance_found(truth, mask)[0] for mask in masks]
            counts = [mask.sum() for mask in masks]
            found.append([scores.mu0, scores.mu1 / (scores.mu0 * np.sqrt(s.rank)), *hits, *counts])
        rows.append(np.mean(np.array(found, dtype=float), axis=0))
    names = ("mu0", "mu1", "uniform", "leverage", "uniform_count", "leverage_count")
    return {"exponent": np.array(s.exponents, dtype=float), **dict(zip(names, np.array(rows).T, strict=True))}


def measure_one_entry(s):
    """Of e_k e_lᵀ: the distance that the oracle leaves, from uniform entries and from those of Theorem G.12."""
    truth, rows = np.zeros((s.side, s.side)), []
    truth[0, 0] = 1.0
    chances = lb.theory.sampling_probabilities(truth)
    for draw in range(s.draws):
        random = generator(1000 * s.seed + draw, "entries")
        mask, chosen = random.random(truth.shape) < s.expected / truth.size, random.random(truth.shape) < chances
        away, coherent = (distance_found(truth, seen)[1] for seen in (mask, chosen))
        rows.append([mask[0, 0], away, coherent, chosen.sum()])
    names = ("seen", "distance", "coherent", "coherent_count")
    return dict(zip(names, np.array(rows, dtype=float).T, strict=True))


def measure_sensing(s):
    """By τ: the mean over measurements of their largest cosine with a column of V* ⊗ U*, and the share recovered."""
    rows = []
    for tau in s.coherences:
        found = []
        for draw in range(s.draws):
            problem = lb.problems.MatrixSensing(
                (s.side, s.side),
                s.sensing_rank,
                s.measurements,
                coherence=tau,
                normalise="columns",
                seed=1000 * s.seed + draw,
            )
            u, _, vt = np.linalg.svd(np.asarray(problem.truth))
            basis = np.einsum("ia,bj->ijab", u, vt).reshape(s.side**2, -1)
            design = np.asarray(problem.design)
            cosines = np.abs(design @ basis) / np.linalg.norm(design, axis=1, keepdims=True)
            word = lb.oracles.min_nuclear_norm(problem).recovery
            found.append([cosines.max(axis=1).mean(), word == "recovered"])
        rows.append(np.mean(np.array(found, dtype=float), axis=0))
    return {"tau": np.array(s.coherences, dtype=float), **dict(zip(("cosine", "share"), np.array(rows).T, strict=True))}


def measure_sizes(s):
    """The expected number of entries of Theorem G.12 at a small c0, by the side of the matrix."""
    expected = [lb.theory.expected_samples(s.truth(0, 0, side), SMALL_CONSTANT) for side in s.sides]
    return {"side": np.array(s.sides, dtype=float), "expected": np.array(expected)}


def measure_freedom(s):
    """By rank: how many directions U Vᵀ moves in, and how many are seen by one measurement less and by as many."""
    random, rows = generator(s.seed, "freedom"), []
    for rank in range(1, s.side // 2 + 1):
        u, v = (random.normal(size=(s.side, rank)) for _ in range(2))
        eye = np.eye(s.side)
        tangent = np.hstack([np.kron(eye, v), np.kron(u, eye)])  # of row-wise entries, in U and in V
        count = np.linalg.matrix_rank(tangent)
        design = random.normal(size=(count, s.side**2))
        fewer, enough = (np.linalg.matrix_rank(design[:n] @ tangent) for n in (count - 1, count))
        rows.append([rank, count, count - fewer, count - enough])
    return dict(zip(("rank", "directions", "fewer", "enough"), np.array(rows, dtype=float).T, strict=True))


def with_table(evidence, name, **columns):
    """The evidence with other columns in one of its tables."""
    return replace(evidence, tables={**evidence.tables, name: {**evidence.tables[name], **columns}})


def samplings_exchanged(evidence):
    table = evidence.tables[SAMPLING]
    return with_table(evidence, SAMPLING, uniform=table["leverage"], leverage=table["uniform"])


@theorem_g12.claim(
    each(at_least(0.3)),
    "share recovered with leverage sampling less that with uniform sampling of as many, where leverage is uneven,",
    source="Appendix G.2.2, Theorem G.12",
    control=Altered("the two samplings have changed places", samplings_exchanged),
)
def leverage_sampling(e):
    """Entries drawn with probability in proportion to μ_i + ν_j recover A* from fewer samples."""
    table = e.tables[SAMPLING]
    return (table["leverage"] - table["uniform"])[1:].round(3).tolist()


@theorem_g12.claim(
    at_least(0.6),
    "smallest share recovered, over matrices of every coherence,",
    source="Theorem G.12: with high probability, of any coherence",
    control=Altered("the two samplings have changed places", samplings_exchanged),
)
def whatever_the_coherence(e):
    """With these probabilities a matrix is recovered with high probability, whatever its coherence."""
    return float(e.tables[SAMPLING]["leverage"].min())


@theorem_g12.claim(
    holds("with uniform sampling the share of the flattest matrix is at least {by:g} above that of the last", by=0.3),
    source="Section 3.4, Theorem G.11",
)
def low_coherence_needs_fewer(e, by):
    """Uniformly low coherence, μ_i and ν_j near 1, reduces the number of samples that exact recovery needs."""
    shares = e.tables[SAMPLING]["uniform"]
    return shares.round(3).tolist(), bool(shares[0] >= shares[-1] + by)


def unscaled(evidence):
    return with_table(evidence, SAMPLING, mu0=evidence.tables[SAMPLING]["mu0"] / evidence.settings.side)


@theorem_g12.claim(
    each(within(1 - 1e-9, 10 + 1e-9)),
    "mean coherence by exponent (n/r is 10)",
    source="Definition G.8",
    control=Altered("the factor n/r is left out", unscaled),
)
def coherence_range(e):
    """The coherence of a subspace is between 1 and n/r."""
    return e.tables[SAMPLING]["mu0"].tolist()


def without_root(evidence):
    return with_table(evidence, SAMPLING, mu1=evidence.tables[SAMPLING]["mu1"] * evidence.settings.side)


@theorem_g12.claim(
    each(at_most(1 + 1e-9)),
    "μ1 over μ0√r, by exponent,",
    source="Appendix G.2.2",
    control=Altered("μ1 is larger by the side", without_root),
)
def second_coherence(e):
    """μ0√r is large enough for μ1, the bound on the entries of UVᵀ."""
    return e.tables[SAMPLING]["mu1"].tolist()


def all_entries(evidence):
    return with_table(evidence, SIZES, expected=evidence.tables[SIZES]["side"] ** 2)


@theorem_g12.claim(
    near(1, by=0.1),
    "slope of log(N / log²(2n)) in log n, at c0 = 0.02,",
    source="Theorem G.12",
    control=Altered("all entries are observed", all_entries),
)
def sample_size(e):
    """The number of samples is of order max(n1, n2) r log²(n1 + n2)."""
    table = e.tables[SIZES]
    return log_slope(table["side"], table["expected"] / np.log(2 * table["side"]) ** 2)


def another_entry(evidence):
    return with_table(evidence, ONE_ENTRY, seen=1 - evidence.tables[ONE_ENTRY]["seen"])


@theorem_g12.claim(
    holds(
        "distance above {far:g} in every draw without its entry, below {near:g} in every draw with it",
        far=0.5,
        near=1e-3,
    ),
    source="Appendix G.2.2",
    control=Altered("the entry is seen where it is not", another_entry),
)
def one_entry_needs_itself(e, far, near):
    """The matrix e_k e_lᵀ is found only where its one entry is observed, however many others are."""
    table = e.tables[ONE_ENTRY]
    seen, away = table["seen"] > 0, table["distance"]
    found = {"seen": float(seen.mean()), "least without": away[~seen].min(), "largest with": away[seen].max()}
    return found, bool(found["least without"] > far and found["largest with"] < near)


def uniform_entries(evidence):
    return with_table(evidence, ONE_ENTRY, coherent=evidence.tables[ONE_ENTRY]["distance"])


@theorem_g12.claim(
    holds(
        "largest distance at most {most:g} over the draws, from at most {share:.0%} of the entries",
        most=1e-3,
        share=0.25,
    ),
    source="Appendix G.2.2",
    control=Altered("the entries are uniform", uniform_entries),
)
def coherent_choice_finds_it(e, most, share):
    """Measurements chosen coherently with its singular vectors find it."""
    table, size = e.tables[ONE_ENTRY], e.settings.side**2
    found = {"distance": float(table["coherent"].max()), "share": float(table["coherent_count"].mean() / size)}
    return found, found["distance"] <= most and found["share"] <= share


@theorem_g12.claim(
    holds("strictly growing in τ until the n1 singular vectors are used up, the same from there on"),
    source="Appendix G.2.2",
)
def sensing_coherence(e):
    """In matrix sensing the measurements are the less incoherent with V* ⊗ U* the higher τ."""
    s, values = e.settings, e.tables[SENSING]["cosine"]
    used = [min(int(tau * s.measurements + 1e-9), s.side) for tau in s.coherences]
    rises = [
        b > a if more > less else a == b for a, b, less, more in zip(values, values[1:], used, used[1:], strict=False)
    ]
    return values.round(4).tolist(), all(rises)


@theorem_g12.claim(
    holds("share recovered at τ = 0 at most {low:g}, at every τ ≥ 0.1 at least {high:g}", low=0.5, high=0.9),
    source="ours, beside Appendix G.2.2",
    kind="ours",
)
def coherent_sensing_recovers(e, low, high):
    """A few measurements along the singular vectors let matrix sensing recover from too few others."""
    shares = e.tables[SENSING]["share"]
    return shares.tolist(), bool(shares[0] <= low and shares[1:].min() >= high)


@theorem_g12.claim(
    holds("the number of directions in which U Vᵀ moves, for every r up to n/2"), source="Appendix G.2.1, footnote 10"
)
def degrees_of_freedom(e):
    """A matrix of rank r has r(n1 + n2 - r) degrees of freedom."""
    side, found = e.settings.side, e.tables[FREEDOM]["directions"]
    told = [lb.theory.degrees_of_freedom((side, side), 1 + place) for place in range(len(found))]
    return found.tolist(), found.tolist() == told


def as_many(evidence):
    return with_table(evidence, FREEDOM, fewer=evidence.tables[FREEDOM]["enough"])


@theorem_g12.claim(
    holds("directions unseen by one measurement less: {one}; by as many as there are degrees of freedom: none", one=1),
    source="Appendix G.2.1",
    control=Altered("no measurement is left out", as_many),
)
def as_many_measurements(e, one):
    """At least as many measurements are needed, or a direction remains in which the matrix can move unseen."""
    table = e.tables[FREEDOM]
    found = {"fewer": table["fewer"].tolist(), "enough": table["enough"].tolist()}
    return found, bool(np.all(table["fewer"] == one) and np.all(table["enough"] == 0))


@theorem_g12.figure
def theorem_g12_figure(e):
    table, sensing = e.tables[SAMPLING], e.tables[SENSING]
    shares = [
        Line(table["mu0"], table["uniform"], "uniform", "grey", "linked"),
        Line(table["mu0"], table["leverage"], r"$p_{ij} \propto \mu_i + \nu_j$", "test", "linked"),
    ]
    share = Axis("share recovered", low=-0.05, high=1.05)
    left = Panel(shares, Axis(r"coherence $\mu_0$ (mean)"), share, title="completion", legend=(0.45, 0.62))
    rows = [Line(sensing["tau"], sensing["share"], "", "test", "linked")]
    middle = Panel(rows, Axis(r"coherence $\tau$"), share, title="rank-one sensing", legend=None)
    freedom = e.tables[FREEDOM]
    side = e.settings.side
    counted = [Line(freedom["rank"], freedom["directions"], "directions of $UV^T$", "norm", "points")]
    told = [lb.theory.degrees_of_freedom((side, side), int(rank)) for rank in freedom["rank"]]
    counted.append(Line(freedom["rank"], told, "$r(n_1 + n_2 - r)$", "theory", "dashed"))
    right = Panel(counted, Axis("rank $r$"), Axis("degrees of freedom"), legend="lower right")
    return Figure([[left, middle, right]], height=2.3)
