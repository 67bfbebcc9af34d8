"""Matrix completion under the nuclear norm: what Theorems 3.4 and 3.5 say of the run, with numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Study
from latebloom.catalog.beyond_l2.completion import NuclearSettings
from latebloom.catalog.beyond_l2.draws import RECOVERABLE_REASON, RECOVERABLE_SEED
from latebloom.catalog.beyond_l2.matrices import ORACLE_NOTE, nuclear_job, oracle, true_values
from latebloom.catalog.bounds import at_least, at_most, each, holds, within
from latebloom.catalog.controls import Altered, Set, with_columns, with_settings
from latebloom.catalog.measures import ETAS, completion, over, times_to_gap
from latebloom.core.fields import number
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

MAIN, CONSTANTS, SHRINKING, SUBGRADIENTS = "nuclear norm", "constants", "no data", "subgradients"


class Theorem34Settings(NuclearSettings):
    shrinkage: float = number(default=0.037, above=0, note="a, step without data; no singular value is a multiple")


theorem34 = Entry(
    "beyond-l2/thm3.4",
    "Theorems 3.4 and 3.5: conditions, bounds and times, with numbers",
    "Memorisation near least squares, then the nuclear gap falls below η/2 by Δt = |A - A*|²/(αβη).",
    source="Theorems 3.4, 3.5 and C.40, Lemma C.42",
    seconds=6,
    settings=Theorem34Settings(seed=RECOVERABLE_SEED),
    seed_reason=RECOVERABLE_REASON,
    notes=("The run is the one of beyond-l2/fig5.", ORACLE_NOTE),
)


ALL_OBSERVED = Set(observed=100, steps=1_000)


def pausing(evidence):
    """The run with a pause at t1, longer than any Δt that is asked for."""
    run = evidence[MAIN]
    return with_columns(evidence, MAIN, step=run["step"] + np.where(run["step"] >= run.t1, 10**9, 0))


@theorem34.runs
def theorem34_runs(s):
    return {MAIN: nuclear_job(s, s.problem())}


@theorem34.studies
def theorem34_studies(s):
    known = ("seed", "side", "rank", "observed", "shrinkage")
    other = {name: value for name, value in s.changed(Theorem34Settings()).items() if name in known}
    told = {"experiment": "beyond-l2/thm3.4", "version": 1} | other | {"seed": s.seed}
    return [
        Study(CONSTANTS, told, lambda: measure_constants(s)),
        Study(SHRINKING, told, lambda: measure_shrinking(s)),
        Study(SUBGRADIENTS, told, lambda: measure_subgradients(s)),
    ]


def measure_constants(s):
    """The constants of the null-space properties: relative to the planted matrix, and of all matrices of its rank."""
    problem = completion(s.seed, shape=(s.side, s.side), rank=s.rank, observed=s.observed)
    relative = lb.theory.null_space_relative(problem)
    whole = lb.theory.rank_null_space_lower_bound(problem.design, problem.shape, s.rank)
    return {"relative": np.array([relative.upper]), "whole": np.array([whole.lower])}


def measure_shrinking(s):
    """Singular values of A <- A - a U Vᵀ, step by step, from a Gaussian matrix."""
    start = np.random.default_rng(s.seed).normal(size=(s.side, s.side)) / s.side
    matrix, rows = start.copy(), []
    predicted = lb.theory.shrinking_steps(start, s.shrinkage)
    for _ in range(predicted.steps + 10):
        u, sigma, vt = np.linalg.svd(matrix)
        rows.append(sigma)
        matrix = matrix - s.shrinkage * (u @ vt)
    return {"sigma": np.array(rows), "predicted": np.full(len(rows), predicted.steps)}


def measure_subgradients(s, count=200):
    """The largest |vec H|_p over (n1 n2)^(1/p) of subgradients U Vᵀ + W at matrices of every rank, for some p."""
    random, powers = np.random.default_rng(s.seed), np.array([0.5, 1, 2, 4, np.inf])
    largest = np.zeros(len(powers))
    for place in range(count):
        rank = 1 + place % s.side
        u, _, vt = np.linalg.svd(random.normal(size=(s.side, s.side)))
        inner = random.normal(size=(s.side - rank, s.side - rank))
        turn = inner / np.linalg.norm(inner, 2) if rank < s.side else inner
        subgradient = u[:, :rank] @ vt[:rank] + u[:, rank:] @ turn @ vt[rank:]
        norms = [np.linalg.norm(subgradient.ravel(), p) / s.side ** (2 / p) for p in powers]
        largest = np.maximum(largest, norms)
    return {"p": powers, "largest": largest}


def setting_of(e):
    """What the theorem speaks of: problem, learning rate, penalty."""
    return e.problem(MAIN), e.settings.learning_rate, lb.NuclearNorm(e.settings.strength)


def from_least_squares(e):
    """A(t) - Â at every record, a row each."""
    return e[MAIN]["components"] - lb.oracles.min_norm(e.problem(MAIN)).solution.ravel()


def observed_distance(e):
    """|P(A(t) - Â)|_F at every record, with P the projection on the observed entries."""
    return np.linalg.norm(from_least_squares(e) * np.asarray(e.problem(MAIN).mask).ravel(), axis=1)


@theorem34.claim(
    holds("both hold"),
    source="Theorem 3.4",
    kind="premise",
    control=Altered("a learning rate of 3", with_settings(learning_rate=3)),
)
def conditions(e):
    """The conditions 0 < ασ_max < 2 and 0 < β√min(n1,n2) < σ_max hold at the settings of Figure 5."""
    told = lb.theory.conditions(*setting_of(e))
    decided = {c.name: bool(c.holds) for c in told if c.name in {"learning_rate", "strength"}}
    return decided, all(decided.values())


@theorem34.claim(
    holds("a finite bound"),
    source="Theorem 3.4",
    fails="ρ₂ = 1 exactly for N < n1 n2, the bound is infinite",
    control=ALL_OBSERVED,
)
def bound_as_printed(e):
    """|A(t) - Â|_F ≤ 2αβ√n/(1-ρ₂) for all t ≥ t1."""
    radius = float(lb.theory.memorisation_radius(*setting_of(e), as_printed=True))
    return (radius, True) if np.isfinite(radius) else ("infinite", False)


@theorem34.claim(
    at_most(1), "largest |P(A(t) - Â)| after t1 over the bound", source="corrects the previous claim", kind="corrected"
)
def bound_in_row_space(e):
    """On the observed entries, where ρ₂ < 1, the bound holds, with √min(n1,n2) in place of √(n1 n2)."""
    after = e[MAIN]["step"] >= lb.theory.memorisation_step(*setting_of(e)).step
    return float(observed_distance(e)[after].max() / lb.theory.memorisation_radius(*setting_of(e)))


@theorem34.claim(
    at_most(1),
    "largest g(A(t)) after t1 over 2 min(n1, n2) (αβσ_max(X))²/(1-ρ₂)²",
    source="Theorem C.40, with ρ₂ of the row space",
    kind="corrected",
)
def loss_in_row_space(e):
    """From t1 on the training loss is within the square of that bound."""
    problem, rate, penalty = setting_of(e)
    after = e[MAIN]["step"] >= lb.theory.memorisation_step(problem, rate, penalty).step
    largest = np.linalg.norm(np.asarray(problem.design), 2)
    radius = float(lb.theory.memorisation_radius(problem, rate, penalty))
    return float(e[MAIN]["train_loss"][after].max() / (largest * radius) ** 2 * 2)


@theorem34.claim(within(0.5, 3), "predicted over measured t1", source="Theorem C.40, Eq. 78")
def memorisation_step(e):
    """The t1 of the theorem (in the row space) is the measured one, up to a small factor."""
    return over(lb.theory.memorisation_step(*setting_of(e)).step, e[MAIN].t1)


def true_times(e):
    """For every η: the first record after t1 with |A|_* - |A*|_* ≤ η/2, and t1 + Δt(η)."""
    gaps = e[MAIN]["nuclear_norm"] - true_values(e, MAIN).sum()
    return times_to_gap(e[MAIN], gaps, *setting_of(e))


def delays(e):
    """Measured time over t1 + Δt(η) for every η; None of a run that did not memorise, from which nothing is delayed."""
    measured, bound = true_times(e)
    return None if e[MAIN].t1 is None else measured / bound


OF_THE_DELAY = "measured over t1 + Δt(η), for η from 1e-3 to 1, in a run that memorised,"


@theorem34.claim(at_most(1), f"largest {OF_THE_DELAY}", source="Theorem 3.4")
def delay_is_enough(e):
    """By t1 + Δt(η) the gap |A|_* - |A*|_* has fallen to η/2."""
    return None if (found := delays(e)) is None else float(np.max(found))


@theorem34.claim(
    at_least(0.5),
    f"smallest {OF_THE_DELAY}",
    source="Theorem 3.4 (the 'if and only if')",
    fails="the true time saturates while Δt grows like 1/η",
    control=Altered("there is a pause of a billion steps at t1", pausing),
)
def only_if_as_printed(e):
    """The gap falls to η/2 only if t ≥ t1 + Δt(η)."""
    return None if (found := delays(e)) is None else float(np.min(found))


def spread(evidence):
    """The run, had every singular value of A been larger by the largest of A*."""
    values = evidence[MAIN]["singular_values"] + true_values(evidence, MAIN)[0]
    return with_columns(evidence, MAIN, singular_values=values)


@theorem34.claim(
    at_least(1),
    "σ_min(A(t1))/σ_max(A*)",
    source="Section 3.2, Lemma C.45 and the proof of Theorem C.40",
    fails="the smallest one is next to nothing",
    control=Altered("every singular value of A is larger by σ_max(A*)", spread),
)
def gap_as_printed(e):
    """After memorisation the smallest singular value of A exceeds the largest of A*, so the vectors hardly turn."""
    run = e[MAIN]
    if run.t1 is None:
        return None
    return float(run["singular_values"][run["step"] == run.t1][0, -1] / true_values(e, MAIN)[0])


@theorem34.claim(
    holds("constant below {most:g}", most=1),
    source="Theorem 3.5",
    outside="an unobserved entry alone is a matrix of rank 1 in the kernel",
    control=ALL_OBSERVED,
)
def null_space_as_printed(e, most):
    """Theorem 3.5 applies: the measurements have the rank null-space property of order r."""
    constant = float(e.tables[CONSTANTS]["whole"][0])
    return "infinite" if np.isinf(constant) else constant, constant < most


def relative_constant_of(e):
    """The constant relative to the planted matrix."""
    return float(e.tables[CONSTANTS]["relative"][0])


@theorem34.claim(
    holds("the constant is below {most:g} exactly if the oracle recovers the draw", most=1),
    source="ours: the constant of one truth in the place of that of all",
    kind="ours",
)
def relative_constant(e, most):
    """Relative to the planted matrix there is a constant, computed by its dual, that is below 1 if it is recovered."""
    constant, word = relative_constant_of(e), oracle(e, MAIN).recovery
    return {"constant": constant, "oracle": word}, (constant < most) == (word == "recovered")


@theorem34.claim(within(1, 1), "measured over predicted steps", source="Lemma C.42, item 2")
def shrinking(e):
    """Without data, A ← A - a·UVᵀ brings the spectral norm below a after ⌊|A|/a⌋ steps."""
    table = e.tables[SHRINKING]
    return int(np.flatnonzero(table["sigma"][:, 0] < e.settings.shrinkage)[0]) / float(table["predicted"][0])


@theorem34.claim(
    at_most(1e-9),
    "largest change of a singular value between the last two iterates over a",
    source="Lemma C.42, item 1",
    fails="they alternate between σ and a - σ",
)
def stationary_as_printed(e):
    """From there on the iteration is stationary."""
    sigma = e.tables[SHRINKING]["sigma"]
    return float(np.abs(sigma[-1] - sigma[-2]).max() / e.settings.shrinkage)


def ranks(e):
    """The rank at the end, and the numbers of singular values at the start that are a multiple of a or not."""
    ratios = e.tables[SHRINKING]["sigma"][[0, -1]] / e.settings.shrinkage
    multiple = np.abs(ratios[0] - np.round(ratios[0])) < 1e-9
    return {"rank": int((ratios[1] > 1e-9).sum()), "multiples": int(multiple.sum()), "others": int((~multiple).sum())}


def half_multiples(evidence):
    """The same iteration from as many multiples of a as others."""
    table, a = evidence.tables[SHRINKING], evidence.settings.shrinkage
    count = table["sigma"].shape[1]
    start = a * (np.arange(count) // 2 + np.where(np.arange(count) % 2, 1.5, 1.0))
    rest = start - a * np.floor(start / a + 1e-9)
    sigma = np.vstack([start, *[rest] * (len(table["sigma"]) - 1)])
    return replace(evidence, tables={**evidence.tables, SHRINKING: {**table, "sigma": sigma}})


def one_multiple(evidence):
    """The same rank at the end from a start with a multiple of a."""
    table = evidence.tables[SHRINKING]
    sigma = table["sigma"].copy()
    sigma[0, 0] = 3 * evidence.settings.shrinkage
    return replace(evidence, tables={**evidence.tables, SHRINKING: {**table, "sigma": sigma}})


@theorem34.claim(
    holds("the rank at the end is the number of those"),
    source="Lemma C.42, item 3",
    fails="those vanish: it is the number of the others",
    control=Altered("half of the singular values are multiples of a", half_multiples),
)
def rank_as_printed(e):
    """The rank afterwards is the number of singular values at the start that are a multiple of a."""
    found = ranks(e)
    return found, found["rank"] == found["multiples"]


@theorem34.claim(
    holds("the rank at the end is the number of those"),
    source="corrects the previous claim",
    kind="corrected",
    control=Altered("a is a singular value of the start", one_multiple),
)
def rank_afterwards(e):
    """The rank afterwards is the number of singular values at the start that are not a multiple of a."""
    found = ranks(e)
    return found, found["rank"] == found["others"]


def norms_over_bounds(e):
    """|vec H|_p over (n1 n2)^(1/p), the largest of many subgradients, by p."""
    table = e.tables[SUBGRADIENTS]
    return {f"{p:g}": float(value) for p, value in zip(table["p"], table["largest"], strict=True)}


def doubled(evidence):
    """Twice the subgradients, which are none."""
    table = evidence.tables[SUBGRADIENTS]
    return replace(evidence, tables={**evidence.tables, SUBGRADIENTS: {**table, "largest": 2 * table["largest"]}})


@theorem34.claim(
    each(at_most(1)),
    "largest |vec H|_p over (n1 n2)^(1/p) of 200 subgradients U Vᵀ + W, by p,",
    source="Lemma C.41",
    control=Altered("twice the subgradients", doubled),
)
def subgradients_are_bounded(e):
    """Every subgradient H of the nuclear norm has |vec H|_p ≤ (n1 n2)^(1/p), for every p > 0."""
    return norms_over_bounds(e)


@theorem34.claim(
    at_most(1 + 1e-12),
    "largest |vec H|_2 over √min(n1, n2)",
    source="ours: sharper than Lemma C.41",
    kind="ours",
    control=Altered("twice the subgradients", doubled),
)
def subgradients_by_side(e):
    """In the Euclidean norm √min(n1, n2) is enough, which the bound of Theorem 3.4 gains by."""
    return norms_over_bounds(e)["2"] * np.sqrt(e.settings.side)


@theorem34.figure
def theorem34_figure(e):
    run, table, (measured, bound) = e[MAIN], e.tables[SHRINKING], true_times(e)
    distances = [
        Line(run["step"], observed_distance(e), "observed entries", "train"),
        Line(run["step"], np.linalg.norm(from_least_squares(e), axis=1), "all entries", "test"),
        Rule(lb.theory.memorisation_radius(*setting_of(e)), "bound, observed", across="y"),
        Rule(lb.theory.memorisation_step(*setting_of(e)).step, "predicted $t_1$"),
        *panels.milestones(run),
    ]
    times = [
        Line(ETAS, measured, "measured", "norm", "points"),
        Line(ETAS, bound, r"$t_1 + \Delta t(\eta)$", "theory"),
    ]
    alone = [
        Line(np.arange(len(table["sigma"])), table["sigma"], "", "norm", name="singular value", width=0.8),
        Rule(e.settings.shrinkage, "the step $a$", across="y"),
        Rule(float(table["predicted"][0]), r"$\lfloor |A|/a \rfloor$"),
    ]
    distance_axis = Axis(r"distance $|A(t) - \hat A|_F$", "log")
    left = Panel(distances, panels.clock_axis(run), distance_axis, legend="upper right")
    to_gap = Axis(r"steps until $|A|_* - |A^*|_* \leq \eta/2$", "log")
    middle = Panel(times, Axis(r"precision $\eta$", "log"), to_gap, legend="upper right")
    right = Panel(alone, Axis("step, without data"), Axis(r"singular values $\sigma_i$"))
    return Figure([[left, middle, right]])
