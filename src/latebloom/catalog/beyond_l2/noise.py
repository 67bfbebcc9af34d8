"""Theorem 3.3 with its constants, over six decades of noise, and what Section 3.1 says of memorisation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Entry
from latebloom.catalog.beyond_l2.draws import COLUMNS_NOTE
from latebloom.catalog.beyond_l2.sparse import L1Settings, sparse_job
from latebloom.catalog.beyond_l2.sparse_theory import null_space
from latebloom.catalog.bounds import above, at_least, at_most, each, holds, near
from latebloom.catalog.claims import NotAsked
from latebloom.catalog.controls import Altered, Instead, Set
from latebloom.catalog.measures import ETAS, log_slope
from latebloom.core.fields import count, numbers
from latebloom.figures import Axis, Figure, Line, Panel

NOISY, STARTED, PUSHED = "SNR {:g}", "start {:g}", "strength {:g}"


class NoiseSettings(L1Settings):
    ratios: tuple[float, ...] = numbers(
        default=(1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2), above=0, note="signal to noise of the measurements"
    )
    starts: tuple[float, ...] = numbers(default=(1e-6, 1.0, 10.0, 100.0), above=0, note="ζ, sizes of the start")
    strengths: tuple[float, ...] = numbers(default=(1e-6, 1e-5, 1e-4, 1e-3), above=0, note="β of the brief runs")
    brief: int = count(default=3000, note="steps of the runs that look at memorisation only")


thm3_3 = Entry(
    "beyond-l2/thm3.3",
    "Theorem 3.3: the recovery error within C₁η + C₂αβ + C₃|ξ|, over six decades of noise",
    "Under the robust null-space property the error is bounded by precision, strength and noise.",
    source="Theorems 3.3 and C.39",
    seconds=10,
    settings=NoiseSettings(),
    notes=(
        COLUMNS_NOTE,
        "τ is a sufficient constant (max(1, ρ)√n/σ_min), ρ₂ is taken on the row space of X, C from the noise of the "
        "draw as the proof needs it (|Uᵀξ|² ≤ Cαβ²), C' from Eq. 83.",
        "The constants are large: of the default draw the bound is below |a*|_1 = 0.32 at ratios of 1e6 and more, and "
        "says nothing at smaller ones.",
        "The run with a signal-to-noise ratio of 1e8 is the one of beyond-l2/fig3.",
    ),
)


@thm3_3.runs
def thm3_3_runs(s):
    def brief(strength, init_scale):
        problem = s.problem(init_scale=init_scale)
        return lb.TrainJob(problem, lb.GradientDescent(s.learning_rate), lb.L1(strength), steps=s.brief)

    noisy = {NOISY.format(ratio): sparse_job(s, signal_to_noise=ratio) for ratio in s.ratios}
    started = {STARTED.format(start): brief(s.strength, start) for start in s.starts}
    pushed = {PUSHED.format(strength): brief(strength, s.init_scale) for strength in s.strengths}
    return noisy | started | pushed


def noisy_runs(e):
    """By ratio, the name of its run."""
    return {ratio: NOISY.format(ratio) for ratio in e.settings.ratios}


def noise_of(problem):
    """ξ."""
    return np.asarray(problem.targets) - np.asarray(problem.design) @ np.asarray(problem.truth)


def l1_errors(e, name):
    """|a(t) - a*|_1 at every record."""
    return np.abs(e[name]["components"] - np.asarray(e.problem(name).truth)).sum(axis=1)


def constants(e, name):
    """C₁, C₂ and C₃ of Eq. 94 for a run, with ρ₂ on the row space."""
    s, problem = e.settings, e.problem(name)
    rho = float(e.cached(null_space, problem))
    design, penalty = np.asarray(problem.design), lb.L1(s.strength)
    left, sigma, _ = np.linalg.svd(design, full_matrices=False)
    from_noise = float(np.sum((left.T @ noise_of(problem)) ** 2)) / (s.learning_rate * s.strength**2)
    radius = lb.theory.memorisation_radius(problem, s.learning_rate, penalty)
    force = sigma[0] ** 2 * radius / s.strength + np.sqrt(s.dimension)  # |F|/β of Eq. 83
    found = lb.theory.recovery_constants(
        problem,
        s.learning_rate,
        penalty,
        rho=rho,
        tau=lb.theory.robust_constant(design, rho),
        descent_constant=from_noise + float(force) ** 2,
    )
    return found.eta, found.strength, found.noise


def times_and_bounds(e, name):
    """For every η: the first step with |a - a*|_1 within the bound, and t1 + Δt(η)."""
    s, run, problem, errors = e.settings, e[name], e.problem(name), l1_errors(e, name)
    of_eta, of_strength, of_noise = constants(e, name)
    floor = of_strength * s.learning_rate * s.strength + of_noise * float(np.linalg.norm(noise_of(problem)))
    after = run["step"] >= run.t1
    params = run["components"][after][0]
    reached = [np.flatnonzero(errors[after] <= of_eta * eta + floor) for eta in ETAS]
    steps = [run["step"][after][hits[0]] if len(hits) else np.inf for hits in reached]
    penalty = lb.L1(s.strength)
    delays = [lb.theory.generalisation_delay(problem, s.learning_rate, penalty, eta=eta, params=params) for eta in ETAS]
    return np.array(steps, dtype=float), run.t1 + np.array([delay.step for delay in delays])


def asked(e):
    """Why the theorem does not speak of the draw; None if it does."""
    rho = float(e.cached(null_space, e.problem()))
    return None if rho < 1 else NotAsked(f"the null-space constant of this draw is {rho:.3g}, not below 1")


@thm3_3.claim(
    at_most(1 - 1e-9),
    "constant ρ (linear programs)",
    source="Theorem 3.3, hypothesis",
    kind="premise",
    rate=0.7,
    control=Set(measurements=10, steps=1000),
)
def null_space_property(e):
    """X has the robust null-space property relative to the support of a*."""
    return float(e.cached(null_space, e.problem()))


@thm3_3.claim(
    each(at_most(1)), "largest measured time over t1 + Δt(η), for η from 1e-3 to 1, by signal-to-noise ratio,"
)
def error_within_bound(e):
    """By t1 + Δt(η) the error |a - a*|_1 has fallen to C₁η + C₂αβ + C₃|ξ|."""
    if (reason := asked(e)) is not None:
        return reason
    found = {ratio: times_and_bounds(e, name) for ratio, name in noisy_runs(e).items()}
    return {f"{ratio:g}": float(np.max(steps / bound)) for ratio, (steps, bound) in found.items()}


@thm3_3.claim(
    at_least(0.5),
    "smallest measured time over t1 + Δt(η), at the largest signal-to-noise ratio,",
    source="Theorem 3.3 (the 'if and only if')",
    fails="the error is within the bound long before: Δt grows like 1/η, the true time does not",
    control=Altered("every step from t1 on counts as 1e5", lambda e: _hurried(e, 1e5)),
)
def only_if_as_printed(e):
    """It has fallen so far only if t ≥ t1 + Δt(η)."""
    if (reason := asked(e)) is not None:
        return reason
    steps, bound = times_and_bounds(e, NOISY.format(e.settings.ratios[0]))
    return float(np.min(steps / bound))


@thm3_3.claim(
    near(1, by=0.15),
    "exponent of the error at the end in |ξ|, for ratios of 1e6 and less,",
    source="Section 3.1, Theorem 3.3",
    rate=0.7,
)
def error_follows_the_noise(e):
    """The recovery is robust: its error scales with the size of the noise."""
    if (reason := asked(e)) is not None:
        return reason
    names = [name for ratio, name in noisy_runs(e).items() if ratio <= 1e6]
    sizes = [float(np.linalg.norm(noise_of(e.problem(name)))) for name in names]
    return log_slope(sizes, [l1_errors(e, name)[-1] for name in names])


@thm3_3.claim(
    holds(
        "t1 or the smallest training error at the smallest signal-to-noise ratio at least {times:g} times that at the "
        "largest",
        times=2,
    ),
    source="Section 3.1 (Memorization)",
    fails="for N < n the noise is interpolated like the rest: g(â) = 0",
    control=Instead({NOISY.format(1e2): STARTED.format(100.0)}),
)
def noise_hampers_memorisation_as_printed(e, times):
    """A low signal-to-noise ratio makes perfect memorisation difficult."""
    names = list(noisy_runs(e).values())
    first, last = ((e[name].t1 or np.inf, e[name]["train_error"].min()) for name in (names[0], names[-1]))
    found = {"t1": float(last[0] / first[0]), "smallest training error": float(last[1] / first[1])}
    return found, max(found.values()) >= times


@thm3_3.claim(
    at_most(1e-12),
    "|Xâ - y| over |ξ| at the smallest signal-to-noise ratio",
    source="corrects the previous claim; Eqs. 70 and 72 with r = N",
    kind="corrected",
    control=Set(measurements=120, steps=1000),
)
def noise_is_interpolated(e):
    """For N < n the least-squares solution fits the noise, too: E g(â) is σ²(N - r)/2 = 0."""
    problem = e.problem(NOISY.format(e.settings.ratios[-1]))
    solution = e.cached(lb.oracles.min_norm, problem).solution
    left_over = np.asarray(problem.design) @ solution - np.asarray(problem.targets)
    return float(np.linalg.norm(left_over) / np.linalg.norm(noise_of(problem)))


@thm3_3.claim(
    above(1), "smallest ratio of t1 from one start to the next larger one", source="Section 3.1 (Memorization)"
)
def nearer_start_memorises_sooner(e):
    """The nearer the start to â the sooner it memorises."""
    steps = [e[STARTED.format(start)].t1 or np.inf for start in sorted(e.settings.starts)]
    return float(np.min(np.array(steps[1:]) / np.array(steps[:-1])))


@thm3_3.claim(
    near(1, by=0.2), "exponent in β of the smallest training error", source="Section 3.1 (Memorization), Eq. 85"
)
def strength_hampers_memorisation(e):
    """Over-regularisation makes perfect memorisation difficult: the training error stops at a height of order β."""
    floors = [e[PUSHED.format(strength)]["train_error"].min() for strength in e.settings.strengths]
    return log_slope(e.settings.strengths, floors)


def _hurried(e, factor):
    """The evidence with records at steps so many times as late, and t1 where it was."""

    def late(run):
        after = run["step"] >= (run.t1 or np.inf)
        return replace(run, columns=run.columns | {"step": np.where(after, factor * run["step"], run["step"])})

    return replace(e, runs={name: late(run) for name, run in e.runs.items()})


@thm3_3.figure
def thm3_3_figure(e):
    s, names = e.settings, noisy_runs(e)
    sizes = [float(np.linalg.norm(noise_of(e.problem(name)))) for name in names.values()]
    ends = [float(l1_errors(e, name)[-1]) for name in names.values()]
    left = [Line(sizes, ends, "at the end", "test", "linked")]
    if asked(e) is None:
        found = [constants(e, name) for name in names.values()]
        bound = [b * s.learning_rate * s.strength + c * size for (_, b, c), size in zip(found, sizes, strict=True)]
        left.append(Line(sizes, bound, r"$C_2\alpha\beta + C_3|\xi|$", "theory"))
    floors = [float(e[PUSHED.format(b)]["train_error"].min()) for b in s.strengths]
    right = [Line(s.strengths, floors, "smallest training error", "train", "linked")]
    first = Panel(left, Axis(r"size of the noise $|\xi|$", "log"), Axis(r"$|a - a^*|_1$", "log"))
    return Figure([[first, Panel(right, Axis(r"strength $\beta$", "log"), Axis("relative error", "log"))]])
