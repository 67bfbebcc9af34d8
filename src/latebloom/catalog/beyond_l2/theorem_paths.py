"""The runs of Theorem 2.1 as the theorem sees them: g, f, |G|, β|H| and |F| along plain (sub)gradient descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import latebloom as lb
from latebloom.catalog.beyond_l2.small_losses import KINDS, LINEAR, TheoremSettings, distance_to_least, penalty_of

LONG, FIRST, FREE = "{kind}, β={strength:g}", "{kind}, every step", "{kind}, no penalty"
ETAS = np.geomspace(1e-2, 1.0, 13)  # precisions at which Δt is tried


def theorem_runs(s):
    """Every loss at every strength, its first steps one by one, and without a penalty."""
    jobs = {}
    for kind in KINDS:
        problem, rate, penalty = s.loss(kind), s.rate(kind), penalty_of(kind)
        method, path = lb.GradientDescent(rate), (lb.probes.Trajectory(),)
        for strength in s.strengths:
            steps = max(s.first_steps, round(s.slow_time / (rate * strength)))
            jobs[LONG.format(kind=kind, strength=strength)] = lb.TrainJob(
                problem, method, penalty(strength), steps=steps, probes=path
            )
        jobs[FIRST.format(kind=kind)] = lb.TrainJob(
            problem,
            method,
            penalty(s.strengths[1]),
            steps=s.first_steps,
            probes=path,
            records_per_decade=5 * s.first_steps,
        )
        jobs[FREE.format(kind=kind)] = lb.TrainJob(problem, method, steps=s.free_steps, probes=path)
    return jobs


@dataclass(frozen=True, eq=False)
class Path:
    """A run of one loss as the theorem sees it, at its records."""

    strength: float
    step: np.ndarray
    points: np.ndarray
    loss: np.ndarray  # g
    value: np.ndarray  # f
    slope: np.ndarray  # |G|
    pull: np.ndarray  # β|H|
    force: np.ndarray  # |F|, F = G + βH

    def until(self, step):
        """The records up to a step."""
        return self.step <= step


def gradients(kind, seed, misfit):
    """∇g of every row of parameters."""
    import jax

    return jax.jit(jax.vmap(TheoremSettings(seed=seed, misfit=misfit).loss(kind).gradient))


def path(e, kind, strength, name):
    """A run with its gradients."""
    s, run = e.settings, e[name]
    points = run["parameters"]
    slopes = np.asarray(e.cached(gradients, kind, s.seed, s.misfit)(points))
    pulls = strength * (np.sign(points) if kind == LINEAR else points)
    value = run["train_loss"] + run["penalty_value"]
    norms = (np.linalg.norm(rows, axis=1) for rows in (slopes, pulls, slopes + pulls))
    return Path(strength, run["step"], points, run["train_loss"], value, *norms)


def long(e, kind, strength):
    """The long run of one loss at one strength."""
    return path(e, kind, strength, LONG.format(kind=kind, strength=strength))


def first(e, kind):
    """The run of which every step is recorded."""
    return path(e, kind, e.settings.strengths[1], FIRST.format(kind=kind))


def in_hand(e, kind, path, corrected=False):
    """The steps k that Theorem C.14 vouches for."""
    return e.settings.constants(kind).steps_in_hand(e.settings.rate(kind), path.strength, corrected)


def dominated(e, path):
    """The records before β|H| > γ|G| for the first time: the phase of Theorem C.16."""
    late = path.pull > e.settings.gamma * path.slope
    return np.arange(len(late)) <= (int(np.argmax(late)) if late.any() else len(late))


def flip(path):
    """The record from which on the penalty pulls harder than the loss: t1 of the second phase."""
    return int(np.argmax(path.pull >= path.slope))


@dataclass(frozen=True, eq=False)
class Gaps:
    """f - f* after t1, and what Theorem C.13 says of it."""

    step: np.ndarray  # since t1
    gap: np.ndarray  # the least f - f* so far
    square: float  # C' = max |F|²/β² from t1 on
    distance: float  # of x(t1) from the minimisers of f

    def reached(self, rate, strength, eta):
        """The first step since t1 with f - f* ≤ (η + C'αβ)β/2, over Δt(η); infinite if there is none."""
        hit = np.flatnonzero(self.gap <= 0.5 * (eta + self.square * rate * strength) * strength)
        delay = self.distance**2 / (rate * strength * eta)
        if not len(hit):
            return np.nan if self.step[-1] < delay else np.inf
        return float(self.step[hit[0]] / delay)


def gaps(e, kind, strength):
    """The gap of f after t1."""
    seen, lowest = long(e, kind, strength), e.settings.least(kind, strength)
    begin = flip(seen)
    return Gaps(
        seen.step[begin:] - seen.step[begin],
        np.minimum.accumulate(seen.value[begin:] - lowest.value),
        float((seen.force[begin:] ** 2).max() / strength**2),
        distance_to_least(kind, seen.points[begin], lowest.point),
    )


def times_over_delay(e, kind):
    """The time the gap takes over Δt(η), for every β and η."""
    s = e.settings
    return [gaps(e, kind, b).reached(s.rate(kind), b, eta) for b in s.strengths for eta in ETAS]


def steps_to_a_tenth(e, kind):
    """Steps from t1 until f - f* is a tenth of what it was there, for every β."""
    found = []
    for strength in e.settings.strengths:
        seen = gaps(e, kind, strength)
        fallen = np.flatnonzero(seen.gap <= 0.1 * seen.gap[0])
        found.append(float(seen.step[fallen[0]]) if len(fallen) else np.nan)
    return found
