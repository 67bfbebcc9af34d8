"""Coherent measurements (Appendix G.1.3): what basis pursuit needs (Figures 19 and 20)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.bounds import at_most, holds, within
from latebloom.catalog.controls import Altered, Set
from latebloom.catalog.measures import distance
from latebloom.core.fields import count, numbers
from latebloom.core.progress import tracked
from latebloom.figures import Axis, Figure, Heat, Line, Panel, Rule, panels

RECOVERED = 1e-6  # an error of basis pursuit this small is perfect recovery
MINIMUM, DIAGRAM = "smallest number of measurements", "phase diagram"
FULL_COUNTS = tuple(range(10, 101, 10))


class MinimumSettings(Settings):
    dimension: int = count(default=100, note="n, entries of the vector")
    sparsities: tuple[int, ...] = numbers(default=(1, 3, 5, 10, 15, 20, 30), whole=True, least=1, note="s")
    coherences: tuple[float, ...] = numbers(default=(0.0, 0.25, 0.5, 0.75, 0.9, 1.0), least=0, most=1, note="τ")
    draws: int = count(default=2, note="vectors and measurements per cell")
    measurements: int = count(default=30, note="N at which the coherence is shown")


class DiagramSettings(Settings):
    dimension: int = count(default=100, note="n, entries of the vector")
    sparsities: tuple[int, ...] = numbers(default=(1, 2, 3, 5, 7, 10, 15, 20, 25, 30), whole=True, least=1, note="s")
    counts: tuple[int, ...] = numbers(default=FULL_COUNTS, whole=True, least=1, note="N, measurements")
    coherences: tuple[float, ...] = numbers(default=(0.0, 0.4, 0.8), least=0, most=1, note="τ")


fig19 = Entry(
    "beyond-l2/fig19",
    "Coherence, and the smallest number of measurements for perfect recovery",
    "The number of measurements that perfect recovery needs grows with sparsity and coherence.",
    source="Appendix G.1.3, Figure 19",
    seconds=8,
    settings=MinimumSettings(),
    notes=("The oracle is our certified basis pursuit in place of cvxpy; no noise.",),
)
fig20 = Entry(
    "beyond-l2/fig20",
    "Phase diagrams of basis pursuit over N, s and coherence",
    "The region of perfect recovery in (N, s) shrinks as the coherence τ grows.",
    source="Appendix G.1.3, Figure 20",
    seconds=3,
    settings=DiagramSettings(),
    notes=("The oracle is our certified basis pursuit in place of cvxpy; no noise.",),
)


def noiseless(s, count, sparsity, coherence, seed):
    """A draw without noise."""
    scale = {"signal_to_noise": np.inf, "normalise": "rows"}
    return lb.problems.SparseRecovery(s.dimension, sparsity, count, coherence=coherence, seed=seed, **scale)


def recovery_error(*draw):
    """The relative error of basis pursuit on a noiseless draw; 1 where it is not solved."""
    problem = noiseless(*draw)
    oracle = lb.oracles.basis_pursuit(problem)
    return distance(oracle.solution, problem.truth) if oracle.solved else 1.0


def smallest_count(s, sparsity, coherence, seed):
    """The smallest N from which basis pursuit recovers, by bisection (recovery is monotone in N up to chance)."""
    low, high = sparsity - 1, s.dimension
    while high - low > 1:
        middle = (low + high) // 2
        recovered = recovery_error(s, middle, sparsity, coherence, seed) <= RECOVERED
        low, high = (low, middle) if recovered else (middle, high)
    return high


def table(axes, column, measure):
    """A column per axis of a grid, and one of what is measured in each cell."""
    cells = list(product(*axes.values()))
    values = [measure(*cell) for cell in tracked(cells, "basis pursuit")]
    columns = dict(zip(axes, zip(*cells, strict=True), strict=True)) | {column: values}
    return {name: np.array(values, dtype=float) for name, values in columns.items()}


def identity(entry, s, **sizes):
    """What a table depends on; the printed dimension goes without saying."""
    sizes |= {} if s.dimension == entry.settings.dimension else {"dimension": s.dimension}
    grid = {"taus": list(s.coherences), "sparsities": list(s.sparsities)}
    return {"experiment": entry.id, "version": 1, "seed": s.seed, **grid, **sizes}


@fig19.studies
def fig19_studies(s):
    def measure(coherence, sparsity, draw):
        return smallest_count(s, sparsity, coherence, 1000 * s.seed + draw)

    axes = {"tau": s.coherences, "sparsity": s.sparsities, "draw": range(s.draws)}
    return [Study(MINIMUM, identity(fig19, s, draws=s.draws), lambda: table(axes, "count", measure))]


@fig20.studies
def fig20_studies(s):
    def measure(coherence, sparsity, count):
        return recovery_error(s, count, sparsity, coherence, s.seed)

    axes = {"tau": s.coherences, "sparsity": s.sparsities, "count": s.counts}
    return [Study(DIAGRAM, identity(fig20, s, counts=list(s.counts)), lambda: table(axes, "error", measure))]


def _misplaced(e):
    """The evidence with what was measured in the cells in the wrong order; in fig20 N is an axis, too."""
    (study, table), *_ = e.tables.items()
    measured = "count" if study == MINIMUM else "error"
    return replace(e, tables={study: dict(table) | {measured: table[measured][::-1]}})


def _imprecise(e):
    """The evidence of an oracle that does not go below an error of 1e-4."""
    found = dict(e.tables[DIAGRAM])
    return replace(e, tables={DIAGRAM: found | {"error": np.maximum(found["error"], 1e-4)}})


MISPLACED = Altered("the cells' values in the wrong order", _misplaced)


def mean_count(e, **cell):
    """The mean smallest N where τ, or the sparsity, or both, are these."""
    found = e.tables[MINIMUM]
    counts = found["count"][np.all([found[axis] == value for axis, value in cell.items()], axis=0)]
    if not len(counts):
        raise LookupError(f"nothing was measured at {cell}")
    return float(counts.mean())


@fig19.claim(
    holds("mean over s of the smallest N strictly increasing in τ"),
    source="Appendix G.1.3, Figure 19b",
    rate=0.8,
    control=MISPLACED,
)
def minimum_grows_with_coherence(e):
    """As τ increases, the number of samples needed for perfect recovery increases."""
    means = [mean_count(e, tau=tau) for tau in e.settings.coherences]
    return [round(mean, 1) for mean in means], bool(np.all(np.diff(means) > 0))


@fig19.claim(
    holds("mean smallest N at τ=0 strictly increasing in s"),
    source="Appendix G.1.3, Figure 19b",
    rate=0.6,
    control=MISPLACED,
)
def minimum_grows_with_sparsity(e):
    """As s increases, the number of samples needed for perfect recovery increases."""
    means = [mean_count(e, tau=0, sparsity=sparsity) for sparsity in e.settings.sparsities]
    return means, bool(np.all(np.diff(means) > 0))


@fig19.claim(
    holds("mean smallest N at τ=1 at least {share:.0%} of n", share=0.99),
    source="Appendix G.1.3",
    fails="it is enough to have measured the support",
    control=Set(sparsities=(100,), coherences=(1.0,), draws=1),
)
def full_coherence_as_printed(e, share):
    """When τ converges to 1 the number converges to n for all s."""
    mean = mean_count(e, tau=1)
    return mean, mean >= share * e.settings.dimension


@fig19.claim(
    within(0, 0),
    "largest difference in all draws",
    id="full-coherence-needs-the-support",
    source="corrects the previous claim",
    kind="corrected",
)
def last_of_support(e):
    """At τ=1 measurement i reads component i: the smallest N is the last index of the support of a*."""
    s, found, gaps = e.settings, e.tables[MINIMUM], []
    for row in np.flatnonzero(found["tau"] == 1):
        seed = 1000 * s.seed + int(found["draw"][row])
        truth = np.asarray(noiseless(s, 1, int(found["sparsity"][row]), 1.0, seed).truth)
        gaps.append(abs(found["count"][row] - (np.flatnonzero(truth)[-1] + 1)))
    return float(max(gaps))


def coherence_of(s):
    """τ from 0 to 1, and the coherence of the measurements at each.

    X = MΦ with Φ orthonormal: the coherence of the rows of M with Φ is that of the rows of X with the identity.
    """
    taus = np.linspace(0, 1, 11)
    rows = [np.asarray(noiseless(s, s.measurements, 1, float(tau), s.seed).design) for tau in taus]
    return taus, np.array([lb.theory.coherence(x.T, np.eye(s.dimension)) for x in rows])


@fig19.claim(
    holds("coherence below {low:g} at τ=0 and 1 as soon as one measurement is a column of Φ", low=0.6),
    source="Appendix G.1.2, Figure 19a",
    control=Set(measurements=1, sparsities=(1,), coherences=(1.0,), draws=1),
)
def coherence_jumps(e, low):
    """The higher τ, the less is the incoherence between the measurements and Φ."""
    _, values = e.cached(coherence_of, e.settings)
    return [round(float(v), 3) for v in values], bool(values[0] < low and np.all(values[1:] > 0.999))


@fig19.figure
def fig19_figure(e):
    s, minimum = e.settings, []
    for place, tau in enumerate(s.coherences):
        means = [mean_count(e, tau=tau, sparsity=sparsity) for sparsity in s.sparsities]
        shade = panels.shade_of(place, len(s.coherences))
        minimum.append(Line(s.sparsities, means, rf"$\tau$ = {tau:g}", marks="linked", shade=shade))
    minimum.append(Rule(s.dimension, "$n$", across="y"))
    coherence = [Line(*e.cached(coherence_of, s), marks="linked")]
    left = Panel(coherence, Axis(r"coherence parameter $\tau$"), Axis(r"coherence $\mu(M^T, \Phi)$"))
    right = Panel(minimum, Axis("sparsity $s$"), Axis("smallest $N$ for recovery"))
    return Figure([[left, right]])


def errors_at(e, tau):
    """The errors of basis pursuit at one τ, a row per sparsity and a column per number of measurements."""
    found = e.tables[DIAGRAM]
    return found["error"][found["tau"] == tau].reshape(len(e.settings.sparsities), len(e.settings.counts))


@fig20.claim(holds("recovered share of the (N, s) grid strictly falling in τ"), rate=0.9, control=MISPLACED)
def region_shrinks(e):
    """The region of perfect recovery shrinks as τ increases."""
    shares = [float(np.mean(errors_at(e, tau) <= RECOVERED)) for tau in e.settings.coherences]
    return shares, bool(np.all(np.diff(shares) < 0))


@fig20.claim(at_most(0.03), "share of neighbours in which adding measurements loses a recovery,", kind="ours", rate=0.9)
def sharp_phase(e):
    """There is a smallest N(s, τ) above which recovery is perfect."""
    good = [errors_at(e, tau) <= RECOVERED for tau in e.settings.coherences]
    return float(np.mean([(image[:, :-1] & ~image[:, 1:]).mean() for image in good]))


@fig20.claim(
    at_most(0.01),
    "share of cells with an error between 1e-6 and 1e-2",
    source="Appendix G.1.3",
    rate=0.9,
    control=Altered("a solver that stops at 1e-4", _imprecise),
)
def all_or_nothing(e):
    """The error is of the order of 1e-6 or less where recovery is perfect, and of order one where it is not."""
    errors = e.tables[DIAGRAM]["error"]
    return float(np.mean((errors > RECOVERED) & (errors < 1e-2)))


@fig20.figure
def fig20_figure(e):
    s, shown = e.settings, []
    axes = Axis("measurements $N$"), Axis("sparsity $s$")
    for place, tau in enumerate(s.coherences):
        values, last = np.log10(np.maximum(errors_at(e, tau), 1e-8)), place == len(s.coherences) - 1
        heat = Heat(s.counts, s.sparsities, values, r"$\log_{10}$ relative error", low=-8, high=0, bar=last)
        shown.append(Panel([heat], *axes, title=rf"$\tau$ = {tau:g}", grid=False))
    return Figure([shown])
