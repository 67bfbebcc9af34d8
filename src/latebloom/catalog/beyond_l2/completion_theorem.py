"""Matrix completion under the nuclear norm: what Theorems 3.4 and 3.5 say of the run, with numbers."""

from __future__ import annotations

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry, Study
from latebloom.catalog.beyond_l2.completion import NuclearSettings
from latebloom.catalog.beyond_l2.draws import RECOVERABLE_REASON, RECOVERABLE_SEED
from latebloom.catalog.beyond_l2.matrices import ORACLE_NOTE, nuclear_job, oracle, true_values
from latebloom.catalog.bounds import at_least, at_most, below, holds, within
from latebloom.catalog.measures import ETAS, completion, over, times_to_gap
from latebloom.core.fields import number
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

MAIN, CONSTANTS, SHRINKING = "nuclear norm", "constants", "no data"


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


@theorem34.runs
def theorem34_runs(s):
    return {MAIN: nuclear_job(s, s.problem())}


@theorem34.studies
def theorem34_studies(s):
    known = ("seed", "side", "rank", "observed", "shrinkage")
    other = {name: value for name, value in s.changed(Theorem34Settings()).items() if name in known}
    told = {"experiment": "beyond-l2/thm3.4", "version": 1} | other | {"seed": s.seed}
    return [Study(CONSTANTS, told, lambda: measure_constants(s)), Study(SHRINKING, told, lambda: measure_shrinking(s))]


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


def setting_of(e):
    """What the theorem speaks of: problem, learning rate, penalty."""
    return e.problem(MAIN), e.settings.learning_rate, lb.NuclearNorm(e.settings.strength)


def from_least_squares(e):
    """A(t) - Â at every record, a row each."""
    return e[MAIN]["components"] - lb.oracles.min_norm(e.problem(MAIN)).solution.ravel()


def observed_distance(e):
    """|P(A(t) - Â)|_F at every record, with P the projection on the observed entries."""
    return np.linalg.norm(from_least_squares(e) * np.asarray(e.problem(MAIN).mask).ravel(), axis=1)


@theorem34.claim(holds("both hold"), source="Theorem 3.4")
def conditions(e):
    """The conditions 0 < ασ_max < 2 and 0 < β√min(n1,n2) < σ_max hold at the settings of Figure 5."""
    told = lb.theory.conditions(*setting_of(e))
    decided = {c.name: bool(c.holds) for c in told if c.name in {"learning_rate", "strength"}}
    return decided, all(decided.values())


@theorem34.claim(
    holds("a finite bound"),
    source="Theorem 3.4",
    fails="ρ₂ = 1 exactly for N < n1 n2, the bound is infinite",
)
def bound_as_printed(e):
    """|A(t) - Â|_F ≤ 2αβ√n/(1-ρ₂) for all t ≥ t1."""
    radius = float(lb.theory.memorisation_radius(*setting_of(e), as_printed=True))
    return (radius, True) if np.isfinite(radius) else ("infinite", False)


@theorem34.claim(at_most(1), "largest |P(A(t) - Â)| after t1 over the bound", source="corrects the previous claim")
def bound_in_row_space(e):
    """On the observed entries, where ρ₂ < 1, the bound holds, with √min(n1,n2) in place of √(n1 n2)."""
    after = e[MAIN]["step"] >= lb.theory.memorisation_step(*setting_of(e)).step
    return float(observed_distance(e)[after].max() / lb.theory.memorisation_radius(*setting_of(e)))


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
)
def only_if_as_printed(e):
    """The gap falls to η/2 only if t ≥ t1 + Δt(η)."""
    return None if (found := delays(e)) is None else float(np.min(found))


@theorem34.claim(
    at_least(1),
    "σ_min(A(t1))/σ_max(A*)",
    source="Section 3.2, Lemma C.45 and the proof of Theorem C.40",
    fails="the smallest one is next to nothing",
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
    fails="an unobserved entry alone is a matrix of rank 1 in the kernel",
)
def null_space_as_printed(e, most):
    """The measurements have the rank null-space property of order r, so that Theorem 3.5 applies."""
    constant = float(e.tables[CONSTANTS]["whole"][0])
    return "infinite" if np.isinf(constant) else constant, constant < most


def relative_constant_of(e):
    """The constant relative to the planted matrix."""
    return float(e.tables[CONSTANTS]["relative"][0])


@theorem34.claim(
    holds("the constant is below {most:g} exactly if the oracle recovers the draw", most=1),
    source="corrects the previous claim",
)
def relative_constant(e, most):
    """Relative to the planted matrix there is a constant, computed by its dual, that is below 1 if it is recovered."""
    constant, word = relative_constant_of(e), oracle(e, MAIN).recovery
    return {"constant": constant, "oracle": word}, (constant < most) == (word == "recovered")


@theorem34.claim(below(1), "relative constant", source="Theorem 3.5, relative to A*", rate=0.1)
def recoverable(e):
    """On this draw the relative constant is below 1."""
    return relative_constant_of(e)


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


@theorem34.figure
def theorem34_figure(e):
    run, table, (measured, bound) = e[MAIN], e.tables[SHRINKING], true_times(e)
    distances = [
        Line(run["step"], observed_distance(e), "observed entries", "train"),
        Line(run["step"], np.linalg.norm(from_least_squares(e), axis=1), "all entries", "test"),
        Rule(lb.theory.memorisation_radius(*setting_of(e)), "bound, observed", across="y"),
        Rule(lb.theory.memorisation_step(*setting_of(e)).step, "predicted $t_1$", marks="dotted"),
    ]
    times = [
        Line(ETAS, measured, "measured", "norm", "points"),
        Line(ETAS, bound, r"$t_1 + \Delta t(\eta)$", "theory", "dashed"),
    ]
    alone = [
        Line(np.arange(len(table["sigma"])), table["sigma"], "", "norm", width=0.8),
        Rule(e.settings.shrinkage, "the step $a$", across="y"),
        Rule(float(table["predicted"][0]), r"$\lfloor |A|/a \rfloor$", marks="dotted"),
    ]
    distance_axis = Axis(r"distance $|A(t) - \hat A|_F$", "log", high=100)
    left = Panel(distances, panels.clock_axis(run), distance_axis, legend="upper right")
    to_gap = Axis(r"steps until $|A|_* - |A^*|_* \leq \eta/2$", "log")
    middle = Panel(times, Axis(r"precision $\eta$", "log"), to_gap, legend="upper right")
    right = Panel(alone, Axis("step, without data"), Axis(r"singular values $\sigma_i$"), legend=(0.82, 0.8))
    return Figure([[left, middle, right]], height=2.4)
