"""Coherent measurements (Appendix G.1.3): what basis pursuit needs (Figures 19, 20) and what descent does (21, 22)."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Settings, Study
from latebloom.catalog.beyond_l2.draws import LooseSettings
from latebloom.catalog.bounds import at_least, at_most, below, holds, within
from latebloom.catalog.measures import distance
from latebloom.core.fields import count, numbers
from latebloom.core.progress import tracked
from latebloom.figures import Axis, Figure, Heat, Line, Panel, Rule, panels

RECOVERED = 1e-6  # an error of basis pursuit this small is perfect recovery
MINIMUM, DIAGRAM = "smallest number of measurements", "phase diagram"
NAME = "N={measurements}, τ={coherence:g}, draw {draw}"
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


class CoherenceSettings(LooseSettings):
    sparsity: int = count(default=5, note="s, entries that are not zero")
    counts: tuple[int, ...] = numbers(default=(30, 50, 70, 90), whole=True, least=1, note="N, measurements")
    coherences: tuple[float, ...] = numbers(default=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0), least=0, most=1, note="τ")
    draws: int = count(default=2, note="vectors and measurements per cell")
    steps: int = count(default=500_000)


NOTES = (
    "Measurements of variance 1/n, as printed: all rows have about unit norm, whether random or columns of Φ.",
    "Milestones at a relative error of 1e-2, which the l1 bias at this scale allows everywhere.",
    "A run that has not generalised counts as later than one that has.",
)
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
fig21 = Entry(
    "beyond-l2/fig21",
    "Training and recovery error against the step, for each coherence and number of measurements",
    "Coherent measurements delay generalisation; at τ=1 there is none unless the support was measured.",
    source="Appendix G.1.3, Figure 21",
    seconds=25,
    settings=CoherenceSettings(),
    full={"counts": FULL_COUNTS},
    notes=NOTES,
)
fig22 = Entry(
    "beyond-l2/fig22",
    "Errors, memorisation and generalisation steps against the number of measurements, for each coherence",
    "Generalisation time and error grow with coherence.",
    source="Appendix G.1.3, Figure 22",
    seconds=25,
    settings=CoherenceSettings(),
    full={"counts": FULL_COUNTS},
    notes=(*NOTES, "A missing point did not generalise in at least one draw."),
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


def mean_count(e, **cell):
    """The mean smallest N where τ, or the sparsity, or both, are these."""
    found = e.tables[MINIMUM]
    counts = found["count"][np.all([found[axis] == value for axis, value in cell.items()], axis=0)]
    if not len(counts):
        raise LookupError(f"nothing was measured at {cell}")
    return float(counts.mean())


@fig19.claim(
    holds("mean over s of the smallest N strictly increasing in τ"), source="Appendix G.1.3, Figure 19b", rate=0.8
)
def minimum_grows_with_coherence(e):
    """As τ increases, the number of samples needed for perfect recovery increases."""
    means = [mean_count(e, tau=tau) for tau in e.settings.coherences]
    return [round(mean, 1) for mean in means], bool(np.all(np.diff(means) > 0))


@fig19.claim(holds("mean smallest N at τ=0 strictly increasing in s"), source="Appendix G.1.3, Figure 19b", rate=0.6)
def minimum_grows_with_sparsity(e):
    """As s increases, the number of samples needed for perfect recovery increases."""
    means = [mean_count(e, tau=0, sparsity=sparsity) for sparsity in e.settings.sparsities]
    return means, bool(np.all(np.diff(means) > 0))


@fig19.claim(
    holds("mean smallest N at τ=1 at least {share:.0%} of n", share=0.99),
    source="Appendix G.1.3",
    fails="it is enough to have measured the support",
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
    right = Panel(minimum, Axis("sparsity $s$"), Axis("smallest $N$ for recovery"), legend_columns=2)
    return Figure([[left, right]], height=2.4)


def errors_at(e, tau):
    """The errors of basis pursuit at one τ, a row per sparsity and a column per number of measurements."""
    found = e.tables[DIAGRAM]
    return found["error"][found["tau"] == tau].reshape(len(e.settings.sparsities), len(e.settings.counts))


@fig20.claim(holds("recovered share of the (N, s) grid strictly falling in τ"), rate=0.9)
def region_shrinks(e):
    """The region of perfect recovery shrinks as τ increases."""
    shares = [float(np.mean(errors_at(e, tau) <= RECOVERED)) for tau in e.settings.coherences]
    return shares, bool(np.all(np.diff(shares) < 0))


@fig20.claim(at_most(0.03), "share of neighbours in which adding measurements loses a recovery,", rate=0.9)
def sharp_phase(e):
    """There is a smallest N(s, τ) above which recovery is perfect."""
    good = [errors_at(e, tau) <= RECOVERED for tau in e.settings.coherences]
    return float(np.mean([(image[:, :-1] & ~image[:, 1:]).mean() for image in good]))


@fig20.claim(at_most(0.01), "share of cells with an error between 1e-6 and 1e-2", source="Appendix G.1.3", rate=0.9)
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
    return Figure([shown], height=2.3)


@fig21.runs
@fig22.runs
def coherent_runs(s):
    def job(measurements, coherence, draw):
        return s.job(measurements=measurements, coherence=coherence, seed=1000 * s.seed + draw)

    return lb.Grid(job, {"measurements": s.counts, "coherence": s.coherences, "draw": range(s.draws)}, name=NAME)


def drawn(e, measurements, tau):
    """The names of the runs of a cell, one per draw."""
    return [NAME.format(measurements=measurements, coherence=tau, draw=draw) for draw in range(e.settings.draws)]


def mean_end(e, measurements, tau, column="test_error"):
    """The geometric mean over draws of a column's last value."""
    return float(np.exp(np.mean(np.log([e[name].final[column] for name in drawn(e, measurements, tau)]))))


def mean_time(e, measurements, tau):
    """The mean generalisation step over draws, infinite if one has not generalised."""
    return float(np.mean([e[name].t2 or np.inf for name in drawn(e, measurements, tau)]))


LATER = at_least(0.75), "share of the steps in τ in which t2 (mean over draws) does not fall,"


@fig21.claim(*LATER, source="Appendix G.1.3, Figures 21 and 22", rate=0.8)
@fig22.claim(*LATER, source="Appendix G.1.3, Figures 21 and 22", rate=0.8)
def later_with_coherence(e):
    """The generalisation time and delay increase with τ."""
    grid = [[mean_time(e, n, tau) for tau in e.settings.coherences] for n in e.settings.counts]
    return float(np.mean([late >= early for row in grid for early, late in pairwise(row)]))


@fig22.claim(below(1), "error at τ=0.8 over τ=0", source="Appendix G.1.3", fails="the sentence has the wrong sign")
def error_as_printed(e):
    """The generalisation error decreases with τ."""
    return error_grows(e)


@fig22.claim(at_least(2), "error at τ=0.8 over τ=0", source="corrects the previous claim", rate=0.9)
def error_grows(e):
    """The generalisation error increases with τ."""
    ratios = [mean_end(e, n, 0.8) / mean_end(e, n, 0.0) for n in e.settings.counts]
    return float(np.exp(np.mean(np.log(ratios))))


IMPOSSIBLE = within(0, 0), "share of the runs at τ=1 and N < n that generalise,"
MEASURED = "it does where the support of a* has been measured"


@fig21.claim(*IMPOSSIBLE, source="Appendix G.1.3", fails=MEASURED)
@fig22.claim(*IMPOSSIBLE, source="Appendix G.1.3", fails=MEASURED)
def impossible_as_printed(e):
    """At τ=1 recovery is impossible for N < n, by any method whatsoever."""
    counts = [n for n in e.settings.counts if n < e.settings.dimension]
    return float(np.mean([e[name].t2 is not None for n in counts for name in drawn(e, n, 1.0)]))


@fig21.claim(within(0, 0), "exceptions among the runs at τ=1", source="corrects the previous claim")
@fig22.claim(within(0, 0), "exceptions among the runs at τ=1", source="corrects the previous claim")
def full_coherence_needs_the_support(e):
    """At τ=1 measurement i reads component i: a run generalises if and only if the first N contain the support."""
    found = [
        (e[name].t2 is not None, e.problem(name).truth[n:].any())
        for n in e.settings.counts
        for name in drawn(e, n, 1.0)
    ]
    return sum(generalises == bool(missed) for generalises, missed in found)


@fig21.figure
def fig21_figure(e):
    labels = {rf"$\tau$ = {tau:g}": tau for tau in e.settings.coherences}
    shown = [
        panels.family_errors({x: e[drawn(e, n, tau)[0]] for x, tau in labels.items()}, title=f"N = {n}", legend=None)
        for n in e.settings.counts
    ]
    return Figure(panels.in_rows(shown, 2), height=2.0, key=panels.family_key(labels, "train"))


@fig22.figure
def fig22_figure(e):
    counts, families = e.settings.counts, {}
    for tau in e.settings.coherences:
        ends = [[mean_end(e, n, tau, column) for n in counts] for column in ("train_error", "test_error")]
        times = [mean_time(e, n, tau) for n in counts]
        families[rf"$\tau$ = {tau:g}"] = (
            *ends,
            [e[drawn(e, n, tau)[0]].t1 for n in counts],
            [time if np.isfinite(time) else None for time in times],
        )
    shown = panels.against_count(counts, families, legend=None)
    return Figure(panels.in_rows(shown, 2), height=2.0, key=panels.key_of(shown[0]))
