"""Theorem 3.4 where its proof is: exponential loss, λ = α^-p, degrees 2 and 3, and what the lemmas speak of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import latebloom as lb
from latebloom.catalog.base import Settings
from latebloom.catalog.dichotomy.margins import sparse
from latebloom.core.fields import count, number, numbers

C = 0.5  # the constant c of the theorems
DEGREES = (2, 3)
NAME, LOGISTIC = "L={}, α={:g}", "logistic, α={:g}"


class LimitSettings(Settings):
    """A diagonal network `⟨u^L - v^L, x⟩` on sparse signs, started at α, with weight decay λ = α^-p."""

    dimension: int = count(default=200, note="d; inputs are uniform in {-1, 1}^d")
    samples: int = count(default=16, note="n")
    sparsity: int = count(default=3, note="k, odd: coordinates that vote on the label")
    init_scales: tuple[float, ...] = numbers(default=(1e1, 1e2, 1e3, 1e4, 1e6), above=1, note="α at degree 2")
    deep_scales: tuple[float, ...] = numbers(default=(1e1, 1e2, 1e3, 1e4), above=1, note="α at degree 3")
    power: float = number(default=1.0, above=0, note="p: weight decay is α^-p")
    more_time: float = number(default=10.0, above=0, note="λt beyond (1+c) log α at degree 2, c = 1/2")
    logistic_scale: float = number(default=1e4, above=1, note="α of the run with the logistic loss")

    def data(self):
        return sparse(self.dimension, self.samples, self.seed, 200, self.sparsity)

    def decay(self, scale):
        return float(scale**-self.power)

    def scales(self, degree):
        """The initial scales of a degree, in order."""
        return tuple(sorted(self.init_scales if degree == 2 else self.deep_scales))

    def job(self, scale, degree=2, loss="exponential"):
        """The flow in dual form: to the rich regime at degree 2, to log(α)/λ at degree 3, whose dual form ends soon."""
        problem = lb.problems.DiagonalClassifier(self.data(), init_scale=scale, depth=degree, loss_kind=loss)
        decay, slow = self.decay(scale), np.log(scale)
        slow = (1 + C) * slow + self.more_time if degree == 2 else slow
        return lb.FlowJob(problem, lb.L2(decay), time=float(slow) / decay, solver="dual", records_per_decade=60)


def limit_runs(s):
    """A run for each degree and scale, and one with the logistic loss."""
    runs = {NAME.format(L, scale): s.job(scale, L) for L in DEGREES for scale in s.scales(L)}
    return runs | {LOGISTIC.format(s.logistic_scale): s.job(s.logistic_scale, loss="logistic")}


@dataclass(frozen=True, eq=False)
class Path:
    """A run as the lemmas see it, a row for each record: δ, h, margins q_i, loss, with the constants of Appendix C."""

    run: Any
    problem: Any
    decay: float

    @property
    def degree(self):
        return self.problem.depth

    @property
    def scale(self):
        return float(self.problem.init_scale)

    @cached_property
    def inputs(self):
        return np.asarray(self.problem.data.inputs, dtype=float)

    @cached_property
    def labels(self):
        return np.asarray(self.problem.data.labels, dtype=float)

    @cached_property
    def slow(self):
        """λt."""
        return self.decay * self.run["time"]

    @cached_property
    def delta(self):
        """`δ = e^{λt} θ / α - θ_init`, u and then v, without the loss of digits of a difference."""
        spread, power = self.run["dual"] @ self.inputs, self.degree - 2
        if power == 0:
            return np.expm1(np.concatenate([2 * spread, -2 * spread], axis=1))
        shift = self.degree * power * spread * self.scale**power
        return np.expm1(-np.log1p(np.concatenate([-shift, shift], axis=1)) / power)

    @cached_property
    def factor(self):
        """`α^L e^{-Lλt}`."""
        return np.exp(self.degree * (np.log(self.scale) - self.slow))

    @cached_property
    def h(self):
        return self.factor[:, None] * self.delta

    @cached_property
    def weights(self):
        """The effective weights `w = u^L - v^L`."""
        parts = np.expm1(self.degree * np.log1p(self.delta))
        half = parts.shape[1] // 2
        return self.factor[:, None] * (parts[:, :half] - parts[:, half:])

    @cached_property
    def features(self):
        """`y_i ∇f_i(θ_init)`, a row each."""
        signed = self.degree * self.labels[:, None] * self.inputs
        return np.concatenate([signed, -signed], axis=1)

    @cached_property
    def margins(self):
        """`q_i = y_i f_i(θ)`."""
        return self.weights @ self.inputs.T * self.labels

    @cached_property
    def loss(self):
        """The mean of `r_i = e^{-q_i}`."""
        return np.exp(-self.margins).mean(axis=1)

    @cached_property
    def kernel_margin(self):
        """h* of (K1), of norm one, and γ_ntk, on the features at θ_init."""
        found = lb.oracles.max_kernel_margin(self.problem.but(init_scale=1.0))
        return np.asarray(found.solution) / np.linalg.norm(found.solution), float(found.margin)

    @property
    def gamma(self):
        return self.kernel_margin[1]

    @property
    def a(self):
        """`A = α^{2(L-1)} / λ`."""
        return self.scale ** (2 * (self.degree - 1)) / self.decay

    @cached_property
    def reach(self):
        """ε_max: how far from θ_init every feature has changed by γ_ntk/2, as inputs are ±1."""
        change = self.gamma / (2 * self.degree)  # |(1 + x)^{L-1} - 1| ≤ (1 + ε)^{L-1} - 1 in every coordinate
        return float((1 + change) ** (1 / (self.degree - 1)) - 1)

    @property
    def longest(self):
        """G_ntk: no feature within ε_max of θ_init is longer."""
        return float(np.linalg.norm(self.features, axis=1).max()) + self.gamma / 2

    @cached_property
    def moved(self):
        """`|δ|`."""
        return np.linalg.norm(self.delta, axis=1)

    @cached_property
    def near(self):
        """The records up to T_max, after the start."""
        far = np.flatnonzero(self.moved > self.reach)
        return slice(1, int(far[0]) if len(far) else len(self.moved))

    def at(self, slow):
        """The record nearest to a slow time."""
        return int(np.argmin(np.abs(self.slow - slow)))

    @property
    def end(self):
        """The record at `T_c^-`."""
        return self.at((1 - C) * np.log(self.scale))

    @cached_property
    def loss_speed(self):
        """`dL/dt = -|∇L|² - λ ⟨θ, ∇L⟩`, at every record."""
        parts = np.exp(-self.margins) / len(self.labels)
        pull = (parts * self.labels) @ self.inputs
        power = 2 * (self.degree - 1)
        size = np.exp(power * (np.log(self.scale) - self.slow))
        spread = (1 + self.delta) ** power
        both = np.concatenate([pull, pull], axis=1) ** 2
        slope = self.degree**2 * size * np.sum(both * spread, axis=1)
        return -slope + self.decay * self.degree * np.sum(parts * self.margins, axis=1)


def path(e, name):
    """The run of a name as the lemmas see it."""
    job = e.job(name)
    return Path(e[name], job.problem, float(job.penalty.strengths[0]))


def paths(e, degree):
    """Those of a degree, from the smallest α to the largest."""
    return [path(e, NAME.format(degree, scale)) for scale in e.settings.scales(degree)]
