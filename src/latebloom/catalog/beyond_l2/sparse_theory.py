"""Theorems 3.1 and 3.3 with numbers: memorisation near least squares, then |a|_1 falls within Δt = |a - a*|²/(αβη)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.beyond_l2.draws import COLUMNS_NOTE
from latebloom.catalog.beyond_l2.sparse import MAIN, L1Settings, sparse_job
from latebloom.catalog.bounds import at_least, at_most, holds, within
from latebloom.catalog.claims import NotAsked
from latebloom.catalog.controls import Altered, Set
from latebloom.catalog.measures import ETAS, over, times_to_gap
from latebloom.figures import Axis, Figure, Line, Panel, Rule, panels

thm3_1 = Entry(
    "beyond-l2/thm3.1",
    "Theorems 3.1 and 3.3: conditions, bounds and times, with numbers",
    "Memorisation near least squares, then the l1 gap falls below η/2 by Δt = |a - a*|²/(αβη).",
    source="Theorems 3.1, 3.3 and C.29",
    seconds=5,
    settings=L1Settings(),
    notes=(COLUMNS_NOTE, "The run is the one of beyond-l2/fig3."),
)


@thm3_1.runs
def thm3_1_runs(s):
    return {MAIN: sparse_job(s)}


def _hurried(e):
    """The evidence with every step from t1 on counted as a hundred thousand."""
    run = e[MAIN]
    steps = np.where(run["step"] >= (run.t1 or np.inf), 1e5 * run["step"], run["step"])
    return replace(e, runs={MAIN: replace(run, columns=run.columns | {"step": steps})})


def _exchanged_norms(e):
    """The evidence with the l1 norm of zero at every record."""
    run = e[MAIN]
    return replace(e, runs={MAIN: replace(run, columns=run.columns | {"l1_norm": 0 * run["l1_norm"]})})


def _other_truth(e):
    other = np.asarray(e.settings.but(seed=e.settings.seed + 1).problem().truth)
    return replace(e, tables={"truth": {"truth": other}})


def theorem(e):
    """What the theorem speaks of: problem, learning rate and penalty."""
    return e.problem(), e.settings.learning_rate, lb.L1(e.settings.strength)


def memorisation_step(e):
    """t1 of Eq. 78."""
    return lb.theory.memorisation_step(*theorem(e)).step


def distances(e):
    """|P(a(t) - â)|, with P the projection on the row space of X, and |a(t) - â|, at every record."""
    _, _, rows = np.linalg.svd(np.asarray(e.problem().design), full_matrices=False)
    gaps = e[MAIN]["components"] - e.cached(lb.oracles.min_norm, e.problem()).solution
    return np.linalg.norm(gaps @ rows.T, axis=1), np.linalg.norm(gaps, axis=1)


@thm3_1.claim(holds("both hold"), source="Theorem 3.1", kind="premise", control=Set(learning_rate=1.0, steps=1000))
def conditions(e):
    """The conditions 0 < ασ_max < 2 and 0 < β√n < σ_max hold at the settings of Figure 3."""
    found = lb.theory.conditions(*theorem(e))
    decided = {c.name: bool(c.holds) for c in found if c.name in {"learning_rate", "strength"}}
    return decided, all(decided.values())


@thm3_1.claim(
    holds("a finite bound"),
    source="Theorem 3.1",
    fails="ρ₂ = 1 exactly for N < n, the bound is infinite",
    control=Set(measurements=120, steps=1000),
)
def bound_as_printed(e):
    """|a(t) - â| ≤ 2αβ√n/(1-ρ₂) for all t ≥ t1."""
    radius = float(lb.theory.memorisation_radius(*theorem(e), as_printed=True))
    return (radius, True) if np.isfinite(radius) else ("infinite", False)


@thm3_1.claim(
    at_most(1),
    "largest |P(a(t) - â)| over the bound after t1 of Eq. 78",
    source="corrects the previous claim",
    kind="corrected",
)
def bound_in_row_space(e):
    """Restricted to the row space of X, where ρ₂ < 1, the bound holds."""
    along, _ = distances(e)
    return float(along[e[MAIN]["step"] >= memorisation_step(e)].max() / lb.theory.memorisation_radius(*theorem(e)))


@thm3_1.claim(
    within(0.5, 3),
    "predicted over measured t1 (relative training error 1e-3)",
    source="Theorem C.29, Eq. 78",
    id="memorisation-step",
    rate=0.9,
)
def predicts_memorisation(e):
    """The t1 of Eq. 78 (in the row space) is the measured one, up to a small factor."""
    return over(memorisation_step(e), e[MAIN].t1)


def true_times(e):
    """For every η: the first record after t1 with |a|_1 - |a*|_1 ≤ η/2, and t1 + Δt(η)."""
    gaps = e[MAIN]["l1_norm"] - np.abs(np.asarray(e.problem().truth)).sum()
    return times_to_gap(e[MAIN], gaps, *theorem(e))


@thm3_1.claim(at_most(1), "largest measured time over t1 + Δt(η) for η from 1e-3 to 1", source="Theorem 3.1", rate=0.8)
def delay_is_enough(e):
    """By t1 + Δt(η) the gap |a|_1 - |a*|_1 has fallen to η/2."""
    measured, bound = true_times(e)
    return float(np.max(measured / bound))


@thm3_1.claim(
    at_least(0.5),
    "smallest measured time over t1 + Δt(η)",
    source="Theorem 3.1 (the 'if and only if')",
    fails="the true time saturates while Δt grows like 1/η",
    control=Altered("every step from t1 on counts as 1e5", _hurried),
)
def only_if_as_printed(e):
    """The gap falls to η/2 only if t ≥ t1 + Δt(η)."""
    measured, bound = true_times(e)
    return float(np.min(measured / bound))


def null_space(problem):
    """The null-space constant of the measurements relative to the support of the truth."""
    return lb.theory.null_space_constant(np.asarray(problem.design), np.flatnonzero(np.asarray(problem.truth)))


@thm3_1.claim(
    at_most(1 - 1e-9),
    "constant ρ (linear programs)",
    source="Definition 3.2, Theorem 3.3",
    kind="premise",
    rate=0.7,
    control=Set(measurements=10, steps=1000),
)
def null_space_property(e):
    """X has the robust null-space property relative to the support of a*, so that Theorem 3.3 applies."""
    return float(e.cached(null_space, e.problem()))


@thm3_1.claim(
    at_most(1),
    "largest |a(t) - a*|_1 over the bound",
    source="Theorem C.38, Appendix C.5",
    control=Altered("the norm of the zero vector", _exchanged_norms),
)
def recovery_bound(e):
    """Then |a - a*|_1 is bounded by the l1 gap and the training error, all along."""
    problem, run, rho = e.problem(), e[MAIN], float(e.cached(null_space, e.problem()))
    if rho >= 1:
        return NotAsked("this draw has not the null-space property")
    truth, design = np.asarray(problem.truth), np.asarray(problem.design)
    tau, away = lb.theory.robust_constant(design, rho), run["components"] - truth
    gap, misfit = run["l1_norm"] - np.abs(truth).sum(), np.linalg.norm(away @ design.T, axis=1)
    bound = ((1 + rho) * gap + 2 * tau * misfit) / (1 - rho)
    return float(np.max(np.abs(away).sum(axis=1) / bound))


@thm3_1.claim(
    at_most(1),
    "largest g(a(t)) - g(â) over 2nα²β²σ_max²/(1-ρ₂)² after t1 of Eq. 78, ρ₂ on the row space,",
    source="Theorem C.29, Eqs. 81 to 85",
)
def loss_bound(e):
    """After t1 the loss is within a bound of order β² of that of least squares, which is 0 for N < n."""
    problem, rate, penalty = theorem(e)
    sigma = float(np.linalg.norm(np.asarray(problem.design), 2))
    bound = sigma**2 * float(lb.theory.memorisation_radius(problem, rate, penalty)) ** 2 / 2
    return float(e[MAIN]["train_loss"][e[MAIN]["step"] >= memorisation_step(e)].max() / bound)


@thm3_1.claim(
    at_most(1),
    "|â - a*|² over |(I - VVᵀ)a*|² + ξᵀUΣ⁻¹Uᵀξ, less one, in units of 1e-9,",
    source="Theorem C.29, Eqs. 69 to 74",
    control=Altered("the truth of another draw", _other_truth),
)
def least_squares_error(e):
    """Least squares memorises and does not generalise: Eq. 74 says how far from a* it is."""
    problem, truth = e.problem(), np.asarray(e.problem().truth)
    left, sigma, right = np.linalg.svd(np.asarray(problem.design), full_matrices=False)
    noise = np.asarray(problem.targets) - np.asarray(problem.design) @ truth
    compared = truth if "truth" not in e.tables else e.tables["truth"]["truth"]
    said = np.sum((compared - right.T @ (right @ compared)) ** 2) + np.sum((left.T @ noise / sigma) ** 2)
    gap = e.cached(lb.oracles.min_norm, problem).solution - truth
    return float(abs(gap @ gap / said - 1) / 1e-9)


def value_times(e):
    """For every η: the first record after t1 with f(a) - f(a*) ≤ (η + C'αβ)β/2, C' of Eq. 83, and t1 + Δt(η)."""
    problem, rate, penalty = theorem(e)
    strength, truth = e.settings.strength, np.asarray(problem.truth)
    noise = np.asarray(problem.targets) - np.asarray(problem.design) @ truth
    sigma = float(np.linalg.norm(np.asarray(problem.design), 2))
    force = sigma**2 * float(lb.theory.memorisation_radius(problem, rate, penalty)) / strength + np.sqrt(len(truth))
    values = e[MAIN]["train_loss"] - noise @ noise / 2 + strength * (e[MAIN]["l1_norm"] - np.abs(truth).sum())
    return times_to_gap(e[MAIN], values / strength - force**2 * rate * strength / 2, problem, rate, penalty)


@thm3_1.claim(at_most(1), "largest measured time over t1 + Δt(η) for η from 1e-3 to 1", source="Theorem C.29", rate=0.9)
def value_falls_in_time(e):
    """By t1 + Δt(η) the gap f(a) - f(a*) has fallen to (η + C'αβ)β/2."""
    measured, bound = value_times(e)
    return float(np.max(measured / bound))


@thm3_1.figure
def thm3_1_figure(e):
    (along, whole), (measured, bound) = distances(e), true_times(e)
    left = [
        Line(e[MAIN]["step"], along, r"$|P_{row}(a(t) - \hat a)|$", "train"),
        Line(e[MAIN]["step"], whole, r"$|a(t) - \hat a|$", "test"),
        Rule(lb.theory.memorisation_radius(*theorem(e)), "bound in the row space", across="y"),
        Rule(memorisation_step(e), "$t_1$ of Eq. 78"),
        *panels.milestones(e[MAIN]),
    ]
    right = [
        Line(ETAS, measured, "measured", "norm", "points"),
        Line(ETAS, bound, r"$t_1 + \Delta t(\eta)$", "theory"),
    ]
    steps = Axis(r"steps until $|a|_1 - |a^*|_1 \leq \eta/2$", "log")
    distance = Panel(left, panels.clock_axis(e[MAIN]), Axis("distance to least squares", "log"))
    return Figure([[distance, Panel(right, Axis(r"precision $\eta$", "log"), steps)]])
